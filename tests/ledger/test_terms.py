"""What an owner changes under way: windows, caps, tokens and requests, of which none may be a way to spend twice."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet.errors import BudgetExceeded, LedgerError, ParameterError
from discreet.ledger import Reservation, Stored, open_ledger
from discreet.ledger.sqlite import _sqlite
from discreet.ledger.state._account import PERIODS
from discreet.privacy import ApproxLoss, approx, mu, pure, rho

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
WEST = timezone(timedelta(hours=-5))


@pytest.fixture
def clock(monkeypatch):
    """Time as the test has it: a list whose last item is now."""
    times = [NOON]
    monkeypatch.setattr(_sqlite, "clock", lambda connection: times[-1])
    return times


@pytest.fixture
def ledger():
    with open_ledger(None, pure(10)) as opened:
        yield opened
        opened.verify()


@pytest.mark.parametrize(("before", "after"), [(None, "month"), ("month", "day"), ("year", "quarter"), ("week", "day")])
def test_windows_of_another_length_do_not_give_a_spent_budget_again(clock, before, after):
    clock.append(datetime(2026, 11, 20, tzinfo=UTC))
    with open_ledger(None, pure(10)) as ledger:
        ledger.grant("ada", pure(1), every=before, token=False)
        ada = ledger.open_account("ada")
        clock.append(datetime(2027, 1, 6, tzinfo=UTC))
        ada.reserve("plan-1", pure(1))
        ledger.grant("ada", pure(1), every=after, token=False)
        with pytest.raises(BudgetExceeded):
            ada.reserve("plan-2", pure("0.1"))
        clock.append(ada.state().ends)
        ada.reserve("plan-3", pure(1))
        assert ada.state().lifetime == pure(2)
        ledger.verify()


def test_windows_in_which_nothing_happened_are_counted(clock):
    with open_ledger(None, pure(1), every="month") as ledger:
        ledger.reserve("plan-1", pure(1))
        clock.append(datetime(2027, 3, 1, tzinfo=UTC))
        assert ledger.total.windows == 5
        ledger.reserve("plan-2", pure(1))
        assert (ledger.total.windows, ledger.total.lifetime) == (5, pure(2))
        ledger.renew()
        ledger.renew()
        assert (ledger.total.windows, ledger.total.lifetime) == (7, pure(2))
        ledger.verify()


def test_a_new_ledger_has_not_ended_already(clock, tmp_path):
    path = tmp_path / "ledger"
    with pytest.raises(ParameterError, match="cannot have ended already, on 2026-11-22 12:00"):
        open_ledger(path, pure(1), until=NOON)
    assert not list(tmp_path.iterdir())
    open_ledger(path, pure(1), until=NOON + timedelta(1)).close()
    clock.append(NOON + timedelta(2))
    with open_ledger(path, pure(1), until=NOON + timedelta(1)) as ledger, pytest.raises(LedgerError, match="has ended"):
        ledger.reserve("plan", pure(1))


@pytest.mark.parametrize("every", PERIODS)
def test_time_may_come_to_its_end(clock, every):
    with open_ledger(None, pure(1), every=every) as ledger:
        clock.append(datetime(9999, 12, 31, 12, tzinfo=UTC))
        ledger.reserve("plan-1", pure(1))
        assert ledger.total.ends.year == 9999
        with pytest.raises(BudgetExceeded):
            ledger.reserve("plan-2", pure(1))
        ledger.verify()


@pytest.mark.parametrize(
    "until", [date(2027, 1, 1), "2027-01-01", datetime.max.replace(tzinfo=timezone(-timedelta(1) / 2))]
)
def test_an_end_that_is_no_moment_is_refused(until, ledger):
    with pytest.raises(ParameterError):
        open_ledger(None, pure(1), until=until)
    with pytest.raises(ParameterError):
        ledger.grant("ada", pure(1), until=until)


@pytest.mark.parametrize(
    "fixed",
    [{"parts": "north"}, {"parts": [1, 2]}, {"parts": [None]}, {"people": 5}, {"relation": "neighbours"}],
)
def test_a_ledger_is_not_made_of_what_it_could_not_read_again(tmp_path, fixed):
    with pytest.raises(ParameterError):
        open_ledger(tmp_path / "ledger", pure(1), **{"relation": "add_remove"} | fixed)
    assert not list(tmp_path.iterdir())


def test_waiting_is_not_advised_where_it_would_not_help(clock):
    with open_ledger(None, pure(9)) as ledger:
        ledger.grant("ada", pure(1), every="month", until=NOON + timedelta(3), token=False)
        ledger.grant("bob", pure(1), every="month", token=False)
        for name, loss, advice in (("ada", 1, "ask the owner"), ("bob", 2, "ask the owner"), ("bob", 1, "wait for")):
            account = ledger.open_account(name)
            if account.remaining == pure(1):
                account.reserve("plan-1", pure("0.5"))
            with pytest.raises(BudgetExceeded, match=advice):
                account.reserve("plan-2", pure(loss))


@pytest.mark.parametrize("whole", [rho(3), mu(3)])
def test_a_cap_is_in_the_currency_of_its_ledger(whole):
    with open_ledger(None, whole) as ledger:
        for name in ("ada", "bob"):
            ledger.grant(name, whole)
        for change in (
            lambda: ledger.grant("ada", pure(1)),
            lambda: ledger.renew(cap=pure(1)),
            lambda: ledger.renew("ada", pure(1)),
            lambda: ledger.transfer("ada", "bob", pure("0.1")),
        ):
            with pytest.raises(ParameterError, match="give a cap in its own"):
                change()
        assert ledger.verify() == 3


def test_an_auditor_is_renewed_to_no_budget(ledger):
    ledger.grant("eve", role="auditor")
    with pytest.raises(LedgerError, match="auditor"):
        ledger.renew("eve", pure(1))


def test_transfers_make_no_budget_of_roundings_and_no_ledger_too_long_to_write(ledger):
    for name in ("ada", "bob"):
        ledger.grant(name, pure(2))
    moved = [Fraction(1, 10**290 + 2 * k + 1) for k in range(20)]
    for each in moved:
        ledger.transfer("ada", "bob", pure(each))
    ada, bob = (ledger.accounts[name].cap.eps for name in ("ada", "bob"))
    assert ada <= 2 - sum(moved) < ada + Fraction(20, 10**300)
    assert bob <= 2 + sum(moved) < bob + Fraction(20, 10**300)
    assert max(ada.denominator, bob.denominator) <= 10**300


def test_transfers_make_no_cap_that_is_none():
    with open_ledger(None, approx(1, 0.6)) as ledger:
        for name in ("ada", "bob"):
            ledger.grant(name, approx(1, 0.6))
        with pytest.raises(ParameterError, match="less than 1"):
            ledger.transfer("ada", "bob", approx("0.1", "0.4"))
        assert {each.cap for each in ledger.accounts.values()} == {ApproxLoss(Fraction(1), Fraction(3, 5))}


def test_transfers_that_race_with_spends_lose_nothing(place):
    names = ["ada", "bob", "cyd"]
    with open_ledger(place, pure(100)) as ledger:
        accounts = [ledger.open_account(name, ledger.grant(name, pure(1))) for name in names]
        spent: list[Fraction] = []

        def spend(account):
            for number in range(10):
                try:
                    account.reserve(f"plan{number}", pure("0.15"))
                except BudgetExceeded:
                    continue
                spent.append(Fraction(3, 20))

        def move():
            for giver, taker in pairwise([*names, *names, names[0]]):
                try:
                    ledger.transfer(giver, taker, pure("0.3"))
                except BudgetExceeded:
                    continue

        threads = [threading.Thread(target=spend, args=(account,)) for account in accounts]
        threads += [threading.Thread(target=move) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = ledger.accounts.values()
        assert sum(each.cap.eps for each in after) == 3
        assert all(each.spent.eps <= each.cap.eps for each in after)
        assert sum(each.spent.eps for each in after) == sum(spent) == ledger.spent.eps
        ledger.verify()


def test_a_token_that_was_replaced_opens_nothing_more(ledger):
    ada = ledger.open_account("ada", ledger.grant("ada", pure(1)))
    reservation = ada.reserve("plan-1", pure("0.25"))
    token = ledger.grant("ada", pure(1))
    for use in (
        lambda: ada.reserve("plan-2", pure("0.25")),
        lambda: ada.find("plan-1"),
        lambda: ada.remaining,
        ada.state,
        ada.entries,
        ada.kinds,
        lambda: ada.latest(1),
        lambda: ada.moments(1),
    ):
        with pytest.raises(LedgerError, match="another token since"):
            use()
    ada.commit(reservation, b"paid for before")
    again = ledger.open_account("ada", token)
    assert again.find("plan-1").payload == b"paid for before"
    ledger.grant("ada", pure(1), token=False)
    assert again.remaining == pure("0.75"), "an account without a token is open to all who may open the ledger"


@pytest.mark.parametrize("token", [5, b"x", object()])
def test_a_token_that_is_no_text_opens_nothing(token, ledger):
    ledger.grant("ada", pure(1))
    with pytest.raises(LedgerError, match=r"opens with(out a| this) token"):
        ledger.open_account("ada", token)


def test_a_key_that_was_answered_for_nothing_stays_used(ledger):
    ledger.grant("ada", pure(5), token=False)
    ada = ledger.open_account("ada")
    first = ada.commit(ada.reserve("plan", pure(1)), b"first")
    assert ada.reserve("plan", pure(1), idempotency_key="monday") == first
    ada.commit(ada.reserve("plan", pure(1), fresh=True), b"second")
    for fresh in (False, True):
        assert ada.reserve("plan", pure(1), idempotency_key="monday", fresh=fresh) == first, "as it was answered then"
    for plan, loss in (("plan-of-new-data", pure(1)), ("plan", pure(2))):
        with pytest.raises(LedgerError, match="used for another request"):
            ada.reserve(plan, loss, idempotency_key="monday")
    assert isinstance(ada.reserve("plan-of-new-data", pure(1), idempotency_key="tuesday"), Reservation)
    assert isinstance(ledger.reserve("plan", pure(1), idempotency_key="monday"), Reservation), "another's key"
    assert [entry.kind for entry in ada.entries()].count("repeat") == 1
    assert ledger.kinds() == {"create": 1, "grant": 1, "reserve": 4, "release": 2, "repeat": 1}
    assert ada.kinds() == {"grant": 1, "reserve": 3, "release": 2, "repeat": 1}
    ledger.freeze("ada")
    assert isinstance(ada.reserve("plan", pure(1), idempotency_key="wednesday"), Stored)


def test_an_address_of_something_else_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match="'mysql' is not a ledger's URL"):
        open_ledger("mysql://officer@db/shop", pure(1))
    assert not list(tmp_path.iterdir())


def test_a_system_without_forks_and_locks_is_told_what_to_use():
    text = (
        "import os, sys; del os.fork, os.register_at_fork; sys.modules['fcntl'] = None\n"
        "from discreet.ledger import open_ledger; from discreet.privacy import pure\n"
        "import discreet.ledger.log._store, discreet.ledger._owner, discreet.ledger.postgres._postgres\n"
        "open_ledger(None, pure(1))\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert "LedgerError: a ledger in a file or in memory needs POSIX" in done.stderr
