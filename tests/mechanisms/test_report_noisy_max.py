"""Report noisy max: its law, summed over the noise, against the stated loss and against the mechanisms it is run as."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from discreet.errors import ParameterError
from discreet.mechanisms import Exponential, PermuteAndFlip, ReportNoisyMax
from discreet.privacy import BoundedRangeLoss, PureLoss, approx, fits, pure, rho

ALARM = 1e-12
NOISES = ["gumbel", "exponential", "laplace"]


def laplace_law(scale: float, utilities) -> np.ndarray:
    """By summing over the winner's noisy utility: those before it stay below, those after it do not exceed it."""
    reach = math.ceil(45 * scale)
    grid = np.arange(min(utilities) - reach, max(utilities) + reach + 1)
    q = math.exp(-1 / scale)
    mass = [np.exp(-np.abs(grid - u) / scale) * (1 - q) / (1 + q) for u in utilities]
    up_to = [
        np.where(grid >= u, 1 - np.exp(-(grid - u + 1) / scale) / (1 + q), np.exp(-(u - grid) / scale) / (1 + q))
        for u in utilities
    ]
    count = len(utilities)
    return np.array(
        [
            (mass[i] * np.prod([up_to[j] - (mass[j] if j < i else 0) for j in range(count) if j != i], axis=0)).sum()
            for i in range(count)
        ]
    )


def neighbours(utilities, *, monotone: bool):
    for move in [(0, 1), (0, -1)] if monotone else [(-1, 0, 1)]:
        for step in product(move, repeat=len(utilities)):
            yield tuple(u + s for u, s in zip(utilities, step, strict=True))


@pytest.mark.sampled
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
@pytest.mark.parametrize("candidates", [2, 3])
def test_stated_epsilon_of_laplace_noise_by_enumeration(epsilon, candidates, monotone) -> None:
    mechanism = ReportNoisyMax(epsilon, 1, "laplace", monotone=monotone)
    worst = 0.0
    for utilities in product((0, 1, 4), repeat=candidates):
        p = laplace_law(float(mechanism.scale), utilities)
        assert p.sum() == pytest.approx(1)
        for other in neighbours(utilities, monotone=monotone):
            worst = max(worst, float(np.abs(np.log(p / laplace_law(float(mechanism.scale), other))).max()))
    assert float(mechanism.epsilon) / 2 < worst <= float(mechanism.epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["0.3", "1"])
def test_stated_epsilon_of_laplace_noise_is_approached(epsilon) -> None:
    """P(Z₀ − Z₁ ≥ x), by a sum that never leaves the logarithms, at a gap of thousands of scales."""
    mechanism = ReportNoisyMax(epsilon, 1, "laplace")
    scale = float(mechanism.scale)

    def log_behind(gap: int) -> float:
        """ln P(the first, which is `gap` behind, wins): its noise is z, the other's at most z − gap."""
        z = np.arange(-math.ceil(50 * scale), gap + math.ceil(50 * scale) + 1)
        q = math.exp(-1 / scale)
        log_mass = -np.abs(z) / scale + math.log((1 - q) / (1 + q))
        x = z - gap
        with np.errstate(over="ignore"):
            upper = np.log1p(-np.exp(-(np.maximum(x, 0) + 1) / scale) / (1 + q))
        log_up_to = np.where(x >= 0, upper, x / scale - math.log1p(q))
        return float(np.logaddexp.reduce(log_mass + log_up_to))

    gap = math.ceil(6000 * scale)
    assert log_behind(gap) - log_behind(gap + 2) <= float(mechanism.epsilon)
    assert log_behind(gap) - log_behind(gap + 2) >= float(mechanism.epsilon) / 1.001


@pytest.mark.parametrize("utilities", [(0, 1), (2, 0, 2), (0, 3, 1, 1)])
@pytest.mark.parametrize("monotone", [False, True])
def test_gumbel_and_exponential_noise_have_the_laws_of_what_is_run(utilities, monotone) -> None:
    """By quadrature over the winner's noisy utility, within 1e-9."""
    epsilon = 1.3
    scale = (1 if monotone else 2) / epsilon
    gaps = [(u - max(utilities)) / scale for u in utilities]
    weights = [math.exp(g) for g in gaps]

    def others(i: int) -> list[float]:
        return [gap - gaps[i] for j, gap in enumerate(gaps) if j != i]

    def gumbel(i: int) -> float:
        def density(z: float) -> float:
            return math.exp(-z - math.exp(-z)) * math.prod(math.exp(-math.exp(g - z)) for g in others(i))

        return integrate.quad(density, -6, 60, epsabs=1e-12, limit=200)[0]

    def exponential(i: int) -> float:
        def density(z: float) -> float:
            return math.exp(-z) * math.prod(-math.expm1(min(0.0, g - z)) for g in others(i))

        return integrate.quad(density, -gaps[i], 60, epsabs=1e-12, limit=200)[0]

    assert [gumbel(i) for i in range(len(utilities))] == pytest.approx([w / sum(weights) for w in weights], abs=1e-9)
    flips = [mpmath.mpf(0)] * len(utilities)
    for coins in product([False, True], repeat=len(utilities)):
        chance = math.prod(w if coin else 1 - w for w, coin in zip(weights, coins, strict=True))
        for i in np.flatnonzero(coins):
            flips[i] += chance / sum(coins)
    assert [exponential(i) for i in range(len(utilities))] == pytest.approx([float(f) for f in flips], abs=1e-9)


def test_gumbel_and_exponential_noise_are_run_as_their_equals() -> None:
    assert ReportNoisyMax(1, 3, "gumbel", monotone=True)._same == Exponential(1, 3, monotone=True)
    assert ReportNoisyMax(1, 3, "exponential")._same == PermuteAndFlip(1, 3)


def test_loss_and_calibration() -> None:
    assert [ReportNoisyMax("0.7", 1, noise).loss() for noise in NOISES] == [
        BoundedRangeLoss(Fraction(7, 10)), PureLoss(Fraction(7, 10)), PureLoss(Fraction(7, 10)),
    ]  # fmt: skip
    for noise in NOISES:
        for spend in (pure("0.3"), approx("0.3", 1e-6), rho("0.3")):
            assert fits(ReportNoisyMax.calibrate(spend, 7, noise=noise, monotone=True).loss(), spend)
    assert ReportNoisyMax(1, 3, "laplace").scale == 6
    assert ReportNoisyMax(1, 3, "laplace", monotone=True).scale == 3
    assert ReportNoisyMax(10**6, 1, "laplace").scale == Fraction(1, 1000)


def test_frequencies_of_laplace_noise() -> None:
    """Fails by chance with probability 1e-12 or so (chi-square, 100 or more expected per candidate)."""
    mechanism, utilities, draws = ReportNoisyMax("1.3", 1, "laplace"), [0, 2, 1, 2, -2], 10_000
    picked = np.bincount([mechanism.release(utilities) for _ in range(draws)], minlength=5)
    expected = laplace_law(float(mechanism.scale), utilities)
    assert stats.chisquare(picked, expected / expected.sum() * draws).pvalue > ALARM


@pytest.mark.parametrize("noise", NOISES)
def test_certain_candidates(noise) -> None:
    assert ReportNoisyMax(1000, 1, noise).release([0, 2**100, 7]) == 1
    assert ReportNoisyMax(1000, 1, noise).release(np.array([0, 1, 7], dtype=np.int16)) == 2
    assert ReportNoisyMax(10**6, 1, "laplace").release([1, 3, 3]) == 1


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("utilities", [[], [math.nan, 1.0], [math.inf, 0.0], [None, 1]])
def test_bad_utilities_are_refused(noise, utilities) -> None:
    with pytest.raises(ParameterError):
        ReportNoisyMax(1, 1, noise).release(utilities)


def test_laplace_noise_takes_whole_numbers_only() -> None:
    with pytest.raises(ParameterError, match="whole numbers"):
        ReportNoisyMax(1, 1, "laplace").release([0.5, 1.0])


@pytest.mark.parametrize("how", [(0, 1), (1, 0), (1, 1, "gaussian"), ("1e-20", 1, "laplace")])
def test_bad_parameters_are_refused(how) -> None:
    with pytest.raises(ParameterError):
        ReportNoisyMax(*how)


def test_error_of_laplace_noise_holds_exactly() -> None:
    mechanism = ReportNoisyMax(1, 1, "laplace")
    reach = mechanism.error("0.9", candidates=3)
    for utilities in product(range(0, 40, 8), repeat=3):
        p = laplace_law(float(mechanism.scale), utilities)
        assert sum(q for q, u in zip(p, utilities, strict=True) if max(utilities) - u > reach) <= 0.1
