"""Make the files of graphs that later versions must go on reading. Never to mend a failing test.

python tests/stored/make_graphs.py FOLDER [UNIT ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import graph_cases as cases

import discreet as dp


def main(folder: Path, units: list[str]) -> None:
    folder.mkdir(parents=True)
    expected: dict[str, dict[str, object]] = {}
    for unit in units or cases.UNITS:
        expected[unit] = {}
        with dp.connect(cases.sources(unit), cases.policy(unit), folder / f"{unit}.ledger") as session:
            for name, ask in cases.asked(unit).items():
                release = ask(session)
                (folder / f"{name}.json").write_bytes(release.to_bytes())
                expected[unit][name] = cases.seen(release)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
