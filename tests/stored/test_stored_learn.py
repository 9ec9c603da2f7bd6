"""Models, evaluations and networks that were stored are read to the same bytes, and are asked again for nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import learn_cases as cases
import pytest
from held import check_verified, digest_of

import discreet as dp
from discreet.errors import LedgerError
from discreet.release import load, parse_release_file, verify_loss

pytestmark = pytest.mark.usefixtures("one_database")
FILES = Path(__file__).with_name("learn")
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text())


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return Path(shutil.copy(FILES / "learn.ledger", tmp_path / "learn.ledger"))


@pytest.mark.parametrize("name", ["model", "evaluation", "network"])
def test_a_file_gives_what_it_gave(name: str) -> None:
    path = FILES / f"{name}.release"
    release = load(path)
    assert cases.seen(release) == EXPECTED[name]
    assert release.to_bytes() == path.read_bytes()


def test_the_same_fit_and_evaluation_are_given_again_for_nothing(ledger: Path) -> None:
    with dp.connect(cases.tables(), cases.POLICY, ledger) as session:
        before = session.remaining
        model = cases.fit(session)
        assert cases.seen(model) == EXPECTED["model"]
        assert cases.seen(cases.judge(session, model)) == EXPECTED["evaluation"]
        assert session.remaining == before


def test_a_new_certificate_says_what_a_stored_one_does() -> None:
    with dp.connect(cases.tables(), cases.POLICY) as session:
        model = cases.fit(session)
        for release, name in ((model, "model"), (cases.judge(session, model), "evaluation")):
            new, stored = json.loads(json.dumps(release.certificate)), EXPECTED[name]["certificate"]
            assert new.keys() == stored.keys()
            same = {"kind", "query", "label", "policy", "version", "unit", "relation", "rows_per_unit", "loss"}
            assert {each: new[each] for each in same & new.keys()} == {
                each: stored[each] for each in same & stored.keys()
            }
            assert name == "evaluation" or new["plan"] == stored["plan"]


def test_the_same_training_has_the_hash_that_it_had() -> None:
    asked, expected = cases.asked(cases.training()), EXPECTED["training"]
    assert (asked["hash"], asked["public"]) == (expected["hash"], expected["public"])
    assert {name: asked["stated"][name] for name in expected["stated"]} == expected["stated"]


@pytest.mark.parametrize("name", ["model", "evaluation"])
def test_files_verify_against_their_ledger(name: str, ledger: Path) -> None:
    check_verified(FILES / f"{name}.release", ledger)


def test_the_loss_of_a_network_follows() -> None:
    file = parse_release_file((FILES / "network.release").read_bytes())
    assert verify_loss(file.certificate) is None
    assert file.digests == {"answer": file.certificate["answer"]}


@pytest.mark.parametrize("name", ["model", "network"])
def test_a_file_with_more_than_its_digest_covers_is_none(name: str) -> None:
    stored = json.loads((FILES / f"{name}.release").read_text())
    with pytest.raises(LedgerError, match="does not hold what its certificate is of"):
        parse_release_file(json.dumps({**stored, "accuracy": 0.99}).encode())


def test_the_files_are_the_ones_that_were_made() -> None:
    """Nobody made them anew to mend a test."""
    assert digest_of(FILES) == DIGEST


DIGEST = "7d7b3cbd8a8d7eb57ae4b37958225e5907e60623f0e6abd095c816f79f7adc07"
