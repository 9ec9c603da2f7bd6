"""Uniform noise: its δ by enumeration at every ε, the least bound, and the law of what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import UniformNoise
from discreet.privacy import ApproxLoss
from discreet.sensitivity import Norms

ALARM = 1e-12


def hockey_stick(bound: int, move: tuple[int, ...], epsilon: float) -> Fraction:
    """By all answers to one of two neighbours."""
    mass = Fraction(1, (2 * bound + 1) ** len(move))
    total = Fraction(0)
    for answer in product(range(-bound, bound + 1), repeat=len(move)):
        possible = all(abs(x - s) <= bound for x, s in zip(answer, move, strict=True))
        total += max(Fraction(0), mass - Fraction(math.exp(epsilon)) * mass * possible)
    return total


@pytest.mark.parametrize("bound", [0, 1, 4, 9])
@pytest.mark.parametrize("epsilon", [0, 0.5, 3])
def test_the_delta_of_a_number_is_exact_at_every_epsilon(bound: int, epsilon: float) -> None:
    for moved in range(2 * bound + 4):
        loss = UniformNoise(bound).loss(moved)
        assert loss == UniformNoise(bound).loss(Norms(moved, moved**2)) == UniformNoise(bound).loss(moved + 0.5)
        assert isinstance(loss, ApproxLoss) and loss.eps == 0
        assert loss.at_delta == max(hockey_stick(bound, (s,), epsilon) for s in range(moved + 1))


@pytest.mark.parametrize("move", [(1, 1), (2, 1), (3, 3), (1, 1, 1), (9, 1)], ids=str)
def test_a_vector_loses_no_more_than_is_stated(move: tuple[int, ...]) -> None:
    assert hockey_stick(3, move, 0) <= UniformNoise(3).loss(sum(move)).delta(0)


@given(st.integers(1, 10**6), st.fractions(min_value="1/1000000000", max_value="999/1000"))
def test_calibration_takes_the_least_bound(sensitivity: int, delta: Fraction) -> None:
    mechanism = UniformNoise.calibrate(dp.approx(1, delta), sensitivity)
    assert mechanism.loss(sensitivity).fits(dp.approx(1, delta))
    assert mechanism.bound == 0 or not UniformNoise(mechanism.bound - 1).loss(sensitivity).fits(dp.approx(1, delta))


@given(st.integers(0, 500), st.fractions(min_value="1/100", max_value="99/100"))
def test_the_error_is_the_least_that_holds(bound: int, level: Fraction) -> None:
    k = UniformNoise(bound).error(level)
    assert Fraction(2 * k + 1, 2 * bound + 1) >= level
    assert k == 0 or Fraction(2 * k - 1, 2 * bound + 1) < level
    variance = sum(Fraction(x * x, 2 * bound + 1) for x in range(-bound, bound + 1))
    assert UniformNoise(bound).std == pytest.approx(math.sqrt(variance))


def test_every_value_is_as_likely() -> None:
    drawn = UniformNoise(7).release([0] * 200_000)
    counts = [drawn.count(x) for x in range(-7, 8)]
    assert sum(counts) == len(drawn)
    assert stats.chisquare(counts).pvalue > ALARM


@pytest.mark.parametrize("spend", [dp.pure(1), dp.rho(1), dp.mu(1), dp.approx(1, 0)], ids=str)
def test_a_spend_without_a_delta_is_refused(spend: dp.Loss) -> None:
    with pytest.raises(ParameterError, match="delta alone"):
        UniformNoise.calibrate(spend, 1)


@pytest.mark.parametrize("bound", [-1, 1.5, True, None, 2**62])
def test_a_bound_is_a_whole_number_in_range(bound: object) -> None:
    with pytest.raises(ParameterError, match="bound"):
        UniformNoise(bound)  # type: ignore[arg-type]


def test_a_spread_beyond_what_can_be_drawn_is_refused() -> None:
    with pytest.raises(ParameterError, match="bound"):
        UniformNoise.calibrate(dp.approx(1, 1e-30), 1)
