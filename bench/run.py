"""All benchmarks, one after the other; each can also be run by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ALL = [
    "startup.py",
    "noise.py",
    "selection.py",
    "quantiles.py",
    "medians.py",
    "counting.py",
    "engine.py",
    "postgres.py",
    "ledger.py",
    "utility.py",
    "private_keys.py",
    "bars.py",
    "accounting.py",
    "local_frequencies.py",
    "distributions.py",
    "words.py",
    "several.py",
    "vectors.py",
    "two_servers.py",
    "collector.py",
    "reports.py",
    "audit.py",
    "audit_peers.py",
]


def main() -> None:
    for name in ALL:
        print(f"\n=== {name}\n", flush=True)
        subprocess.run([sys.executable, str(Path(__file__).parent / name)], check=True)


if __name__ == "__main__":
    main()
