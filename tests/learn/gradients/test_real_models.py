"""Models of transformers with adapters of peft, in an environment that has both: long, since it is made anew."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ["transformers==5.24.0", "peft==0.21.2", "pytest", "hypothesis"]


@pytest.mark.soak
def test_models_of_transformers_and_adapters_of_peft(tmp_path: Path) -> None:
    venv.create(tmp_path / "hub", with_pip=True)
    python = str(tmp_path / "hub" / "bin" / "python")
    shell = {name: value for name, value in os.environ.items() if not name.startswith(("PY", "VIRTUAL"))}
    shell |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "--requirement", str(ROOT / "requirements" / "torch.txt")], env=shell, check=True)
    subprocess.run([*install, f"{ROOT}[torch]", *PACKAGES], env=shell, check=True)
    script = str(Path(__file__).with_name("real_models.py"))
    done = subprocess.run([python, script], env=shell, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
