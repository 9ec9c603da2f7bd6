"""`discreet verify`: what is known of a file, and that a changed one is found."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.ledger import Stored, open_ledger
from discreet.ledger.crypto._signing import certified, new_key, public_key

pytestmark = pytest.mark.usefixtures("one_database")

QUERY = "SELECT region, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY region"
SPEND = ("--epsilon", "0.5")


def results(done: Any) -> dict[str, str]:
    return {check["check"]: check["result"] for check in done.json["checks"]}


@pytest.fixture
def saved(cli: Any) -> str:
    done = cli.ask(QUERY, *SPEND, "--save", "a.release")
    assert done.code == 0
    return "a.release"


def test_a_saved_release_is_checked_against_its_ledger(cli: Any, saved: str) -> None:
    done = cli("verify", saved, "--ledger", "visits.ledger", "--format", "json")
    assert done.code == 0 and done.json["good"] and done.err == ""
    assert results(done) == dict.fromkeys(["signature", "signer", "answer", "loss", "ledger", "charge"], "good")
    alone = cli("verify", saved, "--format", "json")
    assert alone.code == 0
    assert results(alone) == {"signature": "good", "signer": "not checked", "answer": "good", "loss": "good"}
    key = dp.Release.load(saved).certificate["signature"]["public_key"]
    assert results(cli("verify", saved, "--key", key, "--format", "json"))["signer"] == "good"
    for_people = cli("verify", saved)
    assert for_people.code == 0 and "--key" in for_people.out and "follows from the mechanisms" in for_people.out


def test_what_other_commands_give_is_checked_too(cli: Any) -> None:
    printed = cli.ask(QUERY, *SPEND, "--format", "json")
    Path("a.json").write_text(printed.out)
    Path("certificate.json").write_text(json.dumps(printed.json["certificate"]))
    found = cli("suggest", "visits", "cost", "-d", "visits.parquet", "-p", "visits.toml", "-l", "visits.ledger",
                *SPEND, "--save", "s.release")  # fmt: skip
    assert found.code == 0
    good = {"signature": "good", "signer": "good", "answer": "good", "loss": "good", "ledger": "good", "charge": "good"}
    expected = {
        "a.json": {**good, "error bars": "not checked"},
        "certificate.json": {**good, "answer": "not checked"},
        "s.release": good,
    }
    for file, result in expected.items():
        done = cli("verify", file, "--ledger", "visits.ledger", "--format", "json")
        assert (done.code, results(done)) == (0, result), file


def test_a_changed_number_is_found(cli: Any) -> None:
    content = cli.ask(QUERY, *SPEND, "--format", "json").json
    content["rows"][0][1] += 1
    Path("a.json").write_text(json.dumps(content))
    done = cli("verify", "a.json", "--format", "json")
    assert done.code == 1 and not done.json["good"]
    assert results(done)["answer"] == "bad"
    content["rows"][0][1] -= 1
    content["loss"]["epsilon"] = "1/4"
    Path("a.json").write_text(json.dumps(content))
    assert results(cli("verify", "a.json", "--format", "json"))["loss"] == "bad"
    content["certificate"]["loss"]["epsilon"] = "1/4"
    Path("a.json").write_text(json.dumps(content))
    done = cli("verify", "a.json", "--format", "json")
    assert results(done) == {
        "signature": "bad", "signer": "bad", "answer": "good", "error bars": "not checked", "loss": "bad"
    }  # fmt: skip
    assert "do not rely" in cli("verify", "a.json").out


def test_a_forger_needs_the_ledgers_key(cli: Any, saved: str) -> None:
    release = dp.Release.load(saved)
    own = new_key()
    added = ("code", "ledger", "account", "position", "at", "signature")
    statement = {name: value for name, value in release.certificate.items() if name not in added}
    terms = {name: release.certificate[name] for name in ("code", "ledger", "account", "position")}

    forged = replace(release, certificate=certified(statement, private=own, at=datetime.now(UTC), **terms))
    forged.save("forged.release")
    assert results(cli("verify", "forged.release", "--format", "json"))["signature"] == "good"
    for known in (("--ledger", "visits.ledger"), ("--key", release.certificate["signature"]["public_key"])):
        done = cli("verify", "forged.release", "--format", "json", *known)
        assert done.code == 1 and results(done)["signer"] == "bad"
    assert cli("verify", "forged.release", "--key", public_key(own)).code == 0


def test_the_ledger_must_have_charged_for_it(cli: Any, saved: str) -> None:
    assert cli.ask(QUERY, *SPEND, ledger="other.ledger").code == 0
    done = cli("verify", saved, "--ledger", "other.ledger", "--format", "json")
    assert done.code == 1
    assert (results(done)["signer"], results(done)["ledger"], results(done)["charge"]) == ("bad", "good", "bad")
    release = dp.Release.load(saved)
    with open_ledger("visits.ledger", None) as book:
        reserved = book.reserve("another-plan", dp.pure("0.01"))
        assert not isinstance(reserved, Stored)
        added = ("code", "ledger", "account", "position", "at", "signature")
        statement = {name: value for name, value in release.certificate.items() if name not in added}
        certificate = book.certify(statement, reserved)
    dp.Release(release.answer, release.loss, certificate).save("cheap.release")
    done = cli("verify", "cheap.release", "--ledger", "visits.ledger", "--format", "json")
    assert (done.code, results(done)["signer"], results(done)["charge"]) == (1, "good", "bad")


def test_bad_usage_and_files_that_are_none(cli: Any, saved: str) -> None:
    Path("empty").write_bytes(b"")
    for file in ("empty", "visits.parquet", "visits.toml", "nowhere", "."):
        done = cli("verify", file)
        assert done.code == 4 and done.out == "" and done.err.startswith("error: "), file
    assert cli("verify", saved, "--ledger", "nowhere").code == 4
    assert cli("verify", saved, "--key", "12").code == 2
    unsigned = dp.Release.load(saved)
    certificate = {name: value for name, value in unsigned.certificate.items() if name != "signature"}
    dp.Release(unsigned.answer, unsigned.loss, certificate).save("unsigned")
    done = cli("verify", "unsigned", "--format", "json")
    assert done.code == 1 and results(done)["signature"] == results(done)["signer"] == "bad"


def test_nothing_is_spent_for_a_file_that_cannot_be_new(cli: Any, saved: str) -> None:
    before = cli("budget", "--ledger", "visits.ledger").out
    other = "SELECT COUNT(*) AS n FROM visits"
    for file in (saved, "visits.ledger", "none/there", "."):
        assert cli.ask(other, *SPEND, "--save", file).code == 2
        done = cli("suggest", "visits", "cost", "-d", "visits.parquet", "-p", "visits.toml", "-l", "visits.ledger",
                   *SPEND, "--save", file)  # fmt: skip
        assert done.code == 2
    assert cli("budget", "--ledger", "visits.ledger").out == before


def test_text_in_a_file_cannot_steer_the_terminal(cli: Any) -> None:
    content = cli.ask(QUERY, *SPEND, "--format", "json").json
    content["certificate"] |= {"kind": "mechanism", "mechanism": {"is": "x\x1b[2Jy.Z"}}
    held = {"format": 1, "value": 1, "loss": content["loss"], "certificate": content["certificate"]}
    Path("a.json").write_text(json.dumps(held))
    done = cli("verify", "a.json")
    assert done.code == 1 and "\x1b" not in done.out and "does not ship" in done.out


def test_an_auditor_may_check_and_an_analyst_may_not(cli: Any, saved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger("visits.ledger") as book:
        tokens = {"ada": book.grant("ada", dp.approx(1, 0)), "eve": book.grant("eve", role="auditor")}
    monkeypatch.setenv("DISCREET_TOKEN", tokens["eve"])
    done = cli("verify", saved, "--ledger", "visits.ledger", "--account", "eve", "--format", "json")
    assert done.code == 0 and set(results(done).values()) == {"good"}
    monkeypatch.setenv("DISCREET_TOKEN", tokens["ada"])
    done = cli("verify", saved, "--ledger", "visits.ledger", "--account", "ada")
    assert done.code == 4 and "no chain" in done.err
    monkeypatch.setenv("DISCREET_TOKEN", "guessed")
    assert cli("verify", saved, "--ledger", "visits.ledger", "--account", "eve").code == 4
