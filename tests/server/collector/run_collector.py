"""A collector in a process of its own: ``run_collector.py STORE LIMITS FOLD``; its scheme comes by stdin."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from discreet.local import from_json
from discreet.server.collector import Limits, _store, serve


def main(home: str, limits: str, fold: str) -> None:
    _store._LEAST_PENDING = int(fold)
    scheme = from_json(sys.stdin.read())
    serve(
        scheme, Path(home), port=0, limits=Limits(**json.loads(limits)), on_status=lambda line: print(line, flush=True)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
