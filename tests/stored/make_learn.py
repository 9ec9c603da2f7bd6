"""Make the files of models and networks that later versions must go on reading. Never to mend a failing test.

python tests/stored/make_learn.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import learn_cases as cases

import discreet as dp


def main(folder: Path) -> None:
    folder.mkdir(parents=True)
    with dp.connect(cases.tables(), cases.POLICY, folder / "learn.ledger") as session:
        model = cases.fit(session)
        releases = {"model": model, "evaluation": cases.judge(session, model), "network": cases.network()}
    for name, release in releases.items():
        release.save(folder / f"{name}.release")
    expected = {name: cases.seen(each) for name, each in releases.items()} | {"training": cases.asked(cases.training())}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
