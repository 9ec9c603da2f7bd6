"""Print what pyproject.toml asks for, one requirement per line: `dev` for the tests, `demo` for discreet alone.

`data` prints the demo's data as requirements/dev.txt pins them: a package of which one file is read, so that it is
installed without what it needs itself.
"""

import re
import sys
import tomllib
from pathlib import Path

root = Path(__file__).parents[1]
pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
core, groups = pyproject["project"]["dependencies"], pyproject["dependency-groups"]
match sys.argv[1:]:
    case ["dev"]:
        print(*core, *groups["dev"], sep="\n")
    case ["demo"]:
        print(*core, "hatchling", sep="\n")
    case ["data"]:
        pinned = (root / "requirements" / "dev.txt").read_text(encoding="utf-8")
        found = re.search(r"(?m)^statsmodels==(?:.*\\\n)*.*", pinned)
        print(found[0] if found else sys.exit("requirements/dev.txt pins no statsmodels"))
    case _:
        sys.exit("usage: wanted.py dev | demo | data")
