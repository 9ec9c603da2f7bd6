"""Make the file of people and households that later versions must go on reading. Never to mend a failing test.

python tests/stored/make_households.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import household_cases as cases

import discreet as dp


def main(folder: Path) -> None:
    folder.mkdir(parents=True)
    with dp.connect(cases.tables(), cases.POLICY, folder / "households.ledger") as session:
        release = cases.publish(session)
    (folder / "publication.json").write_bytes(release.to_bytes())
    (folder / "expected.json").write_text(json.dumps(cases.seen(release), indent=1, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
