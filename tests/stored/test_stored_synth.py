"""Synthetic tables that were stored are still read, sample the same rows, and are asked again for nothing."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import synth_cases as cases
from held import check_verified, digest_of

import discreet as dp
from discreet import synth

pytestmark = pytest.mark.usefixtures("one_database")
FILES = Path(__file__).with_name("synth")
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text())


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return Path(shutil.copy(FILES / "synth.ledger", tmp_path / "synth.ledger"))


def is_near(value: Any, expected: Any) -> bool:
    """Whether two values as JSON are equal, but for the last digits of numbers, which processors round differently."""
    value = json.loads(json.dumps(value))
    match expected:
        case dict():
            return value.keys() == expected.keys() and all(is_near(value[name], expected[name]) for name in expected)
        case list():
            pairs = zip(value, expected, strict=False)
            return len(value) == len(expected) and all(is_near(*each) for each in pairs)
        case float():
            return math.isclose(value, expected, rel_tol=1e-9)
        case _:
            return value == expected


@pytest.mark.parametrize(("name", "door"), [("persons", synth.load), ("people", synth.load_tables)])
def test_a_file_gives_what_it_gave(name: str, door: Any) -> None:
    path = FILES / f"{name}.synth"
    model = door(path)
    assert is_near(cases.seen(model), EXPECTED[name])
    assert model.to_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["persons", "people"])
def test_the_same_fit_is_given_again_for_nothing(name: str, ledger: Path) -> None:
    with dp.connect(cases.tables(), cases.POLICY, ledger) as session:
        before = session.remaining
        assert is_near(cases.seen(cases.fits()[name](session)), EXPECTED[name])
        assert session.remaining == before


def test_a_new_certificate_says_what_a_stored_one_does() -> None:
    with dp.connect(cases.tables(), cases.POLICY) as session:
        models = {name: fit(session) for name, fit in cases.fits().items()}
        certificates = {name: (models[name].certificate, EXPECTED[name]["certificate"]) for name in models}
        checked = cases.check(session, models["persons"]).certificate
    for new, stored in (*certificates.values(), (checked, EXPECTED["check"]["certificate"])):
        assert new.keys() == stored.keys()
        same = {"kind", "plan", "policy", "version", "unit", "relation", "rows_per_unit", "loss"} & stored.keys()
        same -= {"plan"} if new is checked else set()  # it is of the table that is checked
        assert {name: new[name] for name in same} == {name: stored[name] for name in same}


def test_the_same_check_is_given_again_for_nothing(ledger: Path) -> None:
    with dp.connect(cases.tables(), cases.POLICY, ledger) as session:
        before = session.remaining
        checked = cases.check(session, synth.load(FILES / "persons.synth"))
        assert is_near(checked.to_dict(), EXPECTED["check"])
        assert checked.to_bytes() == (FILES / "check.release").read_bytes()
        assert session.remaining == before


@pytest.mark.parametrize("name", ["persons.synth", "people.synth", "check.release"])
def test_files_verify_against_their_ledger(name: str, ledger: Path) -> None:
    check_verified(FILES / name, ledger)


def test_the_files_are_the_ones_that_were_made() -> None:
    """Nobody made them anew to mend a test."""
    assert digest_of(FILES) == DIGEST


DIGEST = "f83919d47b3f8ce67a7d5e7501c11dd21e269c125f3b90809cf515527200ac62"
