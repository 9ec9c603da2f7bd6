"""Print what pyproject.toml asks for: the core dependencies and the dev group, one requirement per line."""

import tomllib
from pathlib import Path

pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
print(*pyproject["project"]["dependencies"], *pyproject["dependency-groups"]["dev"], sep="\n")
