"""The rounded Gaussian: its loss against the exact law, its calibration against published values."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian, PartitionSelection
from discreet.privacy import MuLoss, PureLoss, as_mu, fits
from discreet.sensitivity import Norms


def exact_delta(sigma: float, shift: int, epsilon: float) -> mpmath.mpf:
    """The hockey-stick divergence of two rounded Gaussians `shift` apart, summed over all integers that weigh."""
    with mpmath.workdps(40):
        s, reach = mpmath.mpf(sigma), int(20 * sigma) + shift + 2

        def mass(k: int) -> mpmath.mpf:
            k = abs(k)  # the tail on the far side keeps its digits
            return mpmath.ncdf(-(k - mpmath.mpf(1) / 2) / s) - mpmath.ncdf(-(k + mpmath.mpf(1) / 2) / s)

        grown = mpmath.exp(epsilon)
        return mpmath.fsum(max(mass(k - shift) - grown * mass(k), 0) for k in range(-reach, reach + 1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("sigma", ["0.3", "0.5", "1", "2", "3.7"])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_stated_loss_covers_the_exact_law(sigma: str, shift: int, epsilon: float) -> None:
    truth = exact_delta(float(Fraction(sigma)), shift, epsilon)
    claimed = Gaussian(sigma).loss(shift).delta(epsilon)
    assert truth <= claimed
    if float(Fraction(sigma)) >= 2 and shift == 1 and epsilon == 0.1:
        assert claimed <= 1.03 * truth  # proofs/gaussian.md, Tightness


def test_where_the_best_cut_is_a_half_integer_the_claim_is_exact() -> None:
    assert Gaussian(1).loss(1).delta(1) == pytest.approx(float(exact_delta(1, 1, 1)), rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"), [("1", "1e-5", 3.7306), ("0.1", "1e-5", 30.75), ("8", "1e-6", 0.6529)]
)
def test_calibration_is_analytic(epsilon: str, delta: str, sigma: float) -> None:
    mechanism = Gaussian.calibrate(dp.approx(epsilon, delta), 1)
    assert float(mechanism.sigma) == pytest.approx(sigma, rel=2e-4)
    assert mechanism.loss(1).delta(epsilon) <= float(Fraction(delta)) * (1 + 1e-15)
    assert Gaussian(mechanism.sigma * (1 - Fraction(1, 10**6))).loss(1).delta(epsilon) > float(Fraction(delta))


@given(st.floats(0.01, 50), st.sampled_from(["1e-2", "1e-5", "1e-9", "1e-12"]), st.integers(1, 1000))
@settings(max_examples=40, deadline=None)
def test_calibration_holds_from_small_to_large_epsilon(epsilon: float, delta: str, sensitivity: int) -> None:
    """The hockey-stick at the calibrated noise, in 60 digits."""
    mechanism = Gaussian.calibrate(dp.approx(epsilon, delta), sensitivity)
    with mpmath.workdps(60):
        mu = sensitivity / (mpmath.mpf(mechanism.sigma.numerator) / mechanism.sigma.denominator)
        eps = mpmath.mpf(str(epsilon))
        found = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
        assert found <= mpmath.mpf(delta)
        assert found >= mpmath.mpf(delta) * (1 - mpmath.mpf(10) ** -6) or mechanism.sigma == Fraction(1, 1000)


@pytest.mark.parametrize("sensitivity", [1, 3, Norms(5, 7)])
def test_rho_and_mu_are_met_exactly(sensitivity: object) -> None:
    for spend in (dp.rho("0.005"), dp.mu("0.1"), dp.mu("0.1", "1e-9")):
        mechanism = Gaussian.calibrate(spend, sensitivity)
        loss = mechanism.loss(sensitivity)
        assert fits(loss, dp.mu("0.1")) if spend != dp.rho("0.005") else fits(loss, spend)
        assert loss.mu_squared >= Fraction(1, 100) * (1 - Fraction(1, 2**30))


def test_no_sensitivity_costs_nothing() -> None:
    assert Gaussian(1).loss(0) == PureLoss(Fraction(0))


def test_pure_spends_are_refused() -> None:
    for spend in (dp.pure(1), dp.approx(1, 0), dp.mu(1) * 0):
        with pytest.raises(ParameterError, match=r"delta|greater than 0"):
            Gaussian.calibrate(spend, 1)


def test_error_and_std_follow_the_law() -> None:
    for sigma in ("0.001", "0.4", 1, 10, 1000):
        mechanism = Gaussian(sigma)
        s = float(Fraction(sigma))
        for level in (0.5, 0.95, 0.999999):
            k = mechanism.error(level)
            outside = 2 * mpmath.ncdf(-(k + 0.5) / s)
            assert outside <= 1 - level + 1e-15
            assert k == 0 or 2 * mpmath.ncdf(-(k - 1.5) / s) > 1 - level
    assert Gaussian("0.001").std == 0.0
    assert Gaussian(1).std == pytest.approx(1.0408, rel=1e-3)
    drawn = np.asarray(Gaussian("0.4").release([0] * 200_000), dtype=float)
    assert Gaussian("0.4").std == pytest.approx(float(drawn.std()), rel=0.05)  # 10 standard errors and more


@given(st.fractions("1/10000", 40), st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_keys_bought_with_a_mu_are_within_it(squared: Fraction, keys: int) -> None:
    selection = PartitionSelection.calibrate(MuLoss(squared, Fraction(1, 10**6)), keys=keys)
    spent = as_mu(selection.loss())
    assert spent is not None
    assert spent[0] <= squared
    assert spent[0] >= squared * (1 - Fraction(1, 1000))
    assert spent[1] <= Fraction(1, 10**6)
