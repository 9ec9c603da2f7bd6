"""Print what pyproject.toml asks for, one requirement per line: `dev` for the tests, `demo` for discreet alone."""

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
    case _:
        sys.exit("usage: wanted.py dev | demo")
