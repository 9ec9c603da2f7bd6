"""Statistical tables that were stored are still read, say the same, verify, and are asked again for nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import census_cases as cases
import pytest
from held import check_verified, digest_of
from test_stored_synth import is_near

import discreet as dp
from discreet import census
from discreet.release import load

pytestmark = pytest.mark.usefixtures("one_database")
FILES = Path(__file__).with_name("census")
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text())
KINDS = {
    "publication": census.Publication,
    "histogram": census.Histogram,
    "marginals": census.MarginalTables,
}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return Path(shutil.copy(FILES / "census.ledger", tmp_path / "census.ledger"))


def test_every_case_is_stored() -> None:
    assert EXPECTED.keys() == cases.asked().keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_says_what_it_said(name: str) -> None:
    path = FILES / f"{name}.json"
    release = load(path)
    assert isinstance(release, KINDS[name.partition("-")[0]])
    assert is_near(cases.seen(release), EXPECTED[name])
    assert release.to_bytes() == path.read_bytes()


def test_the_same_questions_are_answered_again_for_nothing(ledger: Path) -> None:
    with dp.connect(cases.tables(), cases.POLICY, ledger) as session:
        before = session.remaining
        for name, ask in cases.asked().items():
            assert ask(session).to_bytes() == (FILES / f"{name}.json").read_bytes()
        assert session.remaining == before


def test_a_new_certificate_says_what_a_stored_one_does() -> None:
    with dp.connect(cases.tables(), cases.POLICY) as session:
        for name, ask in cases.asked().items():
            new, stored = ask(session).certificate, EXPECTED[name]["certificate"]
            assert new.keys() == stored.keys()
            same = {"kind", "policy", "version", "unit", "relation", "rows_per_unit", "loss", "runs"} & stored.keys()
            assert is_near({each: new[each] for each in same}, {each: stored[each] for each in same})


@pytest.mark.parametrize("name", EXPECTED)
def test_files_verify_against_their_ledger(name: str, ledger: Path) -> None:
    check_verified(FILES / f"{name}.json", ledger)


def test_the_files_are_the_ones_that_were_made() -> None:
    """Nobody made them anew to mend a test."""
    assert digest_of(FILES) == DIGEST


DIGEST = "5b2c0d929aaa88bd25fad126a6a57dc363ec2f9c21782157c26bcebf1f079f4b"
