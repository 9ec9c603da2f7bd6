"""Worst-case noise: how far neighbours are apart before it, and how far the answer is from the truth after it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GlobalSensitivity,
    ProposeTestRelease,
    SmoothSensitivity,
)
from discreet.mechanisms.statistics import _global as _global_sensitivity
from discreet.mechanisms.statistics._answer import answer
from discreet.sensitivity import Norms

BOUNDS = (-1, 2)
VALUES = (-1.0, -0.3, 0.5, 2.0, 7.0, math.nan)


def neighbours(most: int, relation: str):
    for n in range(most + 1):
        for x in itertools.combinations_with_replacement(VALUES, n):
            if relation == "add_remove":
                yield from ((x, (*x, fresh)) for fresh in VALUES)
            else:
                yield from ((x, (*x[:i], fresh, *x[i + 1 :])) for i in range(n) for fresh in VALUES)


@pytest.mark.parametrize("fineness", [3, 2**28])
def test_a_mean_moves_by_one_record_and_no_more(monkeypatch, fineness) -> None:
    monkeypatch.setattr(_global_sensitivity, "_FINENESS", fineness)
    for relation in ("add_remove", "substitute"):
        mean = GlobalSensitivity("mean", bounds=BOUNDS, spend=dp.pure(1), relation=relation)
        moves = set()
        for x, y in neighbours(4, relation):
            (a, b), (c, d) = mean._sums(x), mean._sums(y)
            moves.add(abs(a - c) + abs(b - d) if relation == "add_remove" else abs(a - c))
            if relation == "substitute":
                assert a + b == c + d == fineness * len(x)
        assert max(moves) == fineness
        assert mean.noise.loss(Norms(fineness, fineness**2)) == dp.pure(1)


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("statistic", ["sum", "count", "variance", "median", "max", "count_distinct"])
def test_a_number_moves_by_its_sensitivity_and_no_more(statistic, relation) -> None:
    if (statistic, relation) == ("count", "substitute"):
        with pytest.raises(ParameterError, match="needs no noise"):
            GlobalSensitivity(statistic, bounds=BOUNDS, spend=dp.pure(1), relation=relation)
        return
    worst = GlobalSensitivity(statistic, bounds=BOUNDS, spend=dp.pure(1), relation=relation)
    most = max(
        abs(math.floor(before / worst.step + Fraction(1, 2)) - math.floor(after / worst.step + Fraction(1, 2)))
        for x, y in neighbours(3, relation)
        for before in [answer(worst.statistic, x, BOUNDS, worst.step)]
        for after in [answer(worst.statistic, y, BOUNDS, worst.step)]
    )
    allowed = worst.noise.scale
    assert 0.9 * allowed <= most <= allowed


@pytest.mark.parametrize(
    ("spend", "noise"),
    [
        (dp.pure(1), DiscreteLaplace),
        (dp.approx(1, 1e-6), DiscreteLaplace),
        (dp.approx("0.01", "0.01"), Gaussian),
        (dp.rho("0.1"), DiscreteGaussian),
        (dp.mu("0.5"), Gaussian),
    ],
    ids=str,
)
def test_the_noise_fits_the_currency(spend, noise) -> None:
    for statistic, moves in (("mean", Norms(2**28, 2**56)), ("sum", None)):
        worst = GlobalSensitivity(statistic, bounds=BOUNDS, spend=spend)
        assert isinstance(worst.noise, noise)
        moved = moves or Norms(2**28 + 1, (2**28 + 1) ** 2)
        assert worst.noise.loss(moved).fits(worst.loss())
        assert worst.loss().fits(spend)
        assert not worst.noise.loss(Norms(2 * moved.l1, 4 * moved.l2_squared)).fits(spend)


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_errors_cover(relation) -> None:
    """100 answers beyond the half-width of level 1 − 1e-12: less than 1e-9 of all runs would show one."""
    x = [0.0, 1.0] * 500
    for statistic, truth, known in (("mean", 0.5, {"records": 1000}), ("sum", 500.0, {}), ("variance", 0.25, {})):
        worst = GlobalSensitivity(statistic, bounds=(0, 1), spend=dp.pure(2), relation=relation)
        half = worst.error(1 - 1e-12, **known)
        errors = [abs(worst.release(x) - truth) for _ in range(100)]
        assert max(errors) <= half
        assert max(errors) > half / 100


def test_two_sums_err_half_as_much_as_a_sum_over_a_count() -> None:
    """Mean square of 4,000 answers against ((1 − p)² + p²) v/n²: 20 standard deviations of it, 1e-9 and far below."""
    for p, share in ((0.5, 0.5), (1.0, 1.0)):
        x = np.full(1000, p)
        mean = GlobalSensitivity("mean", bounds=(0, 1), spend=dp.pure(4))
        inside = np.array([mean.release(x) - p for _ in range(4000)])
        expected = share * mean.noise.std**2 / 2.0**56 / 1000**2
        if p == 0.5:
            assert abs(np.mean(inside**2) / expected - 1) < 20 * math.sqrt(5 / 4000)
        else:  # clamped to the bounds: half of the distribution is cut to no error
            assert np.mean(inside**2) < 0.7 * expected


def test_extremes() -> None:
    for data in ([], [math.nan], [math.inf] * 3, [None, "x"], np.array([1e308] * 5)):
        for relation in ("add_remove", "substitute"):
            answers = GlobalSensitivity("mean", bounds=BOUNDS, spend=dp.pure(1), relation=relation).release(data)
            assert -1 <= answers <= 2
    assert (
        GlobalSensitivity("mean", bounds=(-(2**1000), 2**1000), spend=dp.pure(1e6)).release([2**1000] * 50) > 2.0**999
    )
    assert abs(GlobalSensitivity("mean", bounds=(0, 5e-324), spend=dp.pure(1)).release([0] * 50)) <= 5e-324
    with pytest.raises(ParameterError, match="needs records"):
        GlobalSensitivity("mean", bounds=BOUNDS, spend=dp.pure(1)).error()
    assert GlobalSensitivity("mean", bounds=BOUNDS, spend=dp.pure("0.01")).error(records=3) == math.inf
    for wrong in ({"bounds": (1, 1)}, {"bounds": BOUNDS, "relation": "other"}, {}):
        with pytest.raises(ParameterError):
            GlobalSensitivity("mean", spend=dp.pure(1), **wrong)
    with pytest.raises(ParameterError, match="category"):
        GlobalSensitivity(dp.sensitivity.Mode(("a", "b")), spend=dp.pure(1))


def test_a_list_of_bounds_may_change_later() -> None:
    """Noise is made for the bounds at that time: with later ones a record would move the sum by more."""
    bounds = [0, 1]
    kinds = [
        GlobalSensitivity("sum", bounds=bounds, spend=dp.pure(1)),
        SmoothSensitivity("median", bounds=bounds, spend=dp.pure(1)),
        ProposeTestRelease("median", bound=1, bounds=bounds, spend=dp.approx(1, 1e-6)),
    ]
    bounds[1] = 10**6
    assert {each.bounds for each in kinds} == {(0, 1)}
    assert abs(kinds[0].release([10**6] * 3)) < 100
