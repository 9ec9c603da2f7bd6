"""People and households stored together are still read, say the same, verify, and are asked for again for nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import household_cases as cases
import pytest
from held import check_verified, digest_of
from test_stored_synth import is_near

import discreet as dp
from discreet import census
from discreet.release import load

pytestmark = pytest.mark.usefixtures("one_database")
FILES = Path(__file__).with_name("households")
FILE = FILES / "publication.json"
EXPECTED = json.loads((FILES / "expected.json").read_text())


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return Path(shutil.copy(FILES / "households.ledger", tmp_path))


def test_the_file_says_what_it_said() -> None:
    release = load(FILE)
    assert isinstance(release, census.Publication)
    assert is_near(cases.seen(release), EXPECTED)
    assert release.to_bytes() == FILE.read_bytes()


def test_the_same_publication_is_answered_again_for_nothing(ledger: Path) -> None:
    with dp.connect(cases.tables(), cases.POLICY, ledger) as session:
        before = session.remaining
        assert cases.publish(session).to_bytes() == FILE.read_bytes()
        assert session.remaining == before


def test_a_new_certificate_says_what_the_stored_one_does() -> None:
    with dp.connect(cases.tables(), cases.POLICY) as session:
        new, stored = cases.publish(session).certificate, EXPECTED["certificate"]
    assert new.keys() == stored.keys()
    same = ("kind", "policy", "version", "unit", "relation", "loss", "plan")
    assert is_near({each: new.get(each) for each in same}, {each: stored.get(each) for each in same})


def test_the_file_verifies_against_its_ledger(ledger: Path) -> None:
    check_verified(FILE, ledger)


def test_the_files_are_the_ones_that_were_made() -> None:
    """Nobody made them anew to mend a test."""
    assert digest_of(FILES) == DIGEST


DIGEST = "d45fb52ab559f0c4a5bd6e7cbdbf942d8fdaffcee9360aed1b1f71988176e974"
