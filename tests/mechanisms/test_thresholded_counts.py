"""Counts that are shown from a threshold on: the exact law of what is shown, against the loss that is stated."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, ThresholdedCounts
from discreet.privacy import ApproxLoss, MuLoss, RhoLoss

REACH = 60

NOISES = [DiscreteLaplace(1), DiscreteLaplace("2.5"), DiscreteGaussian(2), Gaussian(2), Gaussian("0.8")]


@cache
def chance(noise, x: int) -> mpmath.mpf:
    """P(X = x)."""
    if isinstance(noise, DiscreteLaplace):
        q = mpmath.exp(-1 / mpmath.mpf(float(noise.scale)))
        return (1 - q) / (1 + q) * q ** abs(x)
    sigma = mpmath.mpf(float(noise.sigma))
    if isinstance(noise, Gaussian):
        return mpmath.ncdf((0.5 - abs(x)) / sigma) - mpmath.ncdf((-0.5 - abs(x)) / sigma)
    weight = [mpmath.exp(-(k**2) / (2 * sigma**2)) for k in range(-99, 100)]
    return mpmath.exp(-(x**2) / (2 * sigma**2)) / mpmath.fsum(weight)


def law(mechanism: ThresholdedCounts, count: int) -> dict[int | None, mpmath.mpf]:
    """Of one key; values beyond the reach are one outcome more."""
    if count == 0:
        return {None: mpmath.mpf(1)}
    whole = math.ceil(mechanism.threshold)
    shown = {v: chance(mechanism.noise, v - count) for v in range(whole, whole + REACH)}
    hidden = mpmath.fsum(chance(mechanism.noise, v - count) for v in range(-REACH, whole))
    edge = chance(mechanism.noise, whole - 1 - count) * mpmath.mpf(float(whole - mechanism.threshold))
    beyond = 1 - hidden - mpmath.fsum(shown.values())
    return {**shown, whole - 1: edge, None: hidden - edge, -1: beyond}


def excess(mechanism, here, there, epsilon) -> mpmath.mpf:
    """The hockey-stick divergence of all keys together."""
    p, q = ([law(mechanism, count) for count in counts] for counts in (here, there))
    grown = mpmath.exp(epsilon)
    return mpmath.fsum(
        max(
            mpmath.fprod(each.get(v, 0) for each, v in zip(p, values, strict=True))
            - grown * mpmath.fprod(each.get(v, 0) for each, v in zip(q, values, strict=True)),
            0,
        )
        for values in product(*(set(a) | set(b) for a, b in zip(p, q, strict=True)))
    )


WORLDS = {1: [((1,), (0,)), ((2,), (1,)), ((9,), (8,))], 2: [((1, 1), (0, 0)), ((1, 5), (0, 4)), ((1, 0), (0, 1))]}


@pytest.mark.sampled
@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("keys", [1, 2])
@pytest.mark.parametrize("threshold", [7, 6.25])
def test_the_exact_loss_is_within_the_stated_one(noise, keys, threshold) -> None:
    mechanism = ThresholdedCounts(noise, threshold, keys)
    stated = mechanism.loss()
    base = float(stated.eps) if isinstance(stated, ApproxLoss) else 1.0
    for epsilon in (base, base / 2, base * 1.5):
        allowed = stated.delta(epsilon) if not isinstance(stated, ApproxLoss) or epsilon >= base else 1
        for here, there in WORLDS[keys]:
            for a, b in ((here, there), (there, here)):
                assert excess(mechanism, a, b, epsilon) <= allowed * (1 + 1e-9)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_delta_is_that_of_a_key_of_one_unit(noise) -> None:
    """Attained at every ε; of discrete Gaussian noise it is a bound by the continuous one, a step further in."""
    for threshold in (3, 3.125, 7, 11.75, 12):
        mechanism = ThresholdedCounts(noise, threshold)
        true = float(mpmath.fsum(p for shown, p in law(mechanism, 1).items() if shown is not None and shown > 0))
        assert true <= float(mechanism.delta) * (1 + 1e-9)
        loosest = 12 if isinstance(noise, DiscreteGaussian) else 1 + 1e-9
        assert float(mechanism.delta) <= true * loosest


@pytest.mark.parametrize(
    ("spend", "kind", "noise"),
    [
        (dp.approx(1, 1e-6), DiscreteLaplace, None),
        (dp.approx(1, 1e-6), Gaussian, "gaussian"),
        (dp.rho("0.5", 1e-6), DiscreteGaussian, None),
        (dp.mu(1, 1e-6), Gaussian, "gaussian"),
    ],
    ids=["laplace", "gaussian", "rho", "mu"],
)
@pytest.mark.parametrize("keys", [1, 3, 40])
def test_calibration_is_within_the_spend_and_the_least_threshold(spend, kind, noise, keys) -> None:
    mechanism = ThresholdedCounts.calibrate(spend, keys=keys, noise=noise)
    assert isinstance(mechanism.noise, kind)
    assert mechanism.loss().fits(spend)
    lower = ThresholdedCounts(mechanism.noise, mechanism.threshold - Fraction(1, 1024), keys)
    assert not lower.loss().fits(spend)


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1])
def test_no_delta_is_lost_to_rounding(epsilon) -> None:
    """A whole threshold leaves four tenths of δ unused at ε = 1, and shows fewer keys for it."""
    mechanism = ThresholdedCounts.calibrate(dp.approx(epsilon, 1e-6))
    assert 0.999e-6 < mechanism.delta <= Fraction(1, 10**6)
    whole = ThresholdedCounts(mechanism.noise, math.ceil(mechanism.threshold))
    assert all(mechanism.probability(units) > whole.probability(units) for units in range(1, 15))


def test_gaussian_noise_is_the_better_one_for_many_keys() -> None:
    spend, noises = dp.approx(1, 1e-6), ("laplace", "gaussian")
    one = [ThresholdedCounts.calibrate(spend, keys=1, noise=noise).threshold for noise in noises]
    many = [ThresholdedCounts.calibrate(spend, keys=100, noise=noise).threshold for noise in noises]
    assert one[0] < one[1]
    assert many[1] < many[0] / 5


def test_frequencies_follow_the_law() -> None:
    """20,000 keys of each size; 7.5 standard deviations are a false alarm of 1e-12."""
    n = 20_000
    for mechanism, units in product(
        [ThresholdedCounts(DiscreteLaplace(2), each) for each in (6, "5.3")], (0, 1, 4, 5, 6, 9)
    ):
        shown = np.mean([each is not None for each in mechanism.release([units] * n)])
        expected = mechanism.probability(units)
        assert expected == pytest.approx(1 - float(law(mechanism, units)[None]), abs=1e-9)
        assert abs(shown - expected) <= 7.5 * math.sqrt(expected * (1 - expected) / n) + 1e-12


def test_what_is_shown() -> None:
    sure = ThresholdedCounts(DiscreteLaplace("0.001"), 10)
    assert sure.release(np.array([0, 9, 10, 500])) == [None, None, 10, 500]
    assert sure.release([]) == []
    shown = ThresholdedCounts(DiscreteLaplace("0.001"), "9.5").release([8, 9, 10] * 200)
    assert set(shown[::3]) == {None} and set(shown[1::3]) == {None, 9} and set(shown[2::3]) == {10}
    assert sure.loss() == ApproxLoss(Fraction(1000), sure.delta)
    assert isinstance(ThresholdedCounts(Gaussian(1), 40).loss(), MuLoss)
    assert isinstance(ThresholdedCounts(DiscreteGaussian(1), 40).loss(), RhoLoss)
    assert 0 < ThresholdedCounts(Gaussian(1), 2**61).delta < 1e-200


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ThresholdedCounts(Exponential(1, 1), 5),
        lambda: ThresholdedCounts(DiscreteLaplace(1), 0),
        lambda: ThresholdedCounts(DiscreteLaplace(1), "many"),
        lambda: ThresholdedCounts(DiscreteLaplace(1), 5, 0),
        lambda: ThresholdedCounts(DiscreteLaplace(1), 1),
        lambda: ThresholdedCounts(DiscreteLaplace(9), 3, 9),
        lambda: ThresholdedCounts.calibrate(dp.pure(1)),
        lambda: ThresholdedCounts.calibrate(dp.rho(1)),
        lambda: ThresholdedCounts.calibrate(dp.rho(1, 1e-6), noise="laplace"),
        lambda: ThresholdedCounts.calibrate(dp.approx(1, 1e-6), noise="cauchy"),
        lambda: ThresholdedCounts.calibrate(dp.approx(1, 1e-6), keys=True),
        lambda: ThresholdedCounts(DiscreteLaplace(1), 9).release([-1]),
        lambda: ThresholdedCounts(DiscreteLaplace(1), 9).release([1.5]),
        lambda: ThresholdedCounts(DiscreteLaplace(1), 9).release([[1]]),
        lambda: ThresholdedCounts(DiscreteLaplace(1), 9).probability(-1),
    ],
    ids=range(15),
)
def test_bad_arguments(wrong) -> None:
    with pytest.raises(ParameterError):
        wrong()
