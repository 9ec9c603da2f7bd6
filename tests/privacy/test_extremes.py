"""Very many, very large, very small: brackets may be wide there, but never wrong, and no memory is spent on them."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from discreet.privacy import (
    Loss,
    approx,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
    mu,
    pure,
    rho,
)

LIMITS = [  # very many releases, what they are like, and at which δ they are quick
    (10**8 * laplace(10**4), mu(1), ("1e-6", "1e-100")),
    (10**9 * pure(Fraction(1, 31_622)), mu(1), ("1e-6", "1e-100")),
    (10**8 * gaussian(1).sampled("1e-4"), mu("1.31"), ("1e-6",)),
    (10**12 * laplace(10**6), mu(1), ()),
    (10**12 * pure("1e-6"), mu(1), ()),
    (10**14 * gaussian(1).sampled("1e-7"), mu("1.31"), ()),
    (10**11 * pure(Fraction(1, 316_227)), mu(1), ()),
]


@pytest.mark.parametrize(
    ("loss", "like", "delta"),
    [
        pytest.param(loss, like, delta, marks=[pytest.mark.soak] * (delta not in quick))
        for loss, like, quick in LIMITS
        for delta in ("1e-6", "1e-100")
    ],
)
def test_very_many_releases_cost_what_their_gaussian_limit_says(loss: Loss, like: Loss, delta: str) -> None:
    truth = like.epsilon(delta)
    low, high = loss.bounds(delta=delta)
    assert low <= 1.001 * truth
    assert 0.99 * truth <= high <= 2 * truth
    assert loss.epsilon(delta) >= 0.99 * truth
    assert not loss.fits(approx(truth / 2, delta))


def exact_delta(shift: int, epsilon: float) -> mpmath.mpf:
    """Two discrete Gaussians of sigma 1, shifted by `shift`: their sum of losses is linear in the sum of outcomes."""
    with mpmath.workdps(80):
        weights = {x: mpmath.exp(-mpmath.mpf(x * x) / 2) for x in range(-70, 71)}
        total = mpmath.fsum(weights.values())
        sums: dict[int, mpmath.mpf] = {}
        for x, one in weights.items():
            for y, other in weights.items():
                sums[x + y] = sums.get(x + y, mpmath.mpf(0)) + one * other / total**2
        # With noise z the loss of one release is shift·z + shift²/2.
        losses = ((shift * z + shift * shift, mass) for z, mass in sums.items())
        return mpmath.fsum(mass * (1 - mpmath.exp(epsilon - loss)) for loss, mass in losses if loss > epsilon)


@pytest.mark.parametrize("shift", [30, 36, 40])
def test_likelihoods_below_all_floats_are_not_taken_for_zeros(shift: int) -> None:
    loss = 2 * discrete_gaussian(1, shift)
    low, high = loss.bounds(delta="1e-6")
    assert exact_delta(shift, low) >= mpmath.mpf("1e-6") * (1 - mpmath.mpf(10) ** -9)
    assert exact_delta(shift, high) <= mpmath.mpf("1e-6") * (1 + mpmath.mpf(10) ** -9)
    at = shift * shift + 2 * shift
    low, high = loss.bounds(epsilon=at)
    assert low <= exact_delta(shift, at) <= high


def test_a_large_epsilon_beside_noise() -> None:
    low, high = (pure(800) + gaussian(1)).bounds(delta="1e-6")
    # Randomized response of 800 shifts the curve of the noise, but for its unlikely half.
    truth = 800 + gaussian(1).epsilon("1e-6")
    assert 600 < low <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-3) <= high <= truth + 1
    low, high = (discrete_laplace("0.01", 10) + gaussian(1)).bounds(epsilon=1008)
    assert low <= gaussian(1).delta(8) <= high


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(gaussian(10**100) + laplace(1), marks=pytest.mark.soak),
        pytest.param(gaussian(Fraction(1, 10**100)) + laplace(1), marks=pytest.mark.soak),
        laplace(Fraction(1, 10**100)) + gaussian(1),
        pure(10**100) + laplace(1),
        pytest.param(discrete_laplace(10**8, 10**8) + gaussian(1), marks=pytest.mark.soak),
        pytest.param(discrete_laplace(1, 10**9) + gaussian(1), marks=pytest.mark.soak),
        pytest.param(2 * discrete_gaussian(1_000, 10**9), marks=pytest.mark.soak),
        pytest.param(discrete_gaussian(1, 10**15) + laplace(1), marks=pytest.mark.soak),
        pytest.param(rho(10**50) + laplace(1), marks=pytest.mark.soak),
        10**15 * pure(Fraction(1, 10**15)),
        pytest.param(3 * gaussian(1).sampled(Fraction(1, 10**15)), marks=pytest.mark.soak),
    ],
)
def test_numbers_out_of_all_proportion_still_have_a_bracket(loss: Loss) -> None:
    low, high = loss.bounds(delta="1e-6")
    assert 0 <= low <= high
    assert loss.epsilon("1e-6") >= low
    low, high = loss.bounds(epsilon=10)
    assert 0 <= low <= high <= 1


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("short", [15, 12, 9, 6])
def test_a_rate_next_to_one_costs_what_no_sampling_does(short: int) -> None:
    whole = (10 * gaussian(1)).epsilon("1e-6")
    low, high = (10 * gaussian(1).sampled(1 - Fraction(1, 10**short))).bounds(delta="1e-6")
    assert low <= whole <= high * (1 + 1e-9) + 10.0 ** (1 - short)
    assert high <= whole * (1 + 2e-3)


@pytest.mark.parametrize(
    "loss",
    [
        (gaussian(1) + laplace(2)).sampled("0.1"),
        10 * (gaussian(1) + laplace(2)).sampled("0.1"),
        10 * (gaussian(1) + laplace(2)).parallel(gaussian("0.9")),
        2 * (gaussian(1).sampled("0.1") + laplace(2)).sampled("0.5"),
        3 * (2 * discrete_gaussian(2)).sampled("0.1"),
        100 * rho("0.1").sampled("0.1"),
    ],
)
def test_sampled_and_parallel_sums_have_a_lower_end(loss: Loss) -> None:
    low, high = loss.bounds(delta="1e-6")
    assert 0.4 * high < low <= high < math.inf
