"""Stated losses of additive noise, against the exact law of what is released."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.privacy import ApproxLoss, PureLoss, RhoLoss, approx, as_approx, as_rho, fits, mu, pure, rho
from discreet.sensitivity import Norms

BOTH = [DiscreteLaplace, DiscreteGaussian]
SOAK = pytest.mark.soak


def law(mechanism, reach: int) -> dict[int, mpmath.mpf]:
    if isinstance(mechanism, DiscreteLaplace):
        s = mpmath.mpf(mechanism.scale.numerator) / mechanism.scale.denominator
        weight = {k: mpmath.exp(-abs(k) / s) for k in range(-reach, reach + 1)}
    else:
        s = mpmath.mpf(mechanism.sigma.numerator) / mechanism.sigma.denominator
        weight = {k: mpmath.exp(-k * k / (2 * s * s)) for k in range(-reach, reach + 1)}
    total = mpmath.fsum(weight.values())
    return {k: w / total for k, w in weight.items()}


@pytest.mark.parametrize("scale", ["1/2", "1", "3.3", "10"])
@pytest.mark.parametrize("shift", [(1,), (3,), (1, 1), (2, -1)])
def test_laplace_loss_is_the_worst_log_ratio(scale, shift) -> None:
    """Worst over all outcomes of a vector with each entry moved: the entries are independent."""
    mechanism = DiscreteLaplace(scale)
    with mpmath.workprec(1000):
        p = law(mechanism, 300)
        worst = mpmath.fsum(max(abs(mpmath.log(p[k] / p[k - s])) for k in range(-200, 201)) for s in shift)
    loss = mechanism.loss(sum(map(abs, shift)))
    assert isinstance(loss, PureLoss)
    assert abs(float(loss.eps) - float(worst)) <= 1e-12 * float(worst)


@pytest.mark.sampled
@pytest.mark.parametrize("sigma", ["1/2", "1", "3.3", "10"])
@pytest.mark.parametrize("shift", [(1,), (2,), (1, 1), (1, -2)])
def test_gaussian_loss_is_the_worst_renyi_slope(sigma, shift) -> None:
    """ρ is the supremum of D_α(P‖Q)/α over α > 1; entries add (Canonne, Kamath and Steinke 2020, Theorem 14)."""
    mechanism = DiscreteGaussian(sigma)
    stated = float(mechanism.loss(Norms(sum(map(abs, shift)), sum(s * s for s in shift))).rho_value)
    with mpmath.workprec(300):
        p = law(mechanism, 200)

        def slope(alpha: mpmath.mpf) -> float:
            total = mpmath.mpf(0)
            for s in shift:
                moment = mpmath.fsum(p[k] ** alpha * p[k - s] ** (1 - alpha) for k in range(-150, 151))
                total += mpmath.log(moment) / (alpha - 1)
            return float(total / alpha)

        slopes = [slope(mpmath.mpf(alpha)) for alpha in ("1.001", "1.3", "1.5", "2", "3", "4", "7", "10")]
    assert max(slopes) <= stated * (1 + 1e-9)
    assert max(slopes) >= stated / 1.001


def true_delta(sigma: Fraction, shift: int, epsilon: str) -> mpmath.mpf:
    """The hockey-stick divergence of the noise and its shift, summed over all that weighs; both ways are the same."""
    with mpmath.workdps(40):
        s, grown = mpmath.mpf(sigma.numerator) / sigma.denominator, mpmath.exp(mpmath.mpf(epsilon))
        reach = int(22 * s) + shift + 1
        weight = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(reach + shift + 1)]
        gains = (weight[abs(k)] - grown * weight[abs(k - shift)] for k in range(-reach, reach + 1))
        return mpmath.fsum(gain for gain in gains if gain > 0) / (2 * mpmath.fsum(weight) - 1)


@pytest.mark.parametrize("sigma", ["0.3", "1/2", "1", "3.7306", "10"])
@pytest.mark.parametrize("shift", [1, 2, 7])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_gaussian_loss_of_one_number_is_its_own(sigma, shift, epsilon) -> None:
    mechanism = DiscreteGaussian(sigma)
    truth, claimed = true_delta(mechanism.sigma, shift, epsilon), mechanism.loss(shift).delta(epsilon)
    assert truth <= claimed <= truth * mpmath.mpf("1.001") + mpmath.mpf("1e-300")
    assert as_rho(mechanism.loss(shift)) == (Fraction(shift**2) / (2 * mechanism.sigma**2), 0)
    assert as_rho(mechanism.loss(Norms(shift, shift**2))) == as_rho(mechanism.loss(shift))


def test_gaussian_loss_between_whole_numbers_is_that_of_the_next() -> None:
    mechanism = DiscreteGaussian(2)
    assert mechanism.loss("1.5") == mechanism.loss(2)
    assert mechanism.loss("1e-9") == mechanism.loss(1)
    assert as_approx(mechanism.loss(1)) is None
    assert as_rho(mechanism.loss(10**16 - Fraction(1, 2))) == (Fraction(10**32, 8), 0)
    assert DiscreteGaussian.calibrate(rho(2), "1.5").loss("1.5").fits(rho(2))


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps", "continuous", "ratio"),
    [
        ("1", "1e-5", 1, 3.7306316, 0.003),
        ("8", "1e-6", 1, 0.6529354, 0.01),
        ("8", "1e-6", 10, 6.5293538, 0.002),
        ("0.1", "1e-5", 1, 30.7495660, 0.001),
    ],
)
def test_gaussian_calibration_to_epsilon_and_delta(epsilon, delta, steps, continuous, ratio) -> None:
    """The exact δ at the calibrated sigma, and just below it. At 3.731 it is 1.035e-5, and so not enough."""
    sigma = DiscreteGaussian.calibrate(approx(epsilon, delta), steps).sigma
    assert true_delta(sigma, steps, epsilon) <= mpmath.mpf(delta)
    assert true_delta(sigma * (1 - Fraction(3, 10_000)), steps, epsilon) > mpmath.mpf(delta)
    assert float(sigma / DiscreteGaussian(continuous).sigma) == pytest.approx(1, rel=ratio)


def test_the_continuous_formula_is_not_enough() -> None:
    assert true_delta(Fraction("3.7306316"), 1, "1") == pytest.approx(1.03457e-5, rel=1e-5)
    assert true_delta(Fraction("0.6529354"), 1, "8") > 3e-6


@given(
    epsilon=st.fractions(Fraction(1, 100), 60),
    delta=st.sampled_from(["0.4", "1e-3", "1e-9", "1e-30"]),
    norms=st.sampled_from([0, 1, 3, 10**6, 10**12, Norms(1, 1), Norms(7, 19), Norms(10**9, 10**15)]),
)
@settings(max_examples=15, deadline=None, phases=[Phase.generate])
def test_gaussian_calibration_fits_what_was_spent(epsilon, delta, norms) -> None:
    spend = approx(epsilon, delta)
    mechanism = DiscreteGaussian.calibrate(spend, norms)
    assert fits(mechanism.loss(norms), spend)
    smaller = mechanism.sigma * (1 - Fraction(1, 1000))
    assert mechanism.sigma <= Fraction(1, 1000) or not fits(DiscreteGaussian(smaller).loss(norms), spend)
    assert DiscreteGaussian.calibrate(spend + spend, norms) == DiscreteGaussian.calibrate(2 * spend, norms)


numbers = st.fractions(min_value=Fraction(1, 1000), max_value=1000)


@given(eps=numbers, sensitivity=numbers)
def test_laplace_calibration_spends_exactly_what_is_allowed(eps, sensitivity) -> None:
    mechanism = DiscreteLaplace.calibrate(pure(eps), sensitivity)
    assert fits(mechanism.loss(sensitivity), pure(eps))
    assert mechanism.scale == Fraction(1, 1000) or mechanism.loss(sensitivity) == pure(eps)
    assert DiscreteLaplace.calibrate(approx(eps, "1e-9"), sensitivity) == mechanism


@given(r=numbers, l2_squared=st.integers(1, 10**20))
def test_gaussian_calibration_is_the_least_sigma_on_the_grid(r, l2_squared) -> None:
    norms = Norms(l2_squared, l2_squared)
    mechanism = DiscreteGaussian.calibrate(rho(r), norms)
    assert mechanism.loss(norms).rho_value <= r
    if mechanism.sigma > Fraction(1, 1000):
        smaller = DiscreteGaussian(mechanism.sigma * (1 - Fraction(1, 2**39)))
        assert smaller.loss(norms).rho_value > r


def test_least_scale_and_no_sensitivity() -> None:
    assert DiscreteLaplace.calibrate(pure(10**6), 1).scale == Fraction(1, 1000)
    assert DiscreteGaussian.calibrate(rho(10**9), 1).sigma == Fraction(1, 1000)
    assert DiscreteLaplace.calibrate(pure(1), 0).loss(0) == PureLoss(Fraction(0))
    assert DiscreteGaussian.calibrate(rho(1), 0).loss(0) == RhoLoss(Fraction(0), Fraction(0))
    assert DiscreteGaussian.calibrate(rho(1, 1e-6), 2).sigma >= Fraction(2) * Fraction(7071067811, 10**10)


def test_spends_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(ParameterError, match="DiscreteGaussian"):
        DiscreteLaplace.calibrate(rho(1), 1)
    for spend in (pure(1), approx(1, 0), mu(1)):
        with pytest.raises(ParameterError, match="DiscreteLaplace"):
            DiscreteGaussian.calibrate(spend, 1)
    with pytest.raises(ParameterError, match="epsilon"):
        DiscreteGaussian.calibrate(ApproxLoss(Fraction(0), Fraction(1, 10)), 1)
    for spend in (ApproxLoss(Fraction(0), Fraction(1, 10)), PureLoss(Fraction(0))):
        with pytest.raises(ParameterError, match="epsilon"):
            DiscreteLaplace.calibrate(spend, 1)
    with pytest.raises(ParameterError, match="rho"):
        DiscreteGaussian.calibrate(RhoLoss(Fraction(0), Fraction(0)), 1)
    for kind, spend in ((DiscreteLaplace, pure(1)), (DiscreteGaussian, rho(1))):
        for bad in (-1, float("nan"), 10**30):
            with pytest.raises(ParameterError):
                kind.calibrate(spend, bad)


@pytest.mark.parametrize("kind", BOTH)
def test_released_shapes_and_big_integers(kind) -> None:
    quiet, loud = kind("0.001"), kind(1000)
    big = 2**110 + 1
    assert quiet.release(big) == big
    assert quiet.release([big, -big]) == [big, -big]
    assert quiet.release((1, 2)) == [1, 2]
    array = quiet.release(np.array([[1, 2], [3, 4]], dtype=np.int32))
    assert array.tolist() == [[1, 2], [3, 4]]
    assert array.dtype == object
    assert quiet.release(np.array([big, 0], dtype=object)).tolist() == [big, 0]
    assert quiet.release(np.array(7)).tolist() == 7
    assert quiet.release(np.uint64(2**64 - 1)) == 2**64 - 1
    assert quiet.release([]) == []
    assert quiet.release(np.zeros((0, 3), dtype=np.int64)).shape == (0, 3)
    assert type(loud.release(5)) is int
    assert all(type(item) is int for item in loud.release(np.arange(4)))
    assert len(set(loud.release([0] * 100))) > 10
    assert loud.release([2**63 - 1] * 4) != loud.release([2**63 - 1] * 4)  # alike once in 10**13


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "value",
    [1.0, True, None, "12", b"12", [1, 2.0], [True], np.array([1.0]), np.array([True]), float("nan"), np.array(["1"])],
)
def test_only_whole_numbers_are_released(kind, value) -> None:
    with pytest.raises(ParameterError, match="whole numbers"):
        kind(1).release(value)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("scale", [0, -1, 1e-4, 1e20, float("nan"), True, "x"])
def test_bad_scales_are_refused(kind, scale) -> None:
    with pytest.raises(ParameterError):
        kind(scale)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("scale", ["0.001", pytest.param("0.4", marks=SOAK), 1, pytest.param(10, marks=SOAK), 31])
def test_error_is_the_least_that_holds(kind, scale) -> None:
    mechanism, wrong = kind(scale), []
    with mpmath.workprec(2000):
        p = law(mechanism, 2000)
        for level in ("0.01", "0.5", "0.95", "0.999999"):
            k, wanted = mechanism.error(level), Fraction(level)
            inside = mpmath.fsum(p[x] for x in range(-k, k + 1))
            least = mpmath.mpf(wanted.numerator) / wanted.denominator
            if inside < least or not (k == 0 or inside - 2 * p[k] < least):
                wrong.append((level, k))
        std = float(mpmath.sqrt(mpmath.fsum(x * x * w for x, w in p.items())))
    assert wrong == []
    assert [mechanism.error(float(level)) for level in ("0.01", "0.5", "0.95")] == [
        mechanism.error(level) for level in ("0.01", "0.5", "0.95")
    ]
    assert mechanism.std == pytest.approx(std, rel=1e-9)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("scale", [33, 1000, 10**6])
def test_error_at_larger_scales(kind, scale) -> None:
    mechanism = kind(scale)
    for level in (0.5, 0.95, "0.999999999"):
        miss = 1 - float(Fraction(level))
        k = mechanism.error(level)
        exact = -scale * np.log(miss) if kind is DiscreteLaplace else scale * float(mpmath.erfinv(1 - miss)) * 2**0.5
        assert exact - 1 <= k <= exact + 2


def test_error_at_the_largest_scale_is_quick() -> None:
    assert DiscreteLaplace(2**56).error("0.95") == pytest.approx(2**56 * 2.995732, rel=1e-6)
    assert DiscreteGaussian(2**56).error("0.95") == pytest.approx(2**56 * 1.959964, rel=1e-6)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("level", [0, 1, -1, 2, float("nan"), True])
def test_bad_levels_are_refused(kind, level) -> None:
    with pytest.raises(ParameterError, match="level"):
        kind(1).error(level)
