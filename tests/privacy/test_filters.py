"""Filters never pass their budget; what they cite is what they add up."""

from __future__ import annotations

import math

import pytest

from discreet.errors import ParameterError
from discreet.privacy import MuLoss, PureLoss, RhoLoss, approx, bounded_range, gaussian, mu, pure, rho
from discreet.privacy.filters import Filter, Odometer


def steps(filtered, each, most=100_000):
    spent, count = filtered.nothing, 0
    while count < most and filtered.fits(spent, each):
        spent, count = filtered.add(spent, each), count + 1
    return count


@pytest.mark.parametrize(
    ("budget", "each", "count"),
    [
        (pure(1), pure("0.1"), 10),
        (approx(1, "1e-6"), approx("0.1", "2e-7"), 5),
        (rho("0.5"), gaussian(10), 100),
        (rho("0.5"), bounded_range(1), 4),
        (mu(1), gaussian(10), 100),
        (mu(1, "1e-6"), mu("0.1", "1e-7"), 10),
    ],
)
def test_basic_filters_spend_exactly_the_budget(budget, each, count):
    filtered = Filter(budget)
    assert steps(filtered, each) == count
    assert filtered.theorem
    assert not filtered.fits(budget, each)


def test_what_is_left():
    assert Filter(mu(1)).left(gaussian(2)) == MuLoss(3 * mu("0.5").mu_squared)
    assert Filter(pure(1)).left(pure(2)) == PureLoss(pure(1).eps * 0)
    assert Filter(rho(1)).nothing == RhoLoss(0, 0)
    with pytest.raises(ParameterError):
        Filter(approx(1, 1e-6), rate="advanced").left(pure(1))


def test_a_loss_without_a_value_in_the_currency_does_not_fit():
    assert not Filter(pure(1)).fits(0 * pure(1), rho("0.001"))
    assert not Filter(mu(1)).fits(0 * pure(1), rho("0.001"))


POISSON, FIXED = gaussian(2).sampled("0.1"), gaussian(2).sampled("0.1", "without_replacement")


@pytest.mark.parametrize("first", [POISSON, FIXED, 3 * POISSON, POISSON.group(2), POISSON + gaussian(1)])
def test_a_filter_that_knows_no_neighbours_takes_no_loss_that_does(first):
    filtered = Filter(rho(10))
    assert not filtered.fits(filtered.nothing, first)
    with pytest.raises(ParameterError, match="state what the budget protects"):
        filtered.add(filtered.nothing, first)
    with pytest.raises(ParameterError):
        filtered.left(first)


def test_neighbours_are_not_lost_between_spends():
    with_or_without = Filter(rho(10), relation="add_remove")
    spent = with_or_without.add(with_or_without.nothing, POISSON + gaussian(1))
    with pytest.raises(ParameterError, match="does not bound adding"):
        with_or_without.add(spent, FIXED)
    assert not with_or_without.fits(spent, FIXED)


def test_a_substitution_is_charged_as_two_steps():
    filtered = Filter(rho(10), relation="substitute")
    spent = filtered.add(filtered.add(filtered.nothing, FIXED), POISSON)
    assert spent == RhoLoss(FIXED.term.noise**-2 / 2 * 5, 0)
    with pytest.raises(ParameterError, match="relation"):
        Filter(rho(1), relation="edges")


def test_the_advanced_filter_has_the_rate_of_its_theorem():
    filtered = Filter(approx(5, "1e-6"), rate="advanced", slack="1e-6")
    count = steps(filtered, pure("0.05"))
    # Whitehouse et al.: sqrt(2 ln(1/slack) S) + S/2 <= epsilon, S the sum of squares.
    theirs = next(n for n in range(100_000) if math.sqrt(2 * math.log(1e6) * n * 25e-4) + n * 25e-4 / 2 > 5) - 1
    assert theirs <= count <= 1.4 * theirs
    assert count > 2 * steps(Filter(approx(5, "1e-6")), pure("0.05"))
    # A schedule fixed in advance may do better than any filter, never worse than what the filter admits.
    assert (count * pure("0.05")).epsilon("1e-6") <= 5


def test_the_advanced_filter_counts_deltas():
    filtered = Filter(approx(5, "1e-6"), rate="advanced")
    assert steps(filtered, approx("0.05", "1e-7")) == 5


@pytest.mark.parametrize(
    "build",
    [
        lambda: Filter(pure(1), rate="advanced"),
        lambda: Filter(approx(1, 0), rate="advanced"),
        lambda: Filter(approx(1, "1e-6"), rate="advanced", slack="1e-5"),
        lambda: Filter(approx(1, "1e-6"), slack="1e-7"),
        lambda: Filter(approx(1, "1e-6"), rate="best"),
        lambda: Odometer(0),
        lambda: Odometer("1e-6", first=0),
        lambda: Odometer(1),
    ],
)
def test_bad_filters(build):
    with pytest.raises(ParameterError):
        build()


def test_the_odometer_grows_and_is_dearer_than_a_schedule_fixed_in_advance():
    odometer = Odometer("1e-6")
    readings = [odometer.epsilon(n * gaussian(10)) for n in (0, 1, 5, 50, 500)]
    assert readings == sorted(readings) and readings[0] == 0
    assert readings[-1] >= (500 * gaussian(10)).epsilon("1e-6")
    assert odometer.epsilon(pure("0.1")) == 0.1
