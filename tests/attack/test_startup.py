"""What attacks load before one is run: the names of a package of attacks cost no solver and no model."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ["sklearn", "pandas", "faker", "torch", "ortools"]
WITHOUT = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Absent())
"""
REGISTER = """
import numpy as np
import pyarrow as pa
import discreet as dp
people = pa.table({"zip": ["1", "2", "2"], "illness": ["flu", "gout", "flu"]})
assert dp.attack.linkage(people, people, on=["zip"]).right == 1
assert dp.attack.homogeneity(people, ["zip"], "illness").claims == 1
secret = np.arange(16) % 2 == 0
assert dp.attack.reconstruct(lambda subset: float((subset & secret).sum()), secret, queries=64).success == 1
scores = dp.attack.membership(lambda rows: np.full((8, 2), 0.5), (np.zeros((8, 1)), np.arange(8) % 2), np.arange(8) < 4,
                              method="threshold")
assert scores.auc == 0.5
"""


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import discreet", [*HEAVY, "scipy", "discreet.attack"]),
        ("import discreet.cli._app", [*HEAVY, "scipy", "discreet.attack"]),
        ("import discreet; discreet.attack.linkage", HEAVY),
    ],
)
def test_nothing_heavy_is_loaded_with_the_names(code: str, heavy: list[str]) -> None:
    told = printed(f"{code}\nimport json, sys\nprint(json.dumps([name for name in {heavy} if name in sys.modules]))")
    assert json.loads(told) == []


@pytest.mark.soak
def test_attacks_run_without_scikit_learn() -> None:
    assert printed(f"{WITHOUT}{REGISTER}\nassert 'sklearn' not in sys.modules") == ""


@pytest.mark.soak
def test_a_method_that_needs_scikit_learn_is_the_only_one_to_load_it() -> None:
    code = "import sys\nfrom discreet.attack.membership._scores import lira, quantile\nprint('sklearn' in sys.modules)"
    assert printed(code) == "False\n"
