"""Killed at any moment, tried again, and at the limit: nothing is lost, drawn twice or overspent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from storm import ACCOUNTS, requests_for

import discreet
from discreet.errors import LedgerError
from discreet.ledger import Ledger, open_ledger
from discreet.ledger._owner import OwnedLedger
from discreet.ledger.log._commitments import sha256
from discreet.ledger.log._store import LARGEST_IN_ROW
from discreet.ledger.sqlite._payload_files import folder_of
from discreet.privacy import PureLoss, pure

STORM = [sys.executable, str(Path(__file__).with_name("storm.py"))]
SOAK = pytest.mark.soak
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}


def storm(*words: object) -> str:
    done = subprocess.run(
        [*STORM, *map(str, words)], env=ENVIRONMENT, capture_output=True, text=True, timeout=3000, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def told_in(reports: Path) -> dict[str, dict[str, list[str]]]:
    """What the children told: word -> key -> what, in no order."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for report in reports.iterdir():
        for line in report.read_text().splitlines():
            word, key, *rest = line.split()
            found[word][key] += rest or [report.name]
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("row", [100, LARGEST_IN_ROW])
@pytest.mark.parametrize("kills", [24, pytest.param(1000, marks=SOAK)])
def test_killed_at_any_moment_and_tried_again(place: str, tmp_path: Path, kills: int, row: int) -> None:
    reports, requests = tmp_path / "reports", requests_for(kills)
    reports.mkdir()
    wanted = PureLoss(sum(request.loss.eps for request in requests))  # type: ignore[attr-defined]
    budget, cap = pure(2 * wanted.eps / 5), pure(wanted.eps * 13 / 100)
    with open_ledger(place, budget) as ledger:
        for name in ACCOUNTS[1:]:
            ledger.grant(name, cap, token=False)
    storm("protocol", place, reports, kills, 2026, row)
    told = told_in(reports)
    with open_ledger(place, None) as ledger:
        entries = list(ledger.entries())
        assert ledger.verify({name: name for name in told["head"]}) == len(entries)
        reserves = {entry.idempotency_key: entry for entry in entries if entry.kind == "reserve"}
        releases = {entry.reservation: entry for entry in entries if entry.kind == "release"}
        repeats = {entry.idempotency_key for entry in entries if entry.kind == "repeat"}
        assert len(reserves) + len(releases) + len(repeats) == len(entries) - len(ACCOUNTS)
        assert not repeats & reserves.keys()

        _nothing_is_overspent(ledger, entries)
        answered = {key for key, entry in reserves.items() if entry.hash in releases}
        for key, idents in told["reserved"].items():
            assert [reserves[key].hash] == idents, "a charge was lost, or made twice for one key"
        for key, draws in told["drawn"].items():
            assert len(draws) == 1, f"{key} was drawn twice"
            assert key in reserves
        payloads = _payloads(ledger, reserves, releases)
        for key, answers in told["answered"].items():
            if key in reserves:
                assert {*answers} == {payloads[key]} == {*told["drawn"][key]}
            else:  # served what another request for the same plan had paid for
                number = int(key.removeprefix("key"))
                assert key in repeats
                assert len({*answers}) == 1, "one request had two answers"
                assert {*answers} <= {payloads.get(f"key{number // 2 * 2 + each}") for each in (0, 1)}
        for key in answered:
            assert payloads[key] in told["drawn"][key]

        dead = reserves.keys() - answered
        spent = ledger.spent
        for request in requests:
            if request.key in dead:
                with pytest.raises(LedgerError, match="was charged and has no release"):
                    _asked(ledger, request.account).reserve(
                        request.plan, request.loss, idempotency_key=request.key, fresh=request.fresh
                    )
        assert (ledger.spent, ledger.head.hash) == (spent, entries[-1].hash)
        assert told["refused"], "the limit was never reached"
        assert told["dead"].keys() >= dead, "dead keys were not tried again"
        assert len(dead) >= kills / 20, "the kills were too gentle to mean anything"
    if "://" not in place:
        beside = ["ledger.payloads"] if row == 100 else []
        left = sorted(p.name for p in tmp_path.iterdir())
        assert left == ["ledger", *beside, "reports"], "the dead left something behind"
        if beside:
            files = {p.name for p in folder_of(place).iterdir()}
            assert files >= {entry.payload_sha256 for entry in releases.values()}
    print(f"{len(reserves)} reserved, {len(releases)} released, {len(dead)} dead, {len(told['refused'])} refused")


def _nothing_is_overspent(ledger: OwnedLedger, entries: list) -> None:
    paid: dict[str, list] = defaultdict(list)
    for entry in entries:
        if entry.kind == "reserve":
            paid[entry.account].append(entry.loss.eps)
    for name in ACCOUNTS:
        state = _asked(ledger, name).state()
        own = sum(sum(each) for each in paid.values()) if name == "" else sum(paid[name])
        assert state.spent == PureLoss(own)
        assert state.spent.eps <= state.cap.eps
    assert ledger.remaining.eps < pure("5/1000").eps, "there was no race at the limit"


def _payloads(ledger: OwnedLedger, reserves: dict, releases: dict) -> dict[str, str]:
    """The digest of what the ledger serves for each key that has a release."""
    found = {}
    for key, entry in reserves.items():
        if entry.hash in releases:
            stored = _asked(ledger, entry.account).reserve(
                entry.plan_hash, entry.loss, idempotency_key=key, fresh=int(key.removeprefix("key")) % 2 == 0
            )
            assert stored.head == releases[entry.hash].hash
            found[key] = sha256(stored.payload)
    return found


def _asked(ledger: OwnedLedger, name: str) -> Ledger:
    return ledger.open_account(name) if name else ledger


@pytest.mark.parametrize(
    ("count", "shared"), [(20, False), pytest.param(64, False, marks=SOAK), pytest.param(64, True, marks=SOAK)]
)
def test_processes_at_once_spend_exactly_the_budget(place: str, count: int, shared: bool) -> None:
    """Each tries twice, and there is for fewer than one and a half."""
    affordable = count * 5 // 4
    budget = pure(f"{affordable}/10")
    with open_ledger(place, budget) as ledger:
        for name in ["all"] if shared else [f"account{index}" for index in range(count)]:
            ledger.grant(name, budget if shared else pure("2/10"), token=False)
        granted = ledger.head.seq
    accepted = [int(word) for word in storm("limit", place, count, 2, int(shared)).split()]
    assert (len(accepted), sum(accepted)) == (count, affordable)
    with open_ledger(place, None) as ledger:
        assert ledger.spent == budget
        assert ledger.verify() == granted + 1 + 2 * affordable
        assert sum(account.spent.eps for account in ledger.accounts.values()) == budget.eps
