"""The commands of the page about scale run, on fewer rows."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"^python (bench/\S+\.py) (.+)$", (ROOT / "docs" / "scale.md").read_text(encoding="utf-8"), re.M)
FEW = dict.fromkeys(("--rows", "--reports", "--large", "--engines"), "2000") | {"--people": "3000", "--blocks": "40"}


def with_few(options: str) -> list[str]:
    """The options of a command with small numbers, each once."""
    few: list[str] = []
    for word in shlex.split(options):
        if word.isdigit():
            few += [FEW[few[-1]]] if few[-1] in FEW else []
        else:
            few.append(word)
    return few


def param(script: str, options: str) -> object:
    on_spark = script not in ("bench/census_scale.py", "bench/graphs.py") or "spark" in options
    return pytest.param(script, options, marks=pytest.mark.soak if on_spark else (), id=f"{script} {options}")


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("script", "options"), [param(*each) for each in COMMANDS])
def test_a_command_of_the_page_runs(tmp_path: Path, script: str, options: str) -> None:
    """Goals are of the page's numbers: of fewer rows, that it says which were missed is enough."""
    shutil.copytree(ROOT / "bench", tmp_path / "bench", ignore=shutil.ignore_patterns("data", "peers", "__pycache__"))
    command = [sys.executable, script, *with_few(options)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 5
    assert with_few("--people 10 100 --blocks 1 2 --archive") == ["--people", "3000", "--blocks", "40", "--archive"]
