"""Graphs that were stored are still read, say the same, verify, and are asked again for nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import graph_cases as cases
import pytest
from held import check_verified, digest_of
from test_stored_synth import is_near

import discreet as dp
from discreet import graphs
from discreet.errors import LedgerError
from discreet.release import load

pytestmark = pytest.mark.usefixtures("one_database")
FILES = Path(__file__).with_name("graphs")
EXPECTED: dict[str, dict[str, Any]] = json.loads((FILES / "expected.json").read_text())
CASES = [(unit, name) for unit, names in EXPECTED.items() for name in names]
KINDS = {
    "count": graphs.GraphCount,
    "cuts": graphs.GraphCuts,
    "degrees": graphs.GraphDegrees,
    "features": graphs.GraphFeatures,
    "mixing": graphs.GraphMixing,
    "synthetic": graphs.GraphSynthesis,
    "node-count": graphs.NodePrivateCount,
    "node-degrees": graphs.NodePrivateDegrees,
}


def test_every_case_is_stored() -> None:
    assert all(EXPECTED[unit].keys() == cases.asked(unit).keys() for unit in cases.UNITS)


@pytest.mark.parametrize(("unit", "name"), CASES)
def test_a_file_says_what_it_said(unit: str, name: str) -> None:
    path = FILES / f"{name}.json"
    release = load(path)
    assert isinstance(release, next(kind for begin, kind in KINDS.items() if name.startswith(begin)))
    assert is_near(cases.seen(release), EXPECTED[unit][name])
    assert release.to_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", [name for _, name in CASES])
def test_a_file_whose_certificate_says_something_else_is_refused(name: str) -> None:
    stored = json.loads((FILES / f"{name}.json").read_bytes())
    kind = next(kind for begin, kind in KINDS.items() if name.startswith(begin))
    assert kind.repeated >= {"graph"} and kind.repeated <= stored.keys() & stored["certificate"].keys()
    for each in kind.repeated:
        certificate = stored["certificate"] | {each: ["another"]}
        with pytest.raises(LedgerError, match="cannot be read"):
            kind.from_bytes(json.dumps(stored | {"certificate": certificate}).encode())


@pytest.mark.parametrize("unit", cases.UNITS)
def test_the_same_questions_are_answered_again_for_nothing(unit: str, tmp_path: Path) -> None:
    ledger = shutil.copy(FILES / f"{unit}.ledger", tmp_path)
    with dp.connect(cases.sources(unit), cases.policy(unit), ledger) as session:
        before = session.remaining
        for name, ask in cases.asked(unit).items():
            assert ask(session).to_bytes() == (FILES / f"{name}.json").read_bytes()
        assert session.remaining == before


@pytest.mark.parametrize("unit", cases.UNITS)
def test_a_new_certificate_says_what_a_stored_one_does(unit: str) -> None:
    with dp.connect(cases.sources(unit), cases.policy(unit)) as session:
        for name, ask in cases.asked(unit).items():
            new, stored = ask(session).certificate, EXPECTED[unit][name]["certificate"]
            assert new.keys() == stored.keys()
            same = {"kind", "policy", "version", "relation", "loss", "plan", "measured", "protects"} & stored.keys()
            assert is_near({each: new[each] for each in same}, {each: stored[each] for each in same})


@pytest.mark.parametrize(("unit", "name"), CASES)
def test_files_verify_against_their_ledger(unit: str, name: str, tmp_path: Path) -> None:
    check_verified(FILES / f"{name}.json", Path(shutil.copy(FILES / f"{unit}.ledger", tmp_path)))


def test_the_files_are_the_ones_that_were_made() -> None:
    """Nobody made them anew to mend a test."""
    assert digest_of(FILES) == DIGEST


DIGEST = "0b6aeb9b08965e7a753be81e3025110c2f86594312f153759345f51d49c4f4a9"
