"""Staircase noise: its loss by enumeration, its optimality against all other noises, its error."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteLaplace, Staircase
from discreet.privacy import PureLoss, fits
from discreet.sensitivity import Norms


def weight(mechanism: Staircase, x: int) -> mpmath.mpf:
    """Geng and Viswanath's definition, stair by stair; not normalised."""
    stair, place = divmod(abs(x), mechanism.sensitivity)
    epsilon = mpmath.mpf(mechanism.epsilon.numerator) / mechanism.epsilon.denominator
    return mpmath.exp(-epsilon * (stair if place < mechanism.step else stair + 1))


CASES = [(epsilon, width, step) for epsilon in ("1/4", "1", "5") for width, step in [(1, 1), (2, 1), (5, 2), (7, 7)]]


@pytest.mark.parametrize(("epsilon", "width", "step"), CASES)
def test_the_loss_is_the_worst_log_ratio(epsilon: str, width: int, step: int) -> None:
    """For a move of k: the largest ratio over all answers; the sum over all integers does not depend on the value."""
    mechanism = Staircase(epsilon, width, step)
    with mpmath.workdps(60):
        w = {x: weight(mechanism, x) for x in range(-12 * width, 12 * width + 1)}
        for k in range(3 * width + 2):
            worst = max(abs(mpmath.log(w[x] / w[x - k])) for x in range(-8 * width, 8 * width + 1))
            claimed = mechanism.loss(k)
            assert claimed == mechanism.loss(Fraction(k) + Fraction(1, 2))
            assert abs(mpmath.mpf(claimed.eps.numerator) / claimed.eps.denominator - worst) < mpmath.mpf(10) ** -50


@pytest.mark.parametrize("l1", [0, 1, 3, 6])
def test_several_entries_cost_what_the_worst_split_does(l1: int) -> None:
    mechanism = Staircase(2, 4, 2)
    splits = [m for m in product(range(l1 + 1), repeat=max(l1, 1)) if sum(m) == l1] if l1 < 4 else [(1,) * l1, (2, 4)]
    worst = max(sum(mechanism.loss(each).eps for each in split) for split in splits)
    assert mechanism.loss(Norms(l1, l1 * l1)).eps == worst == 2 * l1


@pytest.mark.parametrize(("epsilon", "width"), [("0.3", 3), ("1", 4), ("2", 5), ("4", 6), ("8", 5)])
@pytest.mark.parametrize("least", ["absolute", "squared"])
def test_no_other_noise_with_that_epsilon_errs_less(epsilon: str, width: int, least: str) -> None:
    """A linear program over all symmetric laws on −R … R. What is beyond R is left free, which only helps them."""
    eps, power = float(epsilon), 1 if least == "absolute" else 2
    mechanism = Staircase(epsilon, width, least)
    reach = int(14 / eps + 4) * width
    grown = np.exp(eps)
    cost = 2 * np.arange(reach + 1.0) ** power
    total = np.full(reach + 1, 2.0)
    total[0] = 1.0
    rows = []
    for x, k in product(range(reach + 1), range(1, width + 1)):
        for other in {abs(x - k), x + k}:
            if other <= reach:
                row = np.zeros(reach + 1)
                row[x] += 1
                row[other] -= grown
                rows.append(row)
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=[total], b_eq=[1.0], method="highs")
    x = np.arange(-40 * reach, 40 * reach + 1)
    law = np.exp(-eps * ((np.abs(x) + width - mechanism.step) // width))
    mean = float((law * np.abs(x) ** float(power)).sum() / law.sum())
    assert found.fun <= mean <= found.fun * 1.001 + 1e-9


@pytest.mark.parametrize(
    ("epsilon", "width"),
    [
        ("1/4", 9),
        ("3", 17),
        *(pytest.param(*each, marks=pytest.mark.soak) for each in (("1", 10), ("6", 40), ("20", 25))),
    ],
)
def test_the_step_is_the_best_of_all(epsilon: str, width: int) -> None:
    for least, power in (("absolute", 1), ("squared", 2)):
        means = []
        with mpmath.workdps(50):
            for step in range(1, width + 1):
                mechanism = Staircase(epsilon, width, step)
                reach = int(130 / float(Fraction(epsilon)) + 2) * width
                w = [weight(mechanism, x) for x in range(reach)]
                total = 2 * mpmath.fsum(w) - w[0]
                means.append(2 * mpmath.fsum(p * x**power for x, p in enumerate(w)) / total)
                if power == 2 and step in {1, width // 2, width}:
                    assert mechanism.std == pytest.approx(float(mpmath.sqrt(means[-1])), rel=1e-12)
        best = means.index(min(means)) + 1
        assert Staircase(epsilon, width, least).step == best
        rising = [b >= a for a, b in pairwise(means)]
        assert rising == sorted(rising)  # falls, then rises: what the search relies on


def test_for_sensitivity_one_it_is_discrete_laplace_noise() -> None:
    for epsilon in ("1/1000", "0.7", 3, 900):
        stairs, laplace = Staircase(epsilon, 1), DiscreteLaplace(1 / Fraction(epsilon))
        assert stairs.step == 1
        assert stairs.loss(3) == laplace.loss(3)
        assert stairs.std == pytest.approx(laplace.std, rel=1e-9)
        assert [stairs.error(level) for level in (0.5, 0.95, 0.9999)] == [
            laplace.error(level) for level in (0.5, 0.95, 0.9999)
        ]


@pytest.mark.parametrize(("epsilon", "width", "step"), [*CASES, ("30", 50, 1), ("1/40", 3, 2)])
def test_error_is_the_least_that_holds(epsilon: str, width: int, step: int) -> None:
    mechanism = Staircase(epsilon, width, step)
    with mpmath.workdps(60):
        reach = int(140 / float(Fraction(epsilon)) + 3) * width
        w = [weight(mechanism, x) for x in range(reach)]
        total = 2 * mpmath.fsum(w) - w[0]
        for level in ("0.01", "0.5", "0.95", "0.999999"):
            k = mechanism.error(level)
            wanted = mpmath.mpf(Fraction(level).numerator) / Fraction(level).denominator * total
            inside = 2 * mpmath.fsum(w[: k + 1]) - w[0]
            assert inside >= wanted * (1 - mpmath.mpf(10) ** -40)
            assert k == 0 or inside - 2 * w[k] < wanted


def test_calibration() -> None:
    for spend in (dp.pure("0.3"), dp.approx("0.3", 1e-9), dp.rho("0.045"), dp.mu("0.3"), dp.mu("0.3", 1e-6)):
        mechanism = Staircase.calibrate(spend, 12)
        assert mechanism.sensitivity == 12
        assert fits(mechanism.loss(12), spend)
        assert not fits(PureLoss(mechanism.epsilon * Fraction(1001, 1000)), spend)
    assert Staircase.calibrate(dp.pure(5), 100, step="squared").step == 15
    assert Staircase.calibrate(dp.pure(2), "7/2").sensitivity == 3
    vector = Staircase.calibrate(dp.pure(2), Norms(4, 16))
    assert (vector.epsilon, vector.sensitivity) == (Fraction(1, 2), 1)
    assert vector.loss(Norms(4, 16)) == PureLoss(Fraction(2))
    assert Staircase.calibrate(dp.pure(10**6), 3).epsilon == 1000
    for nothing in (0, "0.9", Norms(0, 0)):
        assert Staircase.calibrate(dp.pure(1), nothing).loss(nothing) == PureLoss(Fraction(0))


def test_extremes() -> None:
    assert Staircase("1e-10", 10**6).error() == pytest.approx(10**16 * 2.995732, rel=1e-6)
    assert Staircase(1000, 2**56).step == 1
    assert Staircase("1/1000", 2**46).std == pytest.approx(1000 * 2**46.5, rel=1e-3)
    assert Staircase(2**-56, 1).error(0.5) > 2**55
    assert Staircase(1000, 7).release([2**70, -5]) == [2**70, -5]


@pytest.mark.parametrize(
    "bad",
    [
        (0, 1), (-1, 1), (1001, 1), (float("nan"), 1), (float("inf"), 1), ("x", 1), (True, 1), (1, 0), (1, 1.5),
        (1, True), (1, "3"), (1, 2**56 + 1), ("0.5", 2**56), (1, 5, 0), (1, 5, 6), (1, 5, "mean"), (1, 5, True),
        (1, 5, None), (1, 5, [1]),
    ],
    ids=str,
)  # fmt: skip
def test_bad_arguments_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        Staircase(*bad)


def test_bad_calls_are_refused() -> None:
    for sensitivity in (-1, float("nan"), "x", None, 10**30):
        with pytest.raises(ParameterError):
            Staircase.calibrate(dp.pure(1), sensitivity)
    for sensitivity in (-1, float("inf"), True):
        with pytest.raises(ParameterError):
            Staircase(1, 5).loss(sensitivity)
    for level in (0, 1, True, "x"):
        with pytest.raises(ParameterError, match="level"):
            Staircase(1, 5).error(level)
