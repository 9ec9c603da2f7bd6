"""Accounts under one budget: both are charged at once, windows begin again, parts run side by side, owners decide."""

from __future__ import annotations

import base64
import threading
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from discreet.errors import BudgetExceeded, LedgerError, ParameterError, SignInRefused
from discreet.ledger import Reservation, Stored, open_ledger
from discreet.ledger.crypto._scram import scram_verifier
from discreet.ledger.sqlite import _sqlite
from discreet.ledger.state._account import PERIODS, next_start, start
from discreet.privacy import PureLoss, approx, pure, rho

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch):
    """Time as the test has it: a list whose last item is now."""
    times = [NOON]
    monkeypatch.setattr(_sqlite, "clock", lambda connection: times[-1])
    return times


def test_a_spend_draws_on_the_account_and_on_the_whole():
    with open_ledger(None, pure(3)) as ledger:
        ada, bob = (ledger.open_account(name, ledger.grant(name, pure(2))) for name in ("ada", "bob"))
        ada.reserve("plan", pure("1.5"))
        assert (ada.spent, ada.remaining, ledger.spent) == (pure("1.5"), pure("0.5"), pure("1.5"))
        with pytest.raises(BudgetExceeded, match=r"asks for epsilon 1, and epsilon 0\.5 is left of .* epsilon 2"):
            ada.reserve("plan", pure(1))
        bob.reserve("plan", pure("1.5"))
        with pytest.raises(BudgetExceeded, match="the budget that all accounts share") as caught:
            bob.reserve("plan", pure("0.25"))
        assert "1.5" not in str(caught.value), "what others spent is not told"
        assert (bob.spent, ledger.spent, ledger.remaining) == (pure("1.5"), pure(3), PureLoss(Fraction(0)))
        assert ledger.verify() == 5


def test_accounts_cannot_race_past_the_whole(tmp_path):
    names = [f"analyst{number}" for number in range(8)]
    with open_ledger(tmp_path / "ledger", pure(3)) as ledger:
        accounts = [ledger.open_account(name, ledger.grant(name, pure(2))) for name in names]
        barrier, accepted = threading.Barrier(8), []

        def spend(account):
            barrier.wait()
            for number in range(10):
                try:
                    accepted.append(account.reserve(f"plan{number}", pure("0.1")))
                except BudgetExceeded:
                    continue

        threads = [threading.Thread(target=spend, args=(account,)) for account in accounts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(accepted) == 30
        assert ledger.spent == pure(3)
        assert sum(account.spent.eps for account in ledger.accounts.values()) == 3
        assert ledger.verify() == 39


def test_an_account_sees_its_own_releases_only():
    with open_ledger(None, pure(3)) as ledger:
        ada, bob = (ledger.open_account(name, ledger.grant(name, pure(1))) for name in ("ada", "bob"))
        reservation = ada.reserve("plan", pure("0.5"))
        with pytest.raises(LedgerError, match="not open here"):
            bob.commit(reservation, b"another's")
        ada.commit(reservation, b"ada's")
        assert ada.find("plan").payload == b"ada's"
        assert bob.find("plan") is None
        assert ledger.find("plan") is None
        assert isinstance(bob.reserve("plan", pure("0.5")), Reservation), "the same question of another costs"
        assert isinstance(ada.reserve("plan", pure("0.5")), Stored), "and of the same one nothing"
        mine = list(ada.entries())
        assert mine == ada.latest(9)[::-1]
        assert {(entry.account, entry.seq, entry.previous) for entry in mine} == {("ada", None, None)}
        assert [entry.spent.eps for entry in mine] == [0, Fraction(1, 2), Fraction(1, 2)], "its own, not the whole's"
        assert ledger.spent == pure(1)


@pytest.mark.parametrize("token", [None, "", "wrong", "é"])
def test_an_account_opens_with_its_token_only(token):
    with open_ledger(None, pure(3)) as ledger:
        right = ledger.grant("ada", pure(1))
        for name in ("ada", "nobody"):
            with pytest.raises(LedgerError, match=r"opens with(out a| this) token"):
                ledger.open_account(name, token)
        ledger.grant("bob", pure(1), token=False)
        assert ledger.open_account("bob").remaining == pure(1)
        assert right not in repr(list(ledger.entries())) + repr(ledger.accounts)
        other = ledger.grant("ada", pure(2))
        with pytest.raises(LedgerError):
            ledger.open_account("ada", right)
        assert ledger.open_account("ada", other).remaining == pure(2)


def test_auditors_read_and_do_not_spend():
    with open_ledger(None, pure(3)) as ledger:
        token = ledger.grant("eve", role="auditor")
        with pytest.raises(LedgerError, match="may read and not spend"):
            ledger.open_account("eve", token)
        audit = ledger.open_audit("eve", token)
        assert audit.verify() == 2
        assert audit.total.remaining == pure(3)
        assert [entry.kind for entry in audit.entries()] == ["create", "grant"]
        assert not any(hasattr(audit, name) for name in ("reserve", "find", "grant", "commit"))
        analyst = ledger.grant("ada", pure(1))
        with pytest.raises(LedgerError, match="not an auditor"):
            ledger.open_audit("ada", analyst)


def test_frozen_and_ended_accounts_spend_nothing_and_keep_what_they_got(clock):
    with open_ledger(None, pure(3), until=NOON + timedelta(days=9)) as ledger:
        ada = ledger.open_account("ada", ledger.grant("ada", pure(2), until=NOON + timedelta(days=5)))
        ada.commit(ada.reserve("plan", pure("0.5")), b"release")
        for stop, go, who in (
            (lambda: ledger.freeze("ada"), lambda: ledger.thaw("ada"), "account 'ada' is frozen"),
            (ledger.freeze, ledger.thaw, "ledger is frozen"),
        ):
            stop()
            with pytest.raises(LedgerError, match=f"{who} .* nothing was spent"):
                ada.reserve("other", pure("0.5"))
            assert ada.find("plan").payload == b"release"
            assert isinstance(ada.reserve("plan", pure("0.5")), Stored)
            go()
        ada.reserve("other", pure("0.5"))
        clock.append(NOON + timedelta(days=5))
        with pytest.raises(LedgerError, match=r"account 'ada' has ended on 2026-11-27 12:00 UTC"):
            ada.reserve("third", pure("0.5"))
        ledger.reserve("owner's", pure("0.5"))
        clock.append(NOON + timedelta(days=9))
        with pytest.raises(LedgerError, match="the ledger has ended"):
            ledger.reserve("owner's", pure("0.5"))
        ledger.verify()


def test_a_budget_begins_again_with_its_window_and_the_lifetime_adds_up(clock):
    with open_ledger(None, pure(1), every="quarter") as ledger:
        ada = ledger.open_account("ada", ledger.grant("ada", pure(1), every="month"))
        ada.reserve("plan", pure(1))
        with pytest.raises(BudgetExceeded, match="2026-12-01"):
            ada.reserve("plan", pure(1))
        clock.append(datetime(2026, 12, 1, tzinfo=UTC))
        assert ada.remaining == pure(1)
        with pytest.raises(BudgetExceeded, match=r"all accounts share.* 2027-01-01"):
            ada.reserve("plan", pure(1))
        clock.append(datetime(2027, 1, 1, tzinfo=UTC))
        ada.reserve("plan", pure(1))
        assert (ledger.spent, ledger.total.lifetime, ledger.total.windows) == (pure(1), pure(2), 2)
        assert ledger.history["pure"] == pure(2)
        clock.append(NOON)  # a clock that goes back opens no window again
        with pytest.raises(BudgetExceeded):
            ada.reserve("plan", pure("0.1"))
        assert ledger.verify() == 4


def test_renewing_by_hand_begins_a_window_and_forgets_nothing(clock):
    with open_ledger(None, pure(1)) as ledger:
        ledger.reserve("plan", pure(1))
        ledger.renew(cap=pure(2))
        assert (ledger.budget, ledger.remaining) == (pure(2), pure(2))
        assert (ledger.total.lifetime, ledger.total.windows) == (pure(1), 2)
        ledger.grant("ada", pure(1))
        ledger.renew("ada")
        assert ledger.accounts["ada"].windows == 2
        ledger.verify()


def test_a_renewed_ledger_opens_with_the_budget_of_its_policy(tmp_path):
    with open_ledger(tmp_path / "ledger", pure(1)) as ledger:
        ledger.renew(cap=pure(2))
    for budget in (pure(1), pure(2), None):
        with open_ledger(tmp_path / "ledger", budget) as ledger:
            assert ledger.budget == pure(2)
    with pytest.raises(LedgerError, match="has a budget of epsilon 2, not of epsilon 3"):
        open_ledger(tmp_path / "ledger", pure(3))


def test_parts_of_the_people_are_charged_side_by_side():
    with open_ledger(None, pure(3), relation="add_remove", people="patients", parts=("north", "south")) as ledger:
        ledger.reserve("all", pure(1))
        north = ledger.open_account("ada", ledger.grant("ada", pure(2), part="north"))
        north.reserve("n", pure(2), part="north")
        ledger.reserve("s", pure("1.5"), part="south")
        assert ledger.spent == pure(3), "1 for everybody and the worst of 2 and 1.5"
        assert ledger.history["pure"] == pure(3)
        with pytest.raises(BudgetExceeded):
            ledger.reserve("all", pure("0.1"))
        ledger.reserve("s", pure("0.5"), part="south")
        with pytest.raises(LedgerError, match="the part 'north' of the people alone"):
            north.reserve("all", pure("0.1"))
        with pytest.raises(LedgerError, match="has no part 'east'"):
            ledger.reserve("e", pure("0.1"), part="east")
        ledger.verify()


@pytest.mark.parametrize("relation", [None, "substitute"])
def test_parts_need_neighbours_that_stay_in_them(relation):
    with pytest.raises(ParameterError, match="may be in another part"):
        open_ledger(None, pure(3), relation=relation, parts=("north", "south"))


def test_transfers_move_what_is_left_of_a_cap():
    with open_ledger(None, pure(3)) as ledger:
        ada = ledger.open_account("ada", ledger.grant("ada", pure(2)))
        ledger.grant("bob", pure(1))
        ada.reserve("plan", pure("0.5"))
        with pytest.raises(BudgetExceeded, match=r"has epsilon 1\.5 left to give, not epsilon 2"):
            ledger.transfer("ada", "bob", pure(2))
        ledger.transfer("ada", "bob", pure("1.5"))
        assert {name: each.cap for name, each in ledger.accounts.items()} == {"ada": pure("0.5"), "bob": pure("2.5")}
        assert ada.remaining == PureLoss(Fraction(0))
        for giver, taker in (("ada", "ada"), ("bob", "nobody"), ("nobody", "bob"), ("", "bob"), ("bob", "")):
            with pytest.raises((LedgerError, ParameterError)):
                ledger.transfer(giver, taker, pure("0.1"))
        assert ledger.verify() == 6


@pytest.mark.parametrize(
    "terms",
    [
        {"name": ""},
        {"name": "two words"},
        {"name": "x" * 65},
        {"name": "naïve"},
        {"cap": None},
        {"cap": rho(1)},
        {"cap": approx(1, 1e-6)},
        {"cap": pure(1), "role": "auditor"},
        {"role": "owner"},
        {"every": "fortnight"},
        {"until": datetime(2027, 1, 1)},  # noqa: DTZ001
        {"part": "north"},
    ],
)
def test_terms_that_make_no_sense_are_refused(terms):
    with open_ledger(None, pure(3)) as ledger:
        with pytest.raises((ParameterError, LedgerError)):
            ledger.grant(**{"name": "ada", "cap": pure(1)} | terms)
        assert ledger.verify() == 1


def test_an_account_keeps_its_role():
    with open_ledger(None, pure(3)) as ledger:
        ledger.grant("ada", pure(1))
        with pytest.raises(LedgerError, match="are fixed; grant another"):
            ledger.grant("ada", role="auditor")


def test_an_idempotency_key_pays_once_and_is_never_drawn_again():
    with open_ledger(None, pure(3)) as ledger:
        ada = ledger.open_account("ada", ledger.grant("ada", pure(2)))
        first = ada.reserve("plan", pure("0.5"), idempotency_key="r1", fresh=True)
        with pytest.raises(LedgerError, match="was charged and has no release"):
            ada.reserve("plan", pure("0.5"), idempotency_key="r1", fresh=True)
        stored = ada.commit(first, b"release")
        assert ada.reserve("plan", pure("0.5"), idempotency_key="r1", fresh=True) == stored
        for plan, loss in (("other", pure("0.5")), ("plan", pure("0.25"))):
            with pytest.raises(LedgerError, match="used for another request"):
                ada.reserve(plan, loss, idempotency_key="r1")
        assert isinstance(ada.reserve("plan", pure("0.5"), idempotency_key="r2", fresh=True), Reservation)
        assert isinstance(ledger.reserve("plan", pure("0.5"), idempotency_key="r1"), Reservation), "others' keys differ"
        assert ledger.spent == pure("1.5")
        for wrong in ("", "two words", 7):
            with pytest.raises(ParameterError):
                ada.reserve("plan", pure("0.1"), idempotency_key=wrong)
        ledger.verify()


def test_one_key_sent_by_many_is_answered_once(tmp_path):
    path = tmp_path / "ledger"
    open_ledger(path, pure(3)).close()
    barrier, got = threading.Barrier(8), []

    def ask():
        with open_ledger(path) as ledger:
            barrier.wait()
            try:
                got.append(ledger.reserve("plan", pure("0.5"), idempotency_key="once", fresh=True))
            except LedgerError:
                got.append(None)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(bool, got)) == [False] * 7 + [True]
    with open_ledger(path) as ledger:
        assert ledger.spent == pure("0.5")


def test_the_history_reads_in_every_currency_that_can_express_it():
    with open_ledger(None, rho(1, "1e-6")) as ledger:
        for _ in range(10):
            ledger.reserve("plan", pure("0.1"), fresh=True)
        history = ledger.history
        assert set(history) == {"pure", "approx", "rho", "mu"}
        assert history["pure"] == pure(1)
        assert history["rho"] == rho("0.05")
        assert 0 < history["mu"].mu_squared < Fraction(16, 100)
        ledger.reserve("plan", approx("0.1", "1e-9"), fresh=True)
        assert set(ledger.history) == {"approx", "rho", "mu"}
        ledger.reserve("plan", rho("0.01"), fresh=True)
        assert set(ledger.history) == {"rho"}
        assert ledger.history["rho"] == rho("0.065", "1e-9")


moments = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(st.sampled_from(PERIODS), moments)
def test_windows_cover_time_without_gaps(every, at):
    begun, following = start(every, at), next_start(every, at)
    assert begun <= at < following
    assert start(every, following) == following
    assert start(every, following - timedelta(microseconds=1)) == begun
    shortest = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
    assert timedelta(days=shortest[every]) <= following - begun <= timedelta(days=shortest[every] + 3)


NAMES = st.sampled_from(["ada", "bob"])
TENTHS = st.integers(1, 12).map(lambda n: pure(Fraction(n, 10)))


class Sharing(RuleBasedStateMachine):
    """A ledger with accounts, parts and months, beside a plain list of what was charged when."""

    @initialize()
    def begin(self):
        self.now = NOON
        self.old = _sqlite.clock
        _sqlite.clock = lambda connection: self.now
        self.ledger = open_ledger(None, pure(2), every="month", relation="add_remove", parts=("n", "s"))
        self.charges = []
        self.caps = {"ada": Fraction(1), "bob": Fraction(3, 2)}
        for name, cap in self.caps.items():
            self.ledger.grant(name, pure(cap), token=False)

    def spent(self, name, since):
        mine = [c for c in self.charges if name in (None, c[0]) and c[3] >= since]
        parts = {p: sum((c[1] for c in mine if c[2] == p), Fraction(0)) for p in (None, "n", "s")}
        return parts[None] + max(parts["n"], parts["s"])

    @rule(name=st.sampled_from(["", "ada", "bob"]), loss=TENTHS, part=st.sampled_from([None, "n", "s"]))
    def spend(self, name, loss, part):
        account = self.ledger.open_account(name) if name else self.ledger
        month = start("month", self.now)
        fits = all(
            self.would(who, loss.eps, part, since) <= cap
            for who, cap, since in [(None, 2, month), *([(name, self.caps[name], NOON)] if name else [])]
        )
        if fits:
            account.reserve("plan", loss, part=part)
            self.charges.append((name, loss.eps, part, self.now))
        else:
            with pytest.raises(BudgetExceeded):
                account.reserve("plan", loss, part=part)

    def would(self, who, eps, part, since):
        self.charges.append((who or "", eps, part, self.now))
        try:
            return self.spent(who, since)
        finally:
            self.charges.pop()

    @rule(days=st.integers(1, 40))
    def wait(self, days):
        self.now += timedelta(days=days)

    @rule(giver=NAMES, taker=NAMES, loss=TENTHS)
    def transfer(self, giver, taker, loss):
        if giver == taker:
            return
        if loss.eps <= self.caps[giver] - self.spent(giver, NOON):
            self.ledger.transfer(giver, taker, loss)
            self.caps[giver] -= loss.eps
            self.caps[taker] += loss.eps
        else:
            with pytest.raises(BudgetExceeded):
                self.ledger.transfer(giver, taker, loss)

    @invariant()
    def holds(self):
        whole, accounts = self.ledger.total, self.ledger.accounts
        assert whole.spent == PureLoss(self.spent(None, start("month", self.now)))
        for name, cap in self.caps.items():
            assert (accounts[name].cap, accounts[name].spent) == (PureLoss(cap), PureLoss(self.spent(name, NOON)))
        everything = {p: sum((c[1] for c in self.charges if c[2] == p), Fraction(0)) for p in (None, "n", "s")}
        assert self.ledger.history["pure"] == PureLoss(everything[None] + max(everything["n"], everything["s"]))

    def teardown(self):
        if hasattr(self, "ledger"):
            self.ledger.verify()
            self.ledger.close()
            _sqlite.clock = self.old


TestSharing = Sharing.TestCase
TestSharing.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)


def test_a_server_of_the_owner_admits_an_account_and_finds_what_any_account_paid_for() -> None:
    with open_ledger(None, pure(3)) as ledger:
        ada = ledger.open_account("ada", ledger.grant("ada", pure(1)))
        ben = ledger.admit(ledger.grant("ben", pure(1)) and "ben")
        ada.commit(ada.reserve("plan-1", pure("0.25")), b"one")
        ben.commit(ben.reserve("plan-2", pure("0.25")), b"two")

        shared = ledger.find_of_any("plan-1")
        assert shared is not None
        assert shared.payload == b"one"
        assert ben.find("plan-1") is None
        assert ledger.find_of_any("plan-3") is None
        stored = ledger.stored_after(-1, 10)
        assert [(entry.account, entry.plan_hash, payload) for entry, payload in stored] == [
            ("ada", "plan-1", b"one"),
            ("ben", "plan-2", b"two"),
        ]
        first = stored[0][0].seq
        assert first is not None
        assert [payload for _, payload in ledger.stored_after(first, 10)] == [b"two"]
        ledger.grant("officer", role="auditor")
        for name in ("officer", "nobody", "", "a b"):
            with pytest.raises(SignInRefused):
                ledger.admit(name)


def test_a_token_has_a_verifier_that_changes_with_it() -> None:
    with open_ledger(None, pure(3)) as ledger:
        token = ledger.grant("ada", pure(1))
        assert token is not None
        first = ledger.accounts["ada"].scram
        assert first is not None
        salt = base64.b64decode(first.split("$")[1].split(":")[1])
        assert first == scram_verifier(token, salt)
        assert "SCRAM" not in repr(ledger.accounts["ada"])
        ledger.amend("ada", cap=pure(2))
        assert ledger.accounts["ada"].scram == first
        ledger.rotate("ada")
        assert ledger.accounts["ada"].scram not in (None, first)
        ledger.revoke("ada")
        assert ledger.accounts["ada"].scram is None
        ledger.grant("open", pure(1), token=False)
        assert ledger.accounts["open"].scram is None
        assert ledger.verify() > 0
