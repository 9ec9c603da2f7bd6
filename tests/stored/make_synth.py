"""Make the files of synthetic tables that later versions must go on reading. Never to mend a failing test.

python tests/stored/make_synth.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import synth_cases as cases

import discreet as dp


def main(folder: Path) -> None:
    folder.mkdir(parents=True)
    with dp.connect(cases.tables(), cases.POLICY, folder / "synth.ledger") as session:
        models = {name: fit(session) for name, fit in cases.fits().items()}
        for name, model in models.items():
            model.save(folder / f"{name}.synth")
        checked = cases.check(session, models["persons"])
        checked.save(folder / "check.release")
    expected = {name: cases.seen(model) for name, model in models.items()} | {"check": checked.to_dict()}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
