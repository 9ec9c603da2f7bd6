"""Brackets of the numeric accountant contain the truth: closed forms, exact convolution, monotonicity."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import exp, isfinite, log

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.pld.__init__ import (
    FinitePair,
    GaussianPair,
    LaplacePair,
    Swapped,
    approximate_pair,
    bounded_range_pair,
    delta_bounds,
    discrete_gaussian_pair,
    discrete_laplace_pair,
    epsilon_bounds,
    response_pair,
)

QUICK = settings(max_examples=25, deadline=None)


def gaussian_delta(mu: float, epsilon: float) -> mp.mpf:
    """Balle and Wang 2018, Theorem 8, in 60 digits and more where it cancels."""
    with mp.workdps(400):
        mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def binomial_delta(likely: mp.mpf, loss: mp.mpf, other: mp.mpf, count: int, epsilon: float) -> mp.mpf:
    """Hockey stick of `count` copies of a pair with two losses, summed in 60 digits."""
    total = mp.mpf(0)
    for k in range(count + 1):
        each = k * loss + (count - k) * other
        if each > epsilon:
            total += mp.binomial(count, k) * likely**k * (1 - likely) ** (count - k) * (1 - mp.exp(epsilon - each))
    return total


@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-30, 1e-100])
@pytest.mark.parametrize(("noise", "count"), [(1.0, 1), (5.0, 100), (1000.0, 3), (0.2, 2)])
def test_gaussians_agree_with_the_closed_form(noise: float, count: int, delta: float) -> None:
    lower, upper = epsilon_bounds([(GaussianPair(noise), count)], delta)
    mu = count**0.5 / noise
    assert lower == 0 or gaussian_delta(mu, lower) >= delta * (1 - 1e-12)
    assert gaussian_delta(mu, upper) <= delta * (1 + 1e-12)
    assert upper - lower <= 2e-3 * lower or upper == 0 or upper < 1e-4


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 20.0])
def test_delta_of_gaussians_agrees_with_the_closed_form(epsilon: float) -> None:
    lower, upper = delta_bounds([(GaussianPair(2.0), 3), (GaussianPair(1.0), 1)], epsilon)
    truth = gaussian_delta((3 / 4 + 1) ** 0.5, epsilon)
    assert lower <= truth <= upper <= 1.002 * lower


@pytest.mark.parametrize(("scale", "count", "delta"), [(10.0, 200, 1e-6), (1.0, 10, 1e-6), (100.0, 10_000, 1e-14)])
def test_discrete_laplace_agrees_with_the_binomial(scale: float, count: int, delta: float) -> None:
    """The last is 17.7 times the claim of an accountant whose round-off is not charged."""
    lower, upper = epsilon_bounds([(discrete_laplace_pair(scale), count)], delta)
    with mp.workdps(60):
        step = 1 / mp.mpf(scale)
        likely = 1 / (1 + mp.exp(-step))
        assert binomial_delta(likely, step, -step, count, lower) >= delta * (1 - mp.mpf(10) ** -9)
        assert binomial_delta(likely, step, -step, count, upper) <= delta
    assert upper - lower < 1e-7 * upper


def test_rounding_does_not_go_below_the_truth() -> None:
    """Poisson rate .01, noise 5, 1e5 steps at 1e-10: the truth is in [4.03461, 4.03501]; 4.03343 has been claimed."""
    lower, upper = epsilon_bounds([(GaussianPair(5.0, 0.01), 100_000)], 1e-10, gap=2e-4)
    assert upper >= 4.03461
    assert lower <= 4.03501
    assert upper - lower <= 2e-4 * upper


@pytest.mark.parametrize(
    ("noise", "rate", "count", "delta", "low", "high"),
    [
        (1.0, 0.01, 1000, 1e-5, 1.8280365503, 1.8282436756),
        (1.0, 0.01, 10_000, 1e-5, 6.1858358807, 6.1877449926),
        (0.6, 0.001, 10_000, 1e-6, 3.1505768242, 3.1521946682),
        (5.0, 0.1, 10_000, 1e-6, 11.1600, 11.1606),
        (1.0, 0.01, 1000, 1e-15, 4.8535456644, 4.8546276360),
    ],
)
def test_sampled_gaussians(noise: float, rate: float, count: int, delta: float, low: float, high: float) -> None:
    lower, upper = epsilon_bounds([(GaussianPair(noise, rate), count)], delta)
    assert lower <= high
    assert upper >= low
    assert 0 < upper - lower <= 1.1e-3 * lower


@pytest.mark.parametrize("delta", [1e-12, 1e-20, 1e-30])
def test_one_sampled_gaussian_at_tiny_delta(delta: float) -> None:
    """One step has a closed form: delta of the mixture is that of the Gaussian at the loss before sampling."""
    noise, rate = 1.0, 0.01
    lower, upper = epsilon_bounds([(GaussianPair(noise, rate), 1)], delta, gap=1e-4)

    def truth(epsilon: float) -> mp.mpf:  # removal; at these delta it is the larger direction
        with mp.workdps(60):
            return rate * gaussian_delta(1 / noise, mp.log((mp.exp(epsilon) - 1 + mp.mpf(rate)) / rate))

    assert truth(lower) >= delta >= truth(upper)
    assert upper - lower <= 1.01e-4 * upper


def exact_delta(pairs: list[tuple[list[Fraction], list[Fraction]]], epsilon: float) -> Fraction:
    """Sum over all outcomes of (P - e^epsilon Q)+, with e^epsilon a Fraction near enough not to matter."""
    factor = Fraction(exp(epsilon))
    total = Fraction(0)
    for outcome in itertools.product(*(range(len(p)) for p, _ in pairs)):
        p = q = Fraction(1)
        for (ps, qs), index in zip(pairs, outcome, strict=True):
            p, q = p * ps[index], q * qs[index]
        total += max(Fraction(0), p - factor * q)
    return total


@st.composite
def distributions(draw: st.DrawFn) -> tuple[list[Fraction], list[Fraction]]:
    size = draw(st.integers(2, 4))
    p = [draw(st.integers(0, 40)) for _ in range(size)]
    q = [draw(st.integers(0, 40)) for _ in range(size)]
    p[0], q[0] = p[0] + 1, q[0] + 1
    return [Fraction(each, sum(p)) for each in p], [Fraction(each, sum(q)) for each in q]


@QUICK
@given(st.lists(distributions(), min_size=1, max_size=4), st.sampled_from([0.0, 0.1, 0.7, 2.0]))
def test_finite_pairs_agree_with_exact_enumeration(
    pairs: list[tuple[list[Fraction], list[Fraction]]], epsilon: float
) -> None:
    parts = [(FinitePair(tuple(p), tuple(q)), 1) for p, q in pairs]
    lower, upper = delta_bounds(parts, epsilon, symmetric=False)
    truth = exact_delta(pairs, epsilon)
    slack = Fraction(1, 10**14)
    assert lower <= truth + slack * truth
    assert upper >= truth - slack * truth
    there = [(Swapped(pair), count) for pair, count in parts]
    lower, upper = delta_bounds(there, epsilon, symmetric=False)
    truth = exact_delta([(q, p) for p, q in pairs], epsilon)
    assert lower <= truth + slack * truth
    assert upper >= truth - slack * truth


@QUICK
@given(st.integers(2, 400), st.floats(0.01, 3), st.floats(1e-4, 0.9))
def test_margins_cover_round_off_on_a_lattice(count: int, epsilon: float, share: float) -> None:
    """On a lattice nothing is discretised, so the bracket is all round-off; the binomial is summed in 60 digits."""
    target = share * epsilon * count
    lower, upper = delta_bounds([(approximate_pair(epsilon, 0), count)], target)
    with mp.workdps(60):
        likely = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        truth = min(mp.mpf(1), binomial_delta(likely, mp.mpf(epsilon), -mp.mpf(epsilon), count, target))
    assert lower <= truth <= upper
    assert upper - lower <= 1e-6 * upper + 1e-250


SAMPLED = given(
    st.floats(0.5, 20), st.floats(1e-3, 1), st.integers(1, 2000), st.sampled_from([0.1, 1e-3, 1e-6, 1e-12, 1e-40])
)


@settings(max_examples=6, deadline=None)
@SAMPLED
def test_brackets_are_ordered_and_monotone(noise: float, rate: float, count: int, delta: float) -> None:
    _assert_ordered_and_monotone(noise, rate, count, delta)


@pytest.mark.soak
@settings(max_examples=100, deadline=None)
@SAMPLED
def test_many_brackets_are_ordered_and_monotone(noise: float, rate: float, count: int, delta: float) -> None:
    _assert_ordered_and_monotone(noise, rate, count, delta)


def _assert_ordered_and_monotone(noise: float, rate: float, count: int, delta: float) -> None:
    lower, upper = epsilon_bounds([(GaussianPair(noise, rate), count)], delta, gap=1e-2)
    assert 0 <= lower <= upper
    assert isfinite(upper)
    for pair, more in (
        (GaussianPair(noise, rate), count + 1 + count // 10),
        (GaussianPair(noise, min(1.0, rate * 1.1)), count),
        (GaussianPair(noise * 0.95, rate), count),
    ):
        assert epsilon_bounds([(pair, more)], delta, gap=1e-2)[1] >= lower
    assert epsilon_bounds([(GaussianPair(noise, rate), count)], delta / 2, gap=1e-2)[1] >= lower


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.floats(0.5, 50), st.floats(0.05, 1.0), st.integers(1, 30)), min_size=2, max_size=4))
def test_order_of_parts_does_not_matter(parts: list[tuple[float, float, int]]) -> None:
    mix = [
        (LaplacePair(noise, rate) if index % 2 else GaussianPair(noise, rate), count)
        for index, (noise, rate, count) in enumerate(parts)
    ]
    one, other = epsilon_bounds(mix, 1e-6, gap=5e-3), epsilon_bounds(mix[::-1], 1e-6, gap=5e-3)
    assert max(one[0], other[0]) <= min(one[1], other[1]) * (1 + 1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize(("scale", "epsilon"), [(1.0, 0.2), (0.5, 0.05), (10.0, 0.003)])
def test_one_laplace_agrees_with_the_closed_form(rate: float, scale: float, epsilon: float) -> None:
    base = log((exp(epsilon) - 1 + rate) / rate)
    truth = rate * max(0.0, -mp.expm1((base - 1 / scale) / 2))
    lower, upper = delta_bounds([(LaplacePair(scale, rate), 1)], epsilon, symmetric=False)
    assert lower <= truth * (1 + 1e-14)
    assert upper >= truth * (1 - 1e-14)
    assert upper <= lower * 1.002 + 1e-15


def test_many_different_mechanisms() -> None:
    scales = [50 + 0.37 * each for each in range(300)]
    mix = [(LaplacePair(scale), 1) for scale in scales] + [(GaussianPair(scale), 1) for scale in scales]
    lower, upper = epsilon_bounds(mix, 1e-6)
    assert 0 < lower <= upper <= 1.002 * lower
    same = [(LaplacePair(scale), 1) for scale in scales[:40]] + [(GaussianPair(scale), 1) for scale in scales]
    few = epsilon_bounds(same, 1e-6)
    assert few[0] <= few[1] <= lower


def test_closed_form_laplace_grids_bracket_the_general_ones() -> None:
    parts = [(LaplacePair(20 + each / 7), 1) for each in range(60)]
    closed = epsilon_bounds(parts, 1e-5)
    general = epsilon_bounds(parts[:30], 1e-5), epsilon_bounds(parts[30:], 1e-5)
    assert closed[0] <= closed[1]
    assert closed[1] >= max(each[0] for each in general)
    assert closed[0] <= sum(epsilon_bounds(half, 5e-6)[1] for half in (parts[:30], parts[30:]))


def test_other_pairs() -> None:
    lower, upper = epsilon_bounds([(discrete_gaussian_pair(3.0), 1)], 1e-6)
    assert lower <= 1.4549134565 and upper >= 1.4549102442 and upper < 1.0001 * lower
    lower, upper = epsilon_bounds([(approximate_pair(0.5, 1e-8), 50)], 1e-6)
    assert lower <= 20.7731232327 and upper >= 20.7731232323
    assert epsilon_bounds([(approximate_pair(0.5, 1e-3), 50)], 1e-6)[1] == float("inf")
    lower, upper = epsilon_bounds([(response_pair(Fraction(3, 4), 3), 1)], 0.0001)
    assert lower <= log(6) and upper >= log(6 * (1 - 1e-4 / 0.75))
    pair = bounded_range_pair(1.0, 0.4)
    for side in (pair.p, pair.q):
        assert abs(sum(float(each) for each in side) - 1) < 1e-14


@pytest.mark.parametrize(
    ("noise", "rate", "count", "delta", "low", "high"),
    [(0.6, 1e-5, 100_000, 1e-8, 0.26078, 0.26384), (1.0, 1e-5, 100_000, 1e-8, 0.01726, 0.01785)],
)
def test_tiny_sampling_rates(noise: float, rate: float, count: int, delta: float, low: float, high: float) -> None:
    """Bulk and tail on two meshes, long double where round-off would decide; others say .0391 in the second case."""
    lower, upper = epsilon_bounds([(GaussianPair(noise, rate), count)], delta, gap=2e-3)
    assert lower <= high
    assert upper >= low
    assert 0 < upper - lower <= 2.1e-3 * lower


def test_two_meshes_agree_with_one() -> None:
    """The same composition with and without the split, which fewer than 1000 copies do not get."""
    pair, delta = GaussianPair(0.7, 1e-3), 1e-6
    split = epsilon_bounds([(pair, 1998)], delta)
    whole = epsilon_bounds([(pair, 999), (GaussianPair(0.7 * (1 + 1e-9), 1e-3), 999)], delta)
    assert max(split[0], whole[0]) <= min(split[1], whole[1]) * (1 + 1e-6)


def test_what_is_revealed_outright_costs_everything() -> None:
    assert epsilon_bounds([(approximate_pair(0.1, 1e-6), 10)], 1e-6) == (float("inf"), float("inf"))
    assert epsilon_bounds([], 1e-6) == (0.0, 0.0) == delta_bounds([(GaussianPair(1.0, 0.0), 5)], 0.1)
