"""The one front: all probes find what they are for, nothing in ours, and say it in words and in JSON."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.probes._finding import Finding, Findings, unmeasured
from discreet.audit.probes._probe import PROBES, probe
from discreet.mechanisms import DiscreteLaplace


def _our_own() -> dict[str, Any]:
    """The cases of `tests/security/conftest.py`."""
    path = Path(__file__).parents[1] / "security" / "conftest.py"
    spec = importlib.util.spec_from_file_location("security_cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # which its dataclasses look up
    spec.loader.exec_module(module)
    return module.CASES


CASES = _our_own()
FEW = ("Gaussian", "AboveThreshold numeric", "ThresholdedCounts", "Shuffled")


@dataclass
class Drawn:
    """A case as something to draw from."""

    case: Any
    mechanism: Any

    def draw(self, data: Any, size: int) -> list[Any]:
        return self.case.draw(self.mechanism, data, size)


def nothing_in(case: Any, scale: Any, samples: int) -> None:
    mechanism = case.at(scale)
    found = probe(Drawn(case, mechanism), case.worlds, claim=case.loss(mechanism), samples=samples)
    assert [str(each) for each in found if each.violated or each.warning] == []
    assert found.false_alarm <= 1e-8


@pytest.mark.parametrize("name", [*FEW[:3], pytest.param(FEW[3], marks=pytest.mark.soak)])
def test_nothing_is_found_in_ours(name: str) -> None:
    nothing_in(CASES[name], 2, 2_000)


@pytest.mark.soak
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(50)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_found_in_any_of_ours(name: str, scale: Fraction) -> None:
    nothing_in(CASES[name], scale, 1_000 if name.startswith("SampleAndAggregate") else 6_000)


def test_numpys_laplace_is_found_in_all_its_ways() -> None:
    rng = np.random.default_rng()
    found = probe(lambda x: x + rng.laplace(), (0.0, 1.0), claim=dp.pure(1))
    assert {each.name for each in found.violations} == {
        "off the grid",
        "forked children",
        "NaN or infinity released",
        "arithmetic that fails",
    }
    assert found["grid"].warning
    assert found.sentence.startswith("VIOLATED: the last binary digit")


def test_it_reads_as_a_table_and_as_json() -> None:
    found = probe(DiscreteLaplace(1), (0, 1), claim=dp.pure(1), samples=1_000)
    assert not found.violated
    assert found.sentence.startswith("17 probes found no leak. That proves no privacy.")
    assert found[0] is found["off the grid"] is next(iter(found))
    assert len(found) == len(found[:]) == len(list(found)) == 19
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert [each["name"] for each in told["findings"]] == [each.name for each in found]
    assert set(told) == {"violated", "false_alarm", "sentence", "findings"}
    for text in (repr(found), found._repr_html_(), str(found["off the grid"])):
        assert "fine" in text
    with pytest.raises(KeyError, match="off the grid"):
        found["no such"]


def test_findings_of_odd_numbers_are_json_and_cannot_steer_a_terminal() -> None:
    odd = {"a": float("inf"), 3: (np.float64("nan"), 10**400, np.int64(2)), "f": Fraction(1, 3), "n": None}
    found = Findings((Finding("x", violated=True, sentence="\x1b[2J<b>", numbers=odd), unmeasured("y", "so.")))
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["findings"][0]["numbers"] == {"a": None, "3": [None, str(10**400), 2], "f": "1/3", "n": None}
    assert not any("\x1b" in text for text in (repr(found), str(found[0]), found._repr_html_()))
    assert "<b>" not in found._repr_html_()
    assert [each.mark for each in found] == ["LEAK", "n/a"]


def test_a_mechanism_by_name_is_loaded_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import numpy as np\nrng = np.random.default_rng(1)\ndef release(x): return x + int(rng.integers(9))"
    (tmp_path / "seeded_for_probe.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    found = probe("seeded_for_probe:release", (0, 1), samples=400, probes=["copies"])
    assert found["fresh interpreters"].violated


def test_own_spoilt_data_are_held_to_the_claim() -> None:
    found = probe(
        lambda x: sum(x) + DiscreteLaplace(1).release(0),
        ([0, 1], [0, 0]),
        claim=dp.pure(1),
        spoil=lambda x: [[10**6, *x[1:]]],
        probes=["bad numbers"],
    )
    assert found["outputs on spoilt data 1"].violated


def test_warnings_stay_inside(recwarn: pytest.WarningsRecorder) -> None:
    probe(lambda x: float(np.float64(x) * np.inf), (0, 1), samples=400)
    assert list(recwarn) == []


def test_some_probes_alone() -> None:
    for name in PROBES:
        assert len(probe(DiscreteLaplace(1), (0, 1), samples=400, probes=[name])) in {2, 4, 5}
    assert len(probe(DiscreteLaplace(1), (0, 1), samples=400, probes=[])) == 0


@pytest.mark.parametrize(
    "how",
    [
        {"pair": 5},
        {"pair": (0, 1, 2)},
        {"samples": 10},
        {"samples": 1e4},
        {"samples": True},
        {"probes": ["no"]},
        {"probes": "clock"},
        {"claim": 1},
        {"delta": 2, "claim": dp.rho(1)},
        {"mechanism": 5},
        {"mechanism": "no"},
    ],
    ids=range(11),
)
def test_bad_arguments_are_refused(how: dict[str, Any]) -> None:
    given = {"mechanism": DiscreteLaplace(1), "pair": (0, 1), **how}
    with pytest.raises(dp.ParameterError):
        probe(given.pop("mechanism"), given.pop("pair"), **given)
