"""A ledger of pure ε takes a δ from some day on, and no history allows more than was promised."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetExceeded, LedgerError, ParameterError
from discreet.ledger import OwnedLedger, Reservation, open_ledger
from discreet.ledger.state._account import OWNER_ACCOUNT, Account
from discreet.ledger.state._arithmetic import charge_and_history, nothing, numbers
from discreet.ledger.state._conversion import converted_cap
from discreet.ledger.state._events import (
    Event,
    Facts,
    LedgerState,
    apply,
    initial_state,
    state_from_json,
    state_to_json,
)
from discreet.privacy import Loss, approx, currency, gaussian, in_currency, parts, pure, rho

DELTA = Fraction("1e-6")


def test_the_cap_keeps_its_epsilon() -> None:
    assert converted_cap(pure(3), DELTA, "approx") == approx(3, DELTA)
    for epsilon in ("0.01", 1, 3, 20):
        cap = converted_cap(pure(epsilon), DELTA, "rho")
        value, delta = parts(cap)
        assert delta == DELTA / 2
        assert rho(value).fits(approx(epsilon, DELTA / 2))
        assert not rho(value * Fraction("1.002")).fits(approx(epsilon, DELTA / 2))


@pytest.mark.parametrize("delta", [0, 1, -1, 2, "nan"])
def test_a_delta_is_between_nothing_and_certainty(delta: Any) -> None:
    with open_ledger(None, pure(1)) as ledger:
        with pytest.raises(ParameterError, match="delta must be"):
            ledger.convert(delta)
        assert ledger.currency == "pure"


def test_every_charge_stays_and_open_ones_can_be_stored(place: str) -> None:
    with open_ledger(place, pure(3), relation="add_remove", parts=("a", "b")) as ledger:
        ledger.grant("auditor", role="auditor")
        ada = ledger.open_account("ada", ledger.grant("ada", pure(1)))
        first = reserved(ada.reserve("plan-1", pure("0.3")))
        second = reserved(ada.reserve("plan-2", pure("0.2"), part="a"))
        ledger.reserve("plan-3", pure("0.1"), part="b")
        ada.commit(second, b"second")
        with open_ledger(place) as other:
            other.convert(DELTA)
        assert (ledger.currency, ledger.facts.currency, ada.facts.currency) == ("approx",) * 3
        assert (ledger.budget, ledger.spent) == (approx(3, DELTA), in_currency(pure("0.5"), "approx"))
        assert (ada.budget, ada.spent) == (approx(1, DELTA), in_currency(pure("0.5"), "approx"))
        ada.commit(first, b"first")
        found = [ada.find(plan) for plan in ("plan-1", "plan-2")]
        assert [None if each is None else each.payload for each in found] == [b"first", b"second"]
        assert isinstance(ada.reserve("plan-4", approx("0.1", "1e-8")), Reservation)
        assert ledger.remaining == approx("2.4", DELTA - Fraction("1e-8"))
        assert ledger.history["approx"] == approx("0.6", "1e-8")
        ledger.transfer("ada", ledger_account(ledger, "bob"), approx("0.1", 0.0000001))
        ledger.renew()
        kinds = [entry.kind for entry in ledger.entries()]
        assert (kinds.count("convert"), ledger.verify()) == (3, len(kinds))
        assert [entry.loss for entry in ledger.entries() if entry.kind == "convert"] == [
            approx(3, DELTA), approx(1, DELTA), nothing("approx"),
        ]  # fmt: skip


def ledger_account(ledger: OwnedLedger, name: str) -> str:
    ledger.grant(name, approx("0.1", DELTA))
    return name


def reserved(answer: object) -> Reservation:
    assert isinstance(answer, Reservation)
    return answer


def test_rho_adds_up_what_was_charged_and_not_the_square_of_the_sum() -> None:
    with open_ledger(None, pure(3)) as ledger:
        for place in range(20):
            ledger.reserve(f"plan-{place}", pure("0.1"))
        ledger.convert(DELTA, "rho")
        assert ledger.spent == rho("0.1")
        assert isinstance(ledger.reserve("plan", gaussian(10)), Reservation)
        assert ledger.verify() == 23


def test_what_is_not_pure_or_was_converted_is_left_alone() -> None:
    for budget in (approx(1, "1e-6"), rho(1), dp.mu(1)):
        with (
            open_ledger(None, budget) as ledger,
            pytest.raises(LedgerError, match=r"is kept in (approx|rho|mu) already"),
        ):
            ledger.convert(DELTA)
    with open_ledger(None, pure(1)) as ledger:
        with pytest.raises(LedgerError, match="is converted to approx or to rho, not to 'mu'"):
            ledger.convert(DELTA, "mu")
        ledger.convert(DELTA)
        before = ledger.head
        with pytest.raises(LedgerError, match="kept in approx already"):
            ledger.convert(DELTA)
        assert ledger.head == before


def test_more_than_the_new_cap_was_spent() -> None:
    with open_ledger(None, pure(1)) as ledger:
        ledger.grant("ada", pure(1))
        ledger.reserve("plan", pure("0.9"))
        before = ledger.head
        with pytest.raises(
            LedgerError, match=r"at most rho 0\.405 there, and the cap would be rho 0\.0.*where nothing g"
        ):
            ledger.convert(DELTA, "rho")
        assert (ledger.head, ledger.currency, ledger.accounts["ada"].cap) == (before, "pure", pure(1))


def test_an_account_that_gave_all_away_is_converted_too() -> None:
    for target in ("approx", "rho"):
        with open_ledger(None, pure(3)) as ledger:
            for name in ("ada", "bob"):
                ledger.grant(name, pure(1))
            ledger.transfer("ada", "bob", pure(1))
            ledger.convert(DELTA, target)
            assert ledger.accounts["ada"].cap == nothing(target)
            assert ledger.verify() == 8


def test_a_cap_too_small_for_any_rho_says_so() -> None:
    with (
        open_ledger(None, pure("1e-9")) as ledger,
        pytest.raises(ParameterError, match=r"no rho is small enough for eps"),
    ):
        ledger.convert(DELTA, "rho")


def test_who_had_the_ledger_open_spends_a_delta_from_then_on(place: str) -> None:
    open_ledger(place, pure(3)).close()
    with open_ledger(place) as stale, open_ledger(place) as owner:
        assert isinstance(stale.reserve("plan-1", pure("0.1")), Reservation)
        owner.convert(DELTA)
        assert isinstance(stale.reserve("plan-2", approx("0.1", "1e-8")), Reservation)
        assert owner.spent == approx("0.2", "1e-8")
        assert owner.verify() == 4


@pytest.mark.parametrize(
    "event",
    [
        {"currency": "approx", "cap": ["1000", "1/1000000"], "delta": "1/1000000"},
        {"currency": "approx", "cap": ["3", "1/2"], "delta": "1/1000000"},
        {"currency": "rho", "cap": ["1", "1/2000000"], "delta": "1/1000000"},
        {"currency": "rho", "cap": ["1/10", "1/1000000"], "delta": "1/1000000"},
        {"currency": "approx", "cap": ["0", "0"], "delta": "1/1000000"},
    ],
)
def test_a_conversion_that_does_not_keep_the_promise_is_none(event: dict[str, Any]) -> None:
    facts, now = Facts("pure"), datetime(2026, 11, 24, tzinfo=UTC)
    state = initial_state(facts, pure(3), now)
    with pytest.raises(LedgerError, match="does not keep the promise"):
        apply(facts, state, Event("convert", OWNER_ACCOUNT, event, now))


def test_ways_that_were_shut_name_the_conversion(tmp_path: Path) -> None:
    with open_ledger(None, pure(3)) as ledger:
        with pytest.raises(ParameterError, match="`discreet ledger convert LEDGER --delta 1e-6`"):
            ledger.renew(cap=approx(3, DELTA))
        with pytest.raises(ParameterError, match="`discreet ledger convert LEDGER --delta 1e-6`"):
            ledger.reserve("plan", approx(1, DELTA))
    path = tmp_path / "ledger"
    open_ledger(path, pure(3)).close()
    with pytest.raises(
        LedgerError, match=r"convert it, which keeps all charges \(`discreet ledger convert LEDGER --delta D`"
    ):
        open_ledger(path, approx(3, DELTA))
    with pytest.raises(LedgerError, match="--delta D --to rho`"):
        open_ledger(path, rho(1))
    with pytest.raises(LedgerError, match="renew it with another"):
        open_ledger(path, pure(4))


TABLE = {"t": pa.table({"k": ["a"] * 400 + ["b"] * 300})}


def policy(**budget: Any) -> dict[str, Any]:
    return {"version": "1", "budget": budget, "tables": {"t": {"unit": "rows", "columns": {"k": {"type": "string"}}}}}


@pytest.mark.parametrize("target", ["approx", "rho"])
def test_a_session_that_was_open_finds_private_keys_from_then_on(tmp_path: Path, target: str) -> None:
    query = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
    path = str(tmp_path / "ledger")
    spend = approx(1, "1e-7") if target == "approx" else rho("0.05", "1e-7")
    with dp.connect(TABLE, policy(epsilon=3), ledger=path) as session:
        count = session.sql("SELECT COUNT(*) AS n FROM t", spend=pure("0.1"))
        with pytest.raises(ParameterError, match="convert"):
            session.sql(query, spend=spend)
        with open_ledger(path) as owner:
            owner.convert(DELTA, target)
        assert sorted(session.sql(query, spend=spend).to_pandas()["k"]) == ["a", "b"]
        again = session.sql("SELECT COUNT(*) AS n FROM t", spend=pure("0.1"))
        assert again.to_pandas().equals(count.to_pandas())
    with open_ledger(path) as owner:
        assert owner.verify() == 6
    if target == "approx":
        dp.connect(TABLE, policy(epsilon=3, delta=DELTA), ledger=path).close()
    dp.connect(TABLE, policy(epsilon=3), ledger=path).close()


def test_who_spends_meanwhile_spends_before_or_after(place: str) -> None:
    """Whatever thread comes first, no more than ε = 3 is spent in all, and each charge is in the total."""
    open_ledger(place, pure(3)).close()
    accepted: list[int] = []

    def spend(number: int) -> None:
        with open_ledger(place) as ledger:
            for step in range(12):
                try:
                    ledger.reserve(f"plan-{number}-{step}", pure("0.1"))
                    accepted.append(number)
                except BudgetExceeded:
                    return

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    with open_ledger(place) as owner:
        owner.convert(DELTA)
        for thread in threads:
            thread.join()
        assert len(accepted) == 30
        assert owner.spent == in_currency(pure(3), "approx")
        assert owner.verify() == 32


def test_an_account_is_not_converted_without_the_whole() -> None:
    facts, now = Facts("pure"), datetime(2026, 11, 24, tzinfo=UTC)
    state = initial_state(facts, pure(3), now)
    grant = Event("grant", "ada", {"role": "analyst", "cap": ["1"]}, now)
    state = apply(facts, state, grant)
    with pytest.raises(LedgerError, match="only together with the ledger"):
        apply(
            facts,
            state,
            Event("convert", "ada", {"currency": "approx", "cap": ["1", "1/1000000"], "delta": str(DELTA)}, now),
        )
    with pytest.raises(LedgerError, match="not to 'pure'"):
        apply(facts, state, Event("convert", OWNER_ACCOUNT, {"currency": "pure", "cap": ["9"]}, now))


class History:
    """A ledger that is converted on some day, beside a plain list of what it accepted."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.facts = Facts("pure", parts=("a", "b"))
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.every = chance.choice([None, None, "month"])
        self.epsilon = chance.choice([Fraction(1), Fraction(3)])
        self.target = chance.choice(["approx", "rho"])
        self.state = initial_state(self.facts, pure(self.epsilon), self.now, every=self.every)
        self.accounts: dict[str, Account] = {}
        self.accepted: list[tuple[int, str, str | None, Loss]] = []
        for name in ("ada", "bob"):
            cap = numbers(pure(self.epsilon * Fraction(chance.choice(["1/3", "1/2", "1"]))))
            self.act("grant", name, {"role": "analyst", "cap": cap})

    def act(self, kind: Any, name: str, data: dict[str, Any]) -> None:
        before = LedgerState(self.state.total, self.accounts.get(name), self.state.history)
        after = apply(self.facts, before, Event(kind, name, data, self.now))
        assert state_from_json(self.facts, name, state_to_json(self.facts, after)) == after
        if after.account is not None:
            self.accounts[name] = after.account
        self.state = LedgerState(after.total, None, after.history)

    def spend(self) -> None:
        self.now += timedelta(days=self.chance.randrange(9))
        name, part = self.chance.choice(["", "ada", "bob"]), self.chance.choice([None, None, "a", "b"])
        size = Fraction(self.chance.choice([1, 2, 5, 20, 60]), 100) * self.epsilon
        unit = self.state.currency
        loss = self.chance.choice(
            [
                pure(size),
                {"pure": pure(size), "approx": approx(size, "1e-8"), "rho": rho(size * size / 9, "1e-9")}[unit],
            ]
        )
        event: dict[str, Any] = {"history": charge_and_history(loss, unit)[1]} | (
            {} if part is None else {"part": part}
        )
        try:
            self.act("reserve", name, event)
        except BudgetExceeded:
            return
        self.accepted.append((self.state.total.windows, name, part, loss))

    def convert(self) -> bool:
        """Whether it could be: ρ has no room for what some histories spent."""
        before = {"": self.state.total.at(self.now)} | self.accounts
        for name, each in before.items():
            cap = cap_after(each.cap, self.target)
            try:
                self.act("convert", name, {"currency": self.target, "cap": numbers(cap), "delta": str(DELTA)})
            except LedgerError:
                assert (self.target, name) == ("rho", "")
                return False
        after = {"": self.state.total} | self.accounts
        if self.target == "approx":
            for name, each in after.items():
                assert parts(each.remaining)[0] <= parts(before[name].remaining)[0]
                assert parts(each.lifetime)[0] == parts(before[name].lifetime)[0]
        return True

    def lost(self, window: int | None, account: str) -> list[Loss]:
        """What a person of each part lost by the list: in one window of the whole or in all, to one account or all."""
        return [
            sum(
                (
                    loss
                    for when, name, at, loss in self.accepted
                    if window in (None, when) and account in ("", name) and at in (None, part)
                ),
                nothing("pure"),
            )
            for part in ("a", "b")
        ]

    def check(self) -> None:
        total = self.state.total
        assert total.holds
        claims = [(total.spent, self.lost(total.windows, "")), (total.lifetime, self.lost(None, ""))]
        claims += [(each.lifetime, self.lost(None, name)) for name, each in self.accounts.items()]
        for claimed, losses in claims:
            for loss in losses:
                true = parts(in_currency(loss, currency(claimed)))
                assert all(a <= b for a, b in zip(true, parts(claimed), strict=True)), (claimed, loss)
        assert total.cap in (pure(self.epsilon), cap_after(pure(self.epsilon), self.target))


_CAPS: dict[tuple[Loss, str], Loss] = {}


def cap_after(cap: Loss, target: str) -> Loss:
    """`converted_cap`, computed once for each cap."""
    if (cap, target) not in _CAPS:
        _CAPS[cap, target] = converted_cap(cap, DELTA, target)
    return _CAPS[cap, target]


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 1_200), marks=pytest.mark.soak)], ids=len)
def test_no_history_allows_more_than_was_promised(seeds: range) -> None:
    """Charges by three accounts, for all and for parts, in windows, in a ledger that is converted on some day."""
    outcomes: list[tuple[str, bool]] = []
    for seed in seeds:
        history = History(seed)
        for _ in range(history.chance.randrange(12)):
            history.spend()
        outcomes.append((history.target, history.convert()))
        for _ in range(6):
            history.spend()
        history.check()
    assert {each: outcomes.count(each) > 20 for each in outcomes} == {
        ("approx", True): True, ("rho", True): True, ("rho", False): True,
    }  # fmt: skip
