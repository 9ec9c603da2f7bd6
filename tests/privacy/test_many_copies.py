"""Many copies of one loss: the truth in 40 digits, within a moment; and Rényi divergences of nearly fair coins."""

from __future__ import annotations

import time
from fractions import Fraction

import mpmath
import pytest

from discreet.privacy import bounded_range, nonadaptive, pure, randomized_response

mpmath.mp.dps = 40
mpf = mpmath.mpf


def composed(count, likely, losses, eps):
    """Σ_j P(Bin(count, 1 − likely) = j)(1 − e^{ε − loss})⁺ over the j that weigh, by the ratio of neighbours."""
    top, step = losses
    total, mass, j = mpf(0), likely**count, 0
    while top - j * step > eps and j <= count:
        total += mass * -mpmath.expm1(eps - (top - j * step))
        mass *= (count - j) / mpf(j + 1) * (1 - likely) / likely
        j += 1
    return total


def of_range(eps0, count, eps):
    """Dong, Durfee and Rogers 2020, Theorem 2: the largest over the t where the derivative vanishes."""
    eps0, eps, found = mpf(eps0), mpf(eps), mpf(0)
    for sign in range(count + 1):
        t = (eps + (sign + 1) * eps0) / (count + 1)
        if t < eps0:
            likely = mpmath.expm1(t - eps0) / mpmath.expm1(-eps0)
            found = max(found, composed(count, likely, (count * t, eps0), eps))
    return found


@pytest.mark.parametrize(("eps0", "count"), [("1", 1), ("0.1", 7), ("2", 12), ("0.1", 60), ("1e-9", 40)])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.9])
def test_bounded_ranges_fixed_in_advance(eps0, count, share):
    eps = share * count * float(eps0)
    truth = of_range(eps0, count, eps)
    low, high = nonadaptive(bounded_range(eps0), count).bounds(epsilon=eps)
    assert truth * (1 - 3e-6) <= low <= truth <= high <= truth * (1 + 3e-6)


@pytest.mark.parametrize("t", [0.4, 0.5, 0.6])
def test_many_bounded_ranges_are_above_each_pair(t):
    eps0, count, eps = mpf("0.01"), 3000, mpf(1)
    top = mpf(t) * eps0
    truth = composed(count, mpmath.expm1(top - eps0) / mpmath.expm1(-eps0), (count * top, eps0), eps)
    low, high = nonadaptive(bounded_range("0.01"), count).bounds(epsilon=1)
    assert truth <= high <= low * (1 + 1e-5)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("count", [3000, 3001, 20_001, 300_000])
def test_what_is_below_an_adaptive_bounded_range_is_attained(count):
    # A mechanism of range ε with the loss ±ε/2 has μ near ε/2: claims from below stay near that Gaussian's.
    low, high = (count * bounded_range("0.001")).bounds(delta="1e-6")
    assert low <= nonadaptive(bounded_range("0.001"), count).epsilon("1e-6") <= high
    assert low < 0.97 * (count * pure("0.001")).bounds(delta="1e-6")[0]


@pytest.mark.sampled
@pytest.mark.parametrize(("eps0", "count"), [("0.001", 20_000), ("0.02", 9_000)])
@pytest.mark.parametrize("deviations", [0, 1, 6, 20])
def test_many_copies_of_a_coin(eps0, count, deviations):
    x = mpf(eps0)
    eps = float(deviations * x * mpmath.sqrt(count))
    truth = composed(count, 1 / (1 + mpmath.exp(-x)), (count * x, 2 * x), mpf(eps))
    low, high = (count * pure(eps0)).bounds(epsilon=eps)
    assert low <= truth <= high <= low * (1 + 1e-8)


@pytest.mark.parametrize(
    "loss",
    [
        nonadaptive(bounded_range("0.01"), 3000),
        3000 * bounded_range("0.01"),
        nonadaptive(bounded_range("0.01"), 20_000),
        nonadaptive(bounded_range("0.001"), 10**6),
        2_000_000 * pure("0.001"),
    ],
    ids=repr,
)
def test_many_copies_take_a_moment(loss):
    start = time.process_time()
    low, high = loss.bounds(delta="1e-6")
    assert 0 < low <= high
    assert time.process_time() - start < 2


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("order", [1.5, 2, 30, 500])
@pytest.mark.parametrize(
    "p",
    [Fraction(1, 2) + Fraction("1.3e-11"), Fraction(1, 2) - Fraction("1.3e-11"), Fraction(1, 3) + Fraction("1e-9"),
     Fraction(3, 4), Fraction("1e-30"), 1 - Fraction("1e-30")],
)  # fmt: skip
def test_divergences_of_responses_are_above_the_truth(p, k, order):
    truth_p, a = mpf(p.numerator) / p.denominator, mpf(order)
    other = (1 - truth_p) / (k - 1)
    moment = truth_p**a * other ** (1 - a) + other**a * truth_p ** (1 - a) + (1 - truth_p - other)
    truth = mpmath.log(moment) / (a - 1)
    assert truth <= randomized_response(p, k).renyi(order) <= truth * (1 + 1e-6) + 1e-11
