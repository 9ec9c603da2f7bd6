"""Peers in an environment of their own: installed there, and asked in a process each."""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def python_of(name: str) -> Path:
    """The interpreter of the environment bench/.venvs/NAME; it exists once `install` made it."""
    return HERE / ".venvs" / name / "bin" / "python"


def install(name: str, requirements: str) -> None:
    """Make the environment, if need be, and put the peers that bench/peers/REQUIREMENTS pins into it."""
    if not python_of(name).exists():
        venv.create(HERE / ".venvs" / name, with_pip=True)
    wanted = HERE / "peers" / requirements
    subprocess.run([python_of(name), "-m", "pip", "install", "--quiet", "--no-deps", "-r", wanted], check=True)


def asked(command: list[str], case: dict[str, Any], seconds: float) -> Any | None:
    """What a process makes of a case, JSON in and out; None if it failed, which is told, or did not finish."""
    try:
        done = subprocess.run(
            command, input=json.dumps(case), capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    print("  " + (done.stderr.strip().splitlines() or ["no message"])[-1][:110])
    return None
