"""Answers within bounds: the exact loss over all neighbouring values, the naive scale's true cost, the error."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import BoundedLaplace
from discreet.privacy import PureLoss, fits
from discreet.sensitivity import Norms

ALARM = 1e-12  # a chi-square test with the secure source fails by chance with about this probability


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def law(mechanism: BoundedLaplace, value: int) -> dict[int, mpmath.mpf]:
    lower, upper = mechanism.bounds
    value = min(max(value, lower), upper)
    weight = {x: mpmath.exp(-abs(x - value) / real(mechanism.scale)) for x in range(lower, upper + 1)}
    total = mpmath.fsum(weight.values())
    return {x: w / total for x, w in weight.items()}


def worst_ratio(mechanism: BoundedLaplace, move: int) -> mpmath.mpf:
    """Over all pairs of values at most `move` apart, also outside of the bounds, and over all answers."""
    lower, upper = mechanism.bounds
    laws = {value: law(mechanism, value) for value in range(lower - 2, upper + 3)}
    return max(
        abs(mpmath.log(laws[v][x] / laws[w][x]))
        for v, w in product(laws, repeat=2)
        if abs(v - w) <= move
        for x in laws[v]
    )


@pytest.mark.parametrize("scale", ["1/10", "1", "4.5", "60"])
@pytest.mark.parametrize("bounds", [(0, 1), (-3, 3), (10, 22)], ids=str)
def test_the_stated_loss_is_the_exact_one(scale: str, bounds: tuple[int, int]) -> None:
    mechanism = BoundedLaplace(scale, bounds)
    with mpmath.workdps(150):
        for move in (1, 2, 3, 7, 40):
            truth, claimed = worst_ratio(mechanism, move), real(mechanism.loss(move).eps)
            tiny = mpmath.mpf(10) ** -140  # of the enumeration's own digits
            assert truth - tiny <= claimed <= truth * (1 + mpmath.mpf(2) ** -38) + tiny
            assert mechanism.loss(move) == mechanism.loss(Fraction(move) + Fraction(1, 2))


@pytest.mark.sampled
@pytest.mark.parametrize("bounds", [(0, 1), (0, 5), (-20, 20)], ids=str)
@pytest.mark.parametrize(("epsilon", "move"), [("1", 1), ("0.1", 1), ("0.1", 4), ("5", 2)])
def test_calibration_is_within_the_spend_and_the_naive_scale_is_not(bounds, epsilon: str, move: int) -> None:
    allowed = Fraction(epsilon)
    mechanism = BoundedLaplace.calibrate(dp.pure(epsilon), move, bounds=bounds)
    with mpmath.workdps(60):
        cost = worst_ratio(mechanism, move)
        assert real(allowed) * mpmath.mpf("0.99999") <= cost <= real(allowed) + mpmath.mpf(10) ** -50
        naive = BoundedLaplace(move / allowed, bounds)
        cost = worst_ratio(naive, move)
        if bounds[1] - bounds[0] > move:
            assert cost > 1.0001 * real(allowed)
        else:
            assert cost <= real(allowed) + mpmath.mpf(10) ** -50  # both values are bounds: none is likelier to be kept
    assert fits(mechanism.loss(move), dp.pure(epsilon))


def test_the_naive_scale_costs_nearly_twice_where_bounds_are_far_and_epsilon_is_small() -> None:
    naive = BoundedLaplace(1000, (0, 10**6))
    assert float(naive.loss(1).eps) == pytest.approx(0.002, rel=1e-3)
    with mpmath.workdps(40):
        assert worst_ratio(BoundedLaplace(1, (0, 30)), 1) > 1.2


@pytest.mark.parametrize("l1", [1, 2, 3, 5])
def test_several_entries_cost_what_the_worst_split_does(l1: int) -> None:
    mechanism = BoundedLaplace(3, (0, 9))
    splits = [split for split in product(range(l1 + 1), repeat=l1) if sum(split) == l1]
    costs = [sum(mechanism.loss(each).eps for each in split) for split in splits]
    assert mechanism.loss(Norms(l1, l1 * l1)).eps == max(costs) == l1 * mechanism.loss(1).eps
    calibrated = BoundedLaplace.calibrate(dp.pure(1), Norms(l1, l1 * l1), bounds=(0, 9))
    assert Fraction(99999, 100000) < calibrated.loss(Norms(l1, l1 * l1)).eps <= 1


@given(st.floats(1e-6, 300), st.integers(1, 1000), st.integers(1, 10**9))
@settings(max_examples=40, deadline=None)
def test_calibration_takes_nearly_the_least_scale(epsilon: float, move: int, width: int) -> None:
    mechanism = BoundedLaplace.calibrate(dp.pure(epsilon), move, bounds=(-7, width - 7))
    assert fits(mechanism.loss(move), dp.pure(epsilon))
    least = max(min(move, width) / Fraction(str(epsilon)), Fraction(1, 1000))
    assert least <= mechanism.scale <= 2 * least * (1 + Fraction(1, 2**39))
    smaller = mechanism.scale * (1 - Fraction(1, 2**36))
    if smaller > least:
        assert not fits(BoundedLaplace(smaller, mechanism.bounds).loss(move), dp.pure(epsilon))


def test_calibration_in_every_currency() -> None:
    for spend in (dp.rho("0.02"), dp.mu("0.3"), dp.mu("0.3", 1e-6), dp.approx("0.2", 1e-6)):
        mechanism = BoundedLaplace.calibrate(spend, 4, bounds=(0, 100))
        assert fits(mechanism.loss(4), spend)
        assert not fits(BoundedLaplace(mechanism.scale * Fraction(999, 1000), (0, 100)).loss(4), spend)


@pytest.mark.parametrize(
    ("scale", "bounds"),
    [("0.3", (0, 4)), ("2", (-1, 0)), ("3", (0, 9)), ("3", (5, 80)), ("50", (0, 21)), ("9", (0, 30))],
)
def test_error_and_rmse_are_those_of_the_worst_value(scale: str, bounds: tuple[int, int]) -> None:
    mechanism, values = BoundedLaplace(scale, bounds), range(bounds[0], bounds[1] + 1)
    with mpmath.workdps(60):
        laws = {value: law(mechanism, value) for value in values}

        def inside(k: int) -> mpmath.mpf:
            return min(mpmath.fsum(m for x, m in laws[v].items() if abs(x - v) <= k) for v in values)

        for level in ("0.01", "0.5", "0.95", "0.999999"):
            k = mechanism.error(level)
            assert inside(k) >= real(Fraction(level)) - mpmath.mpf(10) ** -50
            assert k == 0 or inside(k - 1) < real(Fraction(level))
        worst = max(mpmath.fsum(m * (x - v) ** 2 for x, m in laws[v].items()) for v in values)
    assert mechanism.rmse == pytest.approx(float(mpmath.sqrt(worst)), rel=1e-12)


@pytest.mark.parametrize(("scale", "width"), list(product((0.1, 0.7, 2.0, 9.0, 70.0), (1, 2, 7, 30, 101))))
def test_the_worst_value_is_at_a_bound_or_in_the_middle(scale: float, width: int) -> None:
    value, x = np.arange(width + 1)[:, None], np.arange(width + 1)[None, :]
    p = np.exp(-np.abs(x - value) / scale)
    p /= p.sum(axis=1, keepdims=True)
    squares = (p * (x - value) ** 2).sum(axis=1)
    assert squares.max() <= max(squares[0], squares[width // 2]) * (1 + 1e-12)
    for k in range(width):
        beyond = (p * (np.abs(x - value) > k)).sum(axis=1)
        assert beyond.max() <= max(beyond[0], beyond[width // 2]) * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize("scale", ["1.5", "30"])
def test_what_is_released_follows_the_law(scale: str) -> None:
    mechanism = BoundedLaplace(scale, (-4, 6))
    for value in (-100, -4, 0, 6, 10**30):
        drawn = np.array(mechanism.release([value] * 100_000), dtype=np.int64)
        p = law(mechanism, value)
        expected = np.array([float(p[x]) * drawn.size for x in range(-4, 7)])
        counts = np.bincount(drawn + 4, minlength=11)
        keep = expected >= 100
        expected = np.append(expected[keep], expected[~keep].sum() + 1e-9)
        counts = np.append(counts[keep], counts[~keep].sum())
        if expected[-1] < 100:
            counts, expected = counts[:-1], expected[:-1] * counts[:-1].sum() / expected[:-1].sum()
        assert stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > ALARM


def test_each_entry_has_its_own_window() -> None:
    mechanism = BoundedLaplace("0.001", (3, 2**61))
    assert mechanism.release([-5, 3, 17, 2**61, 2**100]) == [3, 3, 17, 2**61, 2**61]


def test_extremes() -> None:
    widest = BoundedLaplace(2**56, (0, 2**62))
    assert 0 <= widest.release(2**62) <= 2**62
    assert widest.error() == pytest.approx(2**56 * 2.995732, rel=1e-6)
    assert widest.rmse == pytest.approx(2**56.5, rel=1e-6)
    flat = BoundedLaplace(2**56, (-(10**40), 2 - 10**40))
    assert set(flat.release([0] * 500)) == {-(10**40), 1 - 10**40, 2 - 10**40}
    assert float(flat.loss(1).eps * 2**56) == pytest.approx(4 / 3, rel=1e-9)
    assert BoundedLaplace("0.001", (0, 9)).loss(1).eps == pytest.approx(1000)
    assert BoundedLaplace(3, (0, 9)).loss(0) == BoundedLaplace(3, (0, 9)).loss("0.5") == PureLoss(Fraction(0))
    assert BoundedLaplace(3, (0, 9)).loss(10**40) == BoundedLaplace(3, (0, 9)).loss(9) == PureLoss(Fraction(3))
    assert BoundedLaplace.calibrate(dp.pure(1), 0, bounds=(0, 9)).scale == Fraction(1, 1000)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), 2**56 + 1, True, "x"])
def test_bad_scales_are_refused(scale) -> None:
    with pytest.raises(ParameterError, match="scale"):
        BoundedLaplace(scale, (0, 1))


@pytest.mark.parametrize(
    "bounds",
    [None, 3, (1,), (1, 1), (2, 1), (0, 1.0), (0, True), (0, "1"), (0, 2**62 + 1), (0, 1, 2), "01", (0, float("nan"))],
    ids=str,
)
def test_bad_bounds_are_refused(bounds) -> None:
    with pytest.raises(ParameterError, match="bounds"):
        BoundedLaplace(1, bounds)
    with pytest.raises(ParameterError, match="bounds"):
        BoundedLaplace.calibrate(dp.pure(1), 1, bounds=bounds)


def test_bad_calls_are_refused() -> None:
    for sensitivity in (-1, float("nan"), "x", None):
        with pytest.raises(ParameterError):
            BoundedLaplace.calibrate(dp.pure(1), sensitivity, bounds=(0, 9))
    with pytest.raises(ParameterError, match="scale"):
        BoundedLaplace.calibrate(dp.pure(1), 10**30, bounds=(0, 2**60))
    assert BoundedLaplace.calibrate(dp.pure(1), 10**30, bounds=(0, 9)) == BoundedLaplace(9, (0, 9))
    for level in (0, 1, True, "x"):
        with pytest.raises(ParameterError, match="level"):
            BoundedLaplace(1, (0, 9)).error(level)
