"""Log-normal noise for smooth sensitivity: Rényi divergences by integrating the densities, against the stated ρ."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy import special

from discreet.mechanisms import SmoothSensitivity
from discreet.mechanisms.statistics._dilation import _ROOT, fit_log_normal, log_normal_rate, steepest
from discreet.privacy import RhoLoss, rho

NOISES = ["uniform_log_normal", "laplace_log_normal"]
ALPHAS = (1.01, 1.5, 2, 3, 5, 10, 20, 60, 200, 1000)
FARTHEST = 12  # deviations of Y by which an α may tilt it: grids reach 20
NORMAL = np.linspace(-24, 24, 401)
WEIGHT = np.exp(-(NORMAL**2) / 2) / np.exp(-(NORMAL**2) / 2).sum()


def log_density(noise: str, sigma: float, z):
    """Of X · e**(σY): for Laplace X as a mixture over Y, by a trapezoid rule whose error is below 1e-13."""
    z = np.abs(z)
    if noise == "uniform_log_normal":
        with np.errstate(divide="ignore"):
            return sigma**2 / 2 - math.log(2) + special.log_ndtr(-np.log(z) / sigma - sigma)
    rates = np.exp(-sigma * NORMAL)
    return special.logsumexp(-np.outer(z, rates), b=WEIGHT * rates / 2, axis=1)


def spent(noise: str, sigma: float, rate: float, beta: float) -> float:
    """The largest D_α / α found over moves of up to the smaller S, stretches of up to e**beta, both ways."""
    found, end = 0.0, math.asinh(1e5 * math.exp(20 * sigma))
    grid = 1e-4 * np.sinh(np.linspace(-end, end, 5001))
    narrow = log_density(noise, sigma, grid)
    for stretch, move in ((1, 1), (1, 0), (0.5, 1), (0, 1), (1, 0.5)):
        wider = math.exp(beta * stretch)
        wide = log_density(noise, sigma, (grid - rate * move) / wider) - math.log(wider)
        for here, there in ((narrow, wide), (wide, narrow)):
            for alpha in ALPHAS:
                if (alpha - 1) * beta > FARTHEST * sigma or alpha * np.abs(here - there).max() > 600:
                    continue
                first_order = alpha * np.exp(here) + (1 - alpha) * np.exp(there)  # integrates to 1
                second = np.exp(alpha * here + (1 - alpha) * there) - first_order
                found = max(found, math.log1p(np.trapezoid(second, grid)) / (alpha - 1) / alpha)
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("share", [None, 0.05, 0.6, 1.3])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "paid", ["0.001", "3", *(pytest.param(each, marks=pytest.mark.soak) for each in ("0.1", "0.5"))]
)
def test_loss_is_within_the_spend(noise, paid: str, share) -> None:
    """The ratios are those of proofs/smooth_sensitivity.md, Tightness."""
    beta = None if share is None else share * math.sqrt(2 * float(paid))
    mechanism = SmoothSensitivity("median", bounds=(0, 1), spend=rho(paid), noise=noise, beta=beta)
    found = spent(noise, float(mechanism.sigma), float(mechanism.rate), float(mechanism.beta))
    assert 1.15 < float(paid) / found < {"uniform_log_normal": 2.6, "laplace_log_normal": 3.7}[noise]
    assert mechanism.loss() == RhoLoss(Fraction(paid), Fraction(0))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("noise", NOISES)
def test_a_larger_beta_would_be_false(noise) -> None:
    for sigma in (1.0, 2.0):
        assert spent(noise, sigma, 1e-6, sigma) <= 0.5 < spent(noise, sigma, 1e-6, 1.15 * sigma)
    assert spent(noise, 0.5, 1e-6, 1 / 0.5) > 0.5  # σ for 1/σ


def test_a_larger_rate_would_be_false() -> None:
    """Of the uniform factor with e**(σ²/2) for e**(3σ²/2), or no factor at all; of the Laplace factor by a tenth."""
    for sigma, more in ((1.0, math.e), (0.8, float(steepest("uniform_log_normal", Fraction("0.8"))))):
        rate = 1 / float(steepest("uniform_log_normal", Fraction(sigma).limit_denominator(20)))
        assert (
            spent("uniform_log_normal", sigma, rate, 1e-6)
            <= 0.5
            < spent("uniform_log_normal", sigma, rate * more, 1e-6)
        )
    rate = 0.1 / float(steepest("laplace_log_normal", Fraction(1, 20)))
    assert spent("laplace_log_normal", 0.05, rate, 1e-9) <= 0.005
    assert spent("laplace_log_normal", 0.05, rate * 1.1, 1e-9) > 0.005


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("sigma", ["0.8", "0.85", "1", "1.35", "2", "3"])
def test_slope_of_the_log_density(noise, sigma: str) -> None:
    with mpmath.workdps(40):
        s, claimed = mpmath.mpf(sigma), steepest(noise, Fraction(sigma))
        if noise == "laplace_log_normal":
            true = mpmath.exp(3 * s**2 / 2)
        else:
            at = mpmath.findroot(partial(lambda s, w: hazard(w) - w - s, s), -s / 2)
            true = mpmath.exp(s**2 - s * at) * hazard(at) / s
        assert true <= mpmath.mpf(claimed.numerator) / claimed.denominator
        allowed = {"uniform_log_normal": 1.0001 if s == mpmath.mpf("0.8") else 2.1, "laplace_log_normal": 1.0001}
        assert float(claimed) <= float(true) * allowed[noise]
    z = np.concatenate([np.linspace(1e-9, 4, 4000), np.logspace(-9, 3, 2000)])
    step = 1e-6 * z
    slopes = (log_density(noise, float(sigma), z) - log_density(noise, float(sigma), z + step)) / step
    assert float(slopes[z > 1e-4].max()) <= float(claimed) * (1 + 1e-4)


def hazard(w):
    return mpmath.npdf(w) / (mpmath.erfc(w / mpmath.sqrt(2)) / 2)


def test_root_of_two_over_pi() -> None:
    with mpmath.workdps(30):
        low, high = (mpmath.mpf(each.numerator) / each.denominator for each in _ROOT)
        assert low < mpmath.sqrt(2 / mpmath.pi) < high


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("paid", ["1e-12", "1e-3", "0.5", "20", "1e12"])
def test_rate_is_the_largest_and_above_the_published(noise, paid: str) -> None:
    """Bun and Steinke 2019 charge (β/σ + rate · steepest)²/2."""
    found, beta, sigma, rate = fit_log_normal((noise,), Fraction(paid), None)
    assert found == noise
    slope = steepest(noise, sigma)
    whole = (beta / sigma) ** 2 + (rate * slope) ** 2
    assert 2 * Fraction(paid) * (1 - Fraction(1, 10**10)) <= whole <= 2 * Fraction(paid)
    published = (math.sqrt(2 * float(paid)) - float(beta / sigma)) / float(slope)
    assert float(rate) >= 2 * published


def test_the_noise_of_the_least_deviation_is_taken() -> None:
    def deviation(noise: str, beta: str) -> float:
        _, _, sigma, rate = fit_log_normal((noise,), Fraction(1, 2), Fraction(beta))
        return math.exp(sigma**2) * math.sqrt({"uniform_log_normal": 1 / 3, "laplace_log_normal": 2}[noise]) / rate

    for beta in ("1e-6", "0.1", "0.3", "0.7", "2"):
        taken = SmoothSensitivity("median", bounds=(0, 1), spend=rho("0.5"), beta=beta)
        assert deviation(taken.noise, beta) == min(deviation(noise, beta) for noise in NOISES)
    usual = SmoothSensitivity("median", bounds=(0, 1), spend=rho("0.5"))
    assert (usual.noise, usual.sigma) == ("uniform_log_normal", Fraction(4, 5))


def test_deviation_of_the_default_against_student() -> None:
    """In units of S β / 2ρ: 5.18 here, 10.43 with a Laplace factor, 20.86 as published, 14.1 for pure Student noise."""
    paid = Fraction(1, 10**6)
    for noise, variance, expected in (("uniform_log_normal", 1 / 3, 5.178), ("laplace_log_normal", 2, 10.428)):
        _, beta, sigma, rate = fit_log_normal((noise,), paid, None)
        assert math.sqrt(variance) * math.exp(sigma**2) / float(rate * beta) * 2e-6 == pytest.approx(expected, abs=1e-3)


def test_no_rate_beyond_the_spend() -> None:
    for noise in NOISES:
        assert log_normal_rate(noise, Fraction(1, 2), Fraction(1), Fraction(1)) == 0
        assert fit_log_normal((noise,), Fraction(1, 2), Fraction(4))[3] == 0
        assert fit_log_normal((noise,), Fraction(1, 10**300), Fraction(10) ** 300)[3] == 0
