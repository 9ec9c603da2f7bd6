"""The laws of a budget: exact totals, never above the budget, a refusal writes nothing, each release is found again."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from discreet.errors import BudgetExceeded, LedgerError, ParameterError
from discreet.ledger import open_ledger
from discreet.privacy import (
    ApproxLoss,
    Loss,
    PureLoss,
    RhoLoss,
    SumLoss,
    approx,
    discrete_gaussian,
    from_json,
    gaussian,
    in_currency,
    laplace,
    mu,
    pure,
    randomized_response,
    rho,
    to_json,
)


def test_thirty_tenths_are_exactly_three():
    with open_ledger(None, pure(3)) as ledger:
        for _ in range(30):
            ledger.reserve("plan", pure(0.1))
        assert ledger.spent == pure(3)
        assert ledger.remaining == PureLoss(Fraction(0))
        with pytest.raises(BudgetExceeded, match=r"asks for epsilon 0\.1, and epsilon 0 is left of .* epsilon 3"):
            ledger.reserve("plan", pure(0.1))
        assert ledger.verify() == 31


def test_a_refusal_that_looks_equal_in_six_digits_shows_the_difference():
    with open_ledger(None, pure(1)) as ledger:
        ledger.reserve("plan", pure("1e-9"))
        with pytest.raises(BudgetExceeded, match="999999999/1000000000"):
            ledger.reserve("plan", pure(1))


@pytest.mark.parametrize(
    ("budget", "fitting", "too_much"),
    [
        (pure(1), pure(1), pure("1.0000000000000000000000000000000000000001")),
        (approx(1, 1e-6), approx(1, 1e-6), approx(0.1, "2e-6")),
        (approx(1, 1e-6), pure(1), approx(1.1, 1e-9)),
        (rho(0.5), pure(1), pure(1.01)),
        (rho(1, 1e-6), approx(0.5, 1e-6), rho(0.1, "2e-6")),
        (rho(1, 1e-6), rho(1, 1e-6), rho("1.001", 1e-6)),
        (mu(1), mu(1), mu("1.0000001")),
        (mu(1, 1e-6), 4 * gaussian(2), gaussian("0.999")),
        (mu(1), 64 * pure("0.0997"), 64 * pure("0.1")),
        (pure(1), 2 * laplace(2), laplace("0.999")),
        (rho(1), 8 * discrete_gaussian(2), 9 * discrete_gaussian(2)),
    ],
)
def test_each_currency_admits_its_whole_budget_and_nothing_more(budget, fitting, too_much):
    with open_ledger(None, budget) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve("plan", too_much)
        assert ledger.verify() == 1
        assert ledger.reserve("plan", fitting).loss == in_currency(fitting, ledger.currency) == ledger.spent


@pytest.mark.parametrize(
    ("budget", "spend"),
    [
        (pure(1), approx(0.1, 1e-9)),
        (pure(1), rho(0.01)),
        (approx(1, 1e-6), rho(0.01)),
        (pure(1), 0.1),
        (pure(1), None),
        (mu(1), rho(0.01)),
        (mu(1), discrete_gaussian(100)),
        (rho(1), pure("1e51")),
        (rho(1), PureLoss(Fraction(10**200))),
        (rho(1), gaussian(2).sampled("0.1")),
        (rho(1), gaussian(2).sampled("0.1", "without_replacement")),
        (pure(1), randomized_response("0.6")),
        (pure(1), pure("0.1").under("substitute")),
    ],
)
def test_a_spend_that_the_currency_cannot_express_is_refused_and_writes_nothing(budget, spend):
    with open_ledger(None, budget) as ledger:
        with pytest.raises(ParameterError):
            ledger.reserve("plan", spend)
        assert ledger.verify() == 1


def test_a_sum_nested_too_deeply_is_refused_in_words():
    deep = pure(0.1)
    for _ in range(20_000):
        deep = SumLoss((deep, pure(0.1)))
    with open_ledger(None, pure(3)) as ledger, pytest.raises(ParameterError, match="too many terms"):
        ledger.reserve("plan", deep)
    while isinstance(deep, SumLoss):  # take it apart from the top: releasing it whole would recurse in C
        deep = deep.terms[0]


@pytest.mark.parametrize(
    "budget",
    [
        0 * pure(1),
        2 * approx(1, 0.6),
        3.0,
        PureLoss(Fraction(1, 10**301)),
        gaussian(1),
        gaussian(1).sampled("0.01"),
        pure(1) + rho(1),
        laplace(1),
    ],
)
def test_a_budget_must_be_a_budget(budget):
    with pytest.raises(ParameterError):
        open_ledger(None, budget)


def test_a_new_ledger_needs_a_budget():
    with pytest.raises(LedgerError, match="needs a budget"):
        open_ledger(None, None)


@pytest.mark.parametrize("plan_hash", ["", "two words", "new\nline", "é", "x" * 257, None, b"bytes"])
def test_a_plan_hash_is_short_printable_text(plan_hash):
    with open_ledger(None, pure(1)) as ledger:
        with pytest.raises(ParameterError):
            ledger.reserve(plan_hash, pure(0.1))
        with pytest.raises(ParameterError):
            ledger.find(plan_hash)


def test_fractions_without_a_common_denominator_are_charged_upwards_and_stay_small():
    denominators = [10**17 + 2 * k + 1 for k in range(60)]
    with open_ledger(None, pure(1)) as ledger:
        for denominator in denominators:
            ledger.reserve("plan", pure(Fraction(1, denominator)))
        exact = sum((Fraction(1, d) for d in denominators), Fraction(0))
        assert 0 <= ledger.spent.eps - exact < Fraction(60, 10**300)
        assert ledger.spent.eps.denominator <= 10**300
        assert ledger.verify() == 61


def test_a_charge_with_too_many_digits_is_rounded_up():
    tiny = Fraction(1, 10**2000)
    with open_ledger(None, rho(1)) as ledger:
        assert ledger.reserve("plan", pure(tiny)).loss == RhoLoss(Fraction(1, 10**300), Fraction(0))


def test_commit_stores_once():
    with open_ledger(None, pure(1)) as ledger:
        reservation = ledger.reserve("plan", pure(0.5))
        assert ledger.find("plan") is None
        stored = ledger.commit(reservation, b"release")
        assert ledger.find("plan") == stored
        for payload in (b"release", b"another"):
            with pytest.raises(LedgerError, match="not open here"):
                ledger.commit(reservation, payload)
        assert ledger.verify() == 3
        for wrong in ("text", None, bytearray(b"x")):
            with pytest.raises(ParameterError):
                ledger.commit(ledger.reserve("plan", pure(0.1)), wrong)


def test_find_gives_the_newest():
    with open_ledger(None, pure(1)) as ledger:
        first, second = ledger.reserve("plan", pure(0.1)), ledger.reserve("plan", pure(0.2))
        newest = [ledger.commit(second, b"2"), ledger.commit(first, b"1")][-1]
        assert ledger.find("plan") == newest
        assert ledger.find("other") is None


def test_a_reservation_of_another_ledger_is_refused():
    with open_ledger(None, pure(1)) as one, open_ledger(None, pure(1)) as other:
        reservation = one.reserve("plan", pure(0.5))
        with pytest.raises(LedgerError, match="another ledger"):
            other.commit(reservation, b"release")
        assert other.verify() == 1
        one.commit(reservation, b"release")


def test_after_close_every_method_refuses():
    ledger = open_ledger(None, pure(1))
    reservation = ledger.reserve("plan", pure(0.5))
    ledger.close()
    ledger.close()
    for use in (
        lambda: ledger.spent,
        lambda: ledger.remaining,
        lambda: ledger.find("plan"),
        lambda: ledger.reserve("plan", pure(0.1)),
        lambda: ledger.commit(reservation, b""),
        lambda: list(ledger.entries()),
        lambda: ledger.accounts,
        lambda: ledger.grant("ada", pure(1)),
        ledger.freeze,
        ledger.verify,
    ):
        with pytest.raises(LedgerError, match="closed"):
            use()


def test_entries_tell_the_story():
    with open_ledger(None, approx(1, 1e-6)) as ledger:
        reservation = ledger.reserve("plan", pure(0.25))
        stored = ledger.commit(reservation, b"release")
        create, reserve, release = ledger.entries()
    assert [e.kind for e in (create, reserve, release)] == ["create", "reserve", "release"]
    assert create.loss == approx(1, 1e-6)
    assert reserve.spent == release.spent == release.loss == ApproxLoss(Fraction(1, 4), Fraction(0))
    assert reserve.reservation == release.reservation == reservation.id
    assert (release.previous, release.hash) == (reserve.hash, stored.head)


parts = st.fractions(0, 1, max_denominator=60).filter(bool)
losses = st.one_of(
    st.builds(pure, parts),
    st.builds(approx, parts, st.fractions(0, Fraction(1, 100), max_denominator=10**6)),
    st.builds(rho, parts, st.fractions(0, Fraction(1, 100), max_denominator=10**6)),
    st.builds(lambda n, e: n * pure(e) + pure(e), st.integers(0, 3), parts),
)
budgets = st.one_of(
    st.builds(pure, st.fractions(1, 5)),
    st.builds(approx, st.fractions(1, 5), st.just(Fraction(1, 100))),
    st.builds(rho, st.fractions(Fraction(1, 2), 5), st.just(Fraction(1, 100))),
)


class Spending(RuleBasedStateMachine):
    """A ledger beside a list of the charges that it accepted."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = None
        self.charges: list[Loss] = []
        self.open = []
        self.found: dict[str, bytes] = {}

    @rule(budget=budgets)
    def start(self, budget: Loss) -> None:
        if self.ledger is None:
            self.ledger = open_ledger(None, budget)

    @rule(loss=losses, plan=st.sampled_from("abc"))
    def reserve(self, loss: Loss, plan: str) -> None:
        if self.ledger is None:
            return
        before = list(self.ledger.entries())
        try:
            charged = in_currency(loss, self.ledger.currency)
        except ParameterError:
            with pytest.raises(ParameterError):
                self.ledger.reserve(plan, loss, fresh=True)
            assert list(self.ledger.entries()) == before
            return
        if self.total([*self.charges, charged]).fits(self.ledger.budget):
            self.open.append(self.ledger.reserve(plan, loss, fresh=True))
            self.charges.append(charged)
        else:
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve(plan, loss, fresh=True)
            assert list(self.ledger.entries()) == before

    @rule(payload=st.binary(max_size=40), which=st.integers(0, 50))
    def commit(self, payload: bytes, which: int) -> None:
        if self.open:
            reservation = self.open.pop(which % len(self.open))
            assert self.ledger.commit(reservation, payload).payload == payload
            self.found[reservation.plan_hash] = payload

    @invariant()
    def holds(self) -> None:
        if self.ledger is None:
            return
        assert self.ledger.spent == self.total(self.charges)
        assert self.ledger.spent.fits(self.ledger.budget)
        for plan in "abc":
            stored = self.ledger.find(plan)
            assert (None if stored is None else stored.payload) == self.found.get(plan)

    def total(self, charges: list[Loss]) -> Loss:
        return in_currency(SumLoss((0 * pure(1), *charges)), self.ledger.currency)

    def teardown(self) -> None:
        if self.ledger is not None:
            assert self.ledger.verify() == 1 + sum(1 for e in self.ledger.entries() if e.kind != "create")
            self.ledger.close()


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


@given(losses)
@settings(deadline=None, max_examples=30)
def test_what_the_ledger_holds_reads_back_as_the_same_loss(loss):
    assert from_json(to_json(loss)) == loss
