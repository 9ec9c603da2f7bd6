"""In a clean environment the wheel answers the README's first questions within ten seconds. Long: all is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_a_first_answer_comes_soon_after_the_install() -> None:
    done = subprocess.run([sys.executable, ROOT / "bench" / "install.py"], capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
