"""What is spent and left, in plain words: no belief is understated, and windows add up."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest

import discreet.privacy as dp
from discreet.cli.ledger._meaning import Meaning, meanings, odometer
from discreet.ledger import open_ledger
from discreet.ledger.state._account import Account
from discreet.privacy.filters import Odometer

DELTA = Fraction(1, 10**6)
NOW = datetime(2026, 11, 22, tzinfo=UTC)


def account(budget: dp.Loss, spent: dp.Loss | None = None, **terms: Any) -> Account:
    with open_ledger(None, budget, **terms) as ledger:
        if spent is not None:
            ledger.reserve("plan", spent)
        return ledger.total


def test_what_is_spent_and_left() -> None:
    so_far, at_the_end = meanings(account(dp.pure(1), dp.pure("0.25")), NOW, DELTA)
    assert so_far.loss == dp.pure("0.25")
    assert so_far.upper == pytest.approx(1 / (1 + 99 * math.exp(-0.5)))
    assert so_far.sentence == (
        "So far, one person may have lost at most epsilon 0.25: a belief of 1 % in what is true about them rises at "
        "most to 1.64 %."
    )
    assert (at_the_end.loss, at_the_end.event) == (dp.pure(1), 0.0)
    assert at_the_end.sentence.startswith("When what is left is spent, one person may have lost at most epsilon 1:")
    (unspent,) = meanings(account(dp.pure(1)), NOW, DELTA)
    assert unspent.when == "When what is left is spent"


def test_windows_add_up() -> None:
    monthly = account(dp.pure("0.5"), dp.pure("0.25"), every="month")
    later = monthly.at(monthly.ends)
    so_far, at_the_end, ahead = meanings(later, NOW, DELTA)
    assert so_far.when == "So far in 2 windows"
    assert (so_far.loss, at_the_end.loss, ahead.loss) == (dp.pure("0.25"), dp.pure("0.75"), dp.pure("2.75"))
    assert ahead.when == "After 4 more windows like this"


def test_an_end_is_looked_ahead_to() -> None:
    begun = account(dp.pure(1), every="year").since.year
    until = datetime(begun + 3, 7, 1, tzinfo=UTC)
    ending = account(dp.pure(1), every="year", until=until)
    ahead = meanings(ending, NOW, DELTA)[-1]
    assert ahead.loss == dp.pure(4)
    assert ahead.when == f"After 3 more windows like this, the last before {begun + 3}-07-01"
    last = account(dp.pure(1), every="year", until=datetime(begun + 1, 1, 1, tzinfo=UTC))
    assert len(meanings(last, NOW, DELTA)) == 1
    assert len(meanings(last, until, DELTA)) == 1
    for_ever = account(dp.pure(1), every="day", until=datetime(begun + 50, 1, 1, tzinfo=UTC))
    assert meanings(for_ever, NOW, DELTA)[-1].when == "After 1000 more windows like this"


@pytest.mark.parametrize(
    "budget", [dp.approx(1, "1e-6"), dp.rho("0.02"), dp.rho("0.02", "1e-7"), dp.mu("0.2"), dp.approx(1, 0)], ids=repr
)
def test_a_belief_is_bounded_off_an_event(budget: dp.Loss) -> None:
    (told,) = meanings(account(budget), NOW, DELTA)
    own = float(sum(dp.parts(dp.in_currency(budget, dp.currency(budget)))[1:]))
    assert told.event == pytest.approx(0.0 if budget == dp.approx(1, 0) else max(1e-6, 10 * own), rel=1e-12)
    assert 0.01 < told.upper < 1
    assert told.upper == budget.posterior("0.01", Fraction(str(told.event)))[1]
    assert ("except with probability" in told.sentence) == (told.event > 0)


@pytest.mark.parametrize("budget", [dp.pure(10**4), dp.approx(20, "1e-6"), dp.approx(1, "0.2"), dp.rho(100)], ids=repr)
def test_what_bounds_nothing_is_said_to(budget: dp.Loss) -> None:
    (told,) = meanings(account(budget), NOW, DELTA)
    assert "too much to bound" in told.sentence or "almost 100 %" in told.sentence or told.upper < 1


@pytest.mark.parametrize("upper", [0.0100000001, 0.012345, 0.099999, 0.5, 0.99951, 0.9999999])
def test_percentages_are_rounded_up(upper: float) -> None:
    text = Meaning("So far", dp.pure(1), upper, 0.0).sentence.removesuffix(".").rpartition("to ")[2]
    if text == "almost 100 %":
        assert upper > 0.999
    else:
        shown = float(text.removesuffix(" %")) / 100
        assert upper <= shown + 1e-12
        assert shown <= upper * 1.011


def test_an_odometer_reads_each_currency() -> None:
    assert odometer(dp.pure("0.5"), DELTA) == (0.5, 0)
    assert odometer(dp.approx("0.5", "1e-7"), DELTA) == (0.5, Fraction(1, 10**7))
    assert odometer(dp.rho(1, "1e-7"), DELTA) == (Odometer(DELTA).epsilon(dp.rho(1)), DELTA + Fraction(1, 10**7))
    assert odometer(dp.RhoLoss(Fraction(0), Fraction(0)), DELTA) == (0.0, 0)
    found = odometer(dp.mu(1), DELTA)
    assert found is not None
    assert found[0] > 1
