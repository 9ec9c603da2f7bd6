"""Permute-and-flip's exact law, over all small utility vectors and their neighbours."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import PermuteAndFlip
from discreet.privacy import PureLoss, approx, fits, mu, pure, rho

ALARM = 1e-12


def law(mechanism: PermuteAndFlip, utilities) -> list[mpmath.mpf]:
    """From the definition: over all orders, the first to accept."""
    rate = mpmath.mpf(float(mechanism.epsilon / mechanism.sensitivity)) / (1 if mechanism.monotone else 2)
    stop = [mpmath.exp(-rate * (max(utilities) - u)) for u in utilities]
    picked = [mpmath.mpf(0)] * len(utilities)
    orders = list(permutations(range(len(utilities))))
    for order in orders:
        reached = mpmath.mpf(1) / len(orders)
        for i in order:
            picked[i] += reached * stop[i]
            reached *= 1 - stop[i]
    return picked


def exponential_law(mechanism: PermuteAndFlip, utilities) -> list[mpmath.mpf]:
    rate = mpmath.mpf(float(mechanism.epsilon / mechanism.sensitivity)) / (1 if mechanism.monotone else 2)
    weights = [mpmath.exp(rate * (u - max(utilities))) for u in utilities]
    return [weight / mpmath.fsum(weights) for weight in weights]


def neighbours(utilities, *, monotone: bool):
    for move in [(0, 1), (0, -1)] if monotone else [(-1, 0, 1)]:
        for step in product(move, repeat=len(utilities)):
            yield tuple(u + s for u, s in zip(utilities, step, strict=True))


@pytest.mark.sampled
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("candidates", [2, 3])
def test_stated_epsilon_by_enumeration(epsilon, candidates, monotone) -> None:
    mechanism = PermuteAndFlip(epsilon, 1, monotone=monotone)
    stated, worst = float(mechanism.epsilon), 0.0
    for utilities in product((0, 1, 2, 5), repeat=candidates):
        p = law(mechanism, utilities)
        for other in neighbours(utilities, monotone=monotone):
            worst = max(worst, *(abs(float(mpmath.log(a / b))) for a, b in zip(p, law(mechanism, other), strict=True)))
    assert worst <= stated * (1 + 1e-12)
    assert worst >= stated * (1 - 1e-12)  # attained with two candidates


def test_not_monotone_utilities_break_the_monotone_claim() -> None:
    mechanism = PermuteAndFlip(1, 1, monotone=True)
    assert float(mpmath.log(law(mechanism, (2, 1))[1] / law(mechanism, (3, 0))[1])) > 1.99


def test_it_has_no_bounded_range() -> None:
    mechanism = PermuteAndFlip(1, 1)
    losses = [float(mpmath.log(a / b)) for a, b in zip(law(mechanism, (0, 0)), law(mechanism, (1, -1)), strict=True)]
    assert max(losses) - min(losses) > 1.48


@pytest.mark.sampled
@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
@pytest.mark.parametrize("monotone", [False, True])
def test_never_worse_than_the_exponential_mechanism(epsilon, monotone) -> None:
    """Expected error and every tail, on every utility vector of four candidates in 0 … 4."""
    mechanism = PermuteAndFlip(epsilon, 1, monotone=monotone)
    strictly = 0
    for others in product(range(5), repeat=3):
        utilities = (*others, 4)
        ours, theirs = law(mechanism, utilities), exponential_law(mechanism, utilities)
        for least in range(1, 5):
            bad = [4 - u >= least for u in utilities]
            mine = mpmath.fsum(p for p, b in zip(ours, bad, strict=True) if b)
            other = mpmath.fsum(p for p, b in zip(theirs, bad, strict=True) if b)
            assert mine <= other + mpmath.mpf(10) ** -14
        errors = [mpmath.fsum(p * (4 - u) for p, u in zip(q, utilities, strict=True)) for q in (ours, theirs)]
        assert errors[0] <= errors[1] + mpmath.mpf(10) ** -14
        strictly += errors[0] < errors[1] * 0.9999
    assert strictly > 100


def test_what_is_run_has_that_law() -> None:
    """Coins at once and a uniform pick among the acceptors, enumerated over all coins."""
    mechanism, utilities = PermuteAndFlip("1.3", 1), (0, 3, 1, 3)
    stop = [mpmath.exp(-mpmath.mpf(float(mechanism.epsilon)) / 2 * (3 - u)) for u in utilities]
    picked = [mpmath.mpf(0)] * 4
    for coins in product([False, True], repeat=4):
        chance = mpmath.fprod(s if coin else 1 - s for s, coin in zip(stop, coins, strict=True))
        for i in np.flatnonzero(coins):
            picked[i] += chance / sum(coins)
    assert all(abs(a - b) < 1e-14 for a, b in zip(picked, law(mechanism, utilities), strict=True))


@pytest.mark.parametrize("draws", [4_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_frequencies_follow_the_law(draws: int) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square, 100 or more expected per candidate)."""
    mechanism, utilities = PermuteAndFlip("1.3", 2), [0, 1.5, 3, 3, -2]
    picked = np.bincount([mechanism.release(utilities) for _ in range(draws)], minlength=5)
    expected = np.array([float(p) for p in law(mechanism, utilities)])
    assert stats.chisquare(picked, expected / expected.sum() * draws).pvalue > ALARM


@pytest.mark.parametrize(
    ("spend", "epsilon"), [(pure("0.3"), "0.3"), (approx("0.3", "1e-6"), "0.3"), (rho("0.5", "1e-6"), "1")]
)
def test_calibration(spend, epsilon) -> None:
    mechanism = PermuteAndFlip.calibrate(spend, 7, monotone=True)
    assert mechanism == PermuteAndFlip(epsilon, 7, monotone=True)
    assert mechanism.loss() == PureLoss(Fraction(epsilon))
    assert fits(mechanism.loss(), spend)


def test_calibration_to_mu() -> None:
    assert fits(PermuteAndFlip.calibrate(mu("0.5"), 1).loss(), mu("0.5"))


@pytest.mark.parametrize("spend", [PureLoss(Fraction(0)), 0 * PureLoss(Fraction(1))])
def test_a_spend_of_nothing_is_refused(spend) -> None:
    with pytest.raises(ParameterError, match="spend"):
        PermuteAndFlip.calibrate(spend, 1)


@pytest.mark.parametrize("utilities", [[], [1.0, math.nan], [math.inf, 0.0], "ab", [1, None]])
def test_what_is_not_a_finite_number_is_refused_before_anything_is_drawn(utilities, monkeypatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.selection._permute_and_flip.bernoulli_exp", None)
    with pytest.raises(ParameterError, match="utilities must be"):
        PermuteAndFlip(1, 1).release(utilities)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0, 1), (1, 0), (math.nan, 1), (1, math.inf)])
def test_bad_parameters_are_refused(epsilon, sensitivity) -> None:
    with pytest.raises(ParameterError, match=r"epsilon|sensitivity"):
        PermuteAndFlip(epsilon, sensitivity)


def test_certain_candidates_and_the_error_bound() -> None:
    assert PermuteAndFlip(1, 1).release([0, 10**6, 0]) == 1
    mechanism = PermuteAndFlip("0.5", 1)
    reach = mechanism.error("0.9", candidates=3)
    for utilities in product(range(0, 60, 6), repeat=3):
        p = law(mechanism, utilities)
        assert sum(q for q, u in zip(p, utilities, strict=True) if max(utilities) - u > reach) <= 0.1
