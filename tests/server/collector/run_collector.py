"""A collector in a process of its own: ``run_collector.py STACK STORE LIMITS FOLD``; its scheme comes by stdin.

The stack is ``collector``, the one that is shipped, or ``asgi``, that of the HTTP API.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import asgi_collector

from discreet.local import from_json
from discreet.server.collector import Limits, _store, serve


def main(stack: str, home: str, limits: str, fold: str) -> None:
    _store._LEAST_PENDING = int(fold)
    scheme = from_json(sys.stdin.read())
    run = serve if stack == "collector" else asgi_collector.serve
    run(scheme, Path(home), port=0, limits=Limits(**json.loads(limits)), on_status=lambda line: print(line, flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
