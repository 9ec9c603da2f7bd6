"""A collector in a process of its own: ``run_collector.py DOCUMENT STORE LIMITS FOLD``; its lines go to stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from discreet.local import from_json
from discreet.server import Limits, _store, serve


def main(document: str, home: str, limits: str, fold: str) -> None:
    _store._LEAST_PENDING = int(fold)
    scheme = from_json(document)
    serve(scheme, Path(home), port=0, limits=Limits(**json.loads(limits)), told=lambda line: print(line, flush=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
