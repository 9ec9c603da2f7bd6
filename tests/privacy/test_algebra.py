"""The laws of the algebra, and how the interpreters agree with one another."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.privacy import (
    approx,
    as_mu,
    as_rho,
    bounded_range,
    discrete_gaussian,
    gaussian,
    laplace,
    mu,
    pure,
    randomized_response,
    rdp,
    rho,
    tradeoff,
)
from discreet.privacy.accounting._canonical import canonical_form
from discreet.privacy.theorems import renyi_divergence

amounts = st.floats(0.2, 3).map(lambda x: round(x, 3))
leaves = st.one_of(
    amounts.map(pure),
    amounts.map(mu),
    amounts.map(rho),
    amounts.map(gaussian),
    amounts.map(lambda eps: approx(eps, "1e-7")),
    amounts.map(laplace),
)
cheap = st.one_of(amounts.map(mu), amounts.map(gaussian), amounts.map(lambda m: mu(m, "1e-8")))
deltas = st.sampled_from(["1e-3", "1e-6", "1e-12"])


def meet(a, b):
    return a[0] <= b[1] * (1 + 1e-9) and b[0] <= a[1] * (1 + 1e-9)


@given(leaves, leaves, deltas)
@settings(max_examples=3, deadline=None)
def test_addition_commutes_within_brackets(a, b, delta):
    assert meet((a + b).bounds(delta=delta), (b + a).bounds(delta=delta))


@pytest.mark.soak
@given(leaves, leaves, deltas)
@settings(max_examples=60, deadline=None)
def test_addition_of_many_commutes_within_brackets(a, b, delta):
    assert meet((a + b).bounds(delta=delta), (b + a).bounds(delta=delta))


@given(leaves, leaves, cheap, deltas)
@settings(max_examples=4, deadline=None)
def test_addition_is_associative_within_brackets(a, b, c, delta):
    assert meet(((a + b) + c).bounds(delta=delta), (a + (b + c)).bounds(delta=delta))


@given(leaves, st.integers(1, 5), deltas)
@settings(max_examples=4, deadline=None)
def test_multiples_are_sums(a, n, delta):
    assert meet((n * a).bounds(delta=delta), sum([a] * n).bounds(delta=delta))


@pytest.mark.soak
@given(leaves, st.integers(1, 5), deltas)
@settings(max_examples=60, deadline=None)
def test_many_multiples_are_sums(a, n, delta):
    assert meet((n * a).bounds(delta=delta), sum([a] * n).bounds(delta=delta))


@given(leaves, deltas)
@settings(max_examples=25, deadline=None)
def test_more_never_costs_less(a, delta):
    low, high = a.bounds(delta=delta)
    assert 0 <= low <= high
    assert (2 * a).epsilon(delta) >= high * (1 - 1e-9)
    assert a.group(1) is a
    assert a.group(2).epsilon(delta) >= low
    assert a.delta(1) >= a.bounds(epsilon="1.5")[0]


@given(amounts, st.floats(0.001, 0.9), deltas)
@settings(max_examples=20, deadline=None)
def test_a_smaller_sample_and_more_noise_never_cost_more(noise, rate, delta):
    rare, often = gaussian(noise).sampled(rate / 2), gaussian(noise).sampled(rate)
    assert rare.epsilon(delta) <= often.epsilon(delta) * (1 + 1e-9)
    assert often.epsilon(delta) <= gaussian(noise).epsilon(delta) * (1 + 1e-9)
    assert gaussian(noise * 1.5).epsilon(delta) <= gaussian(noise).epsilon(delta)


@given(leaves, deltas)
@settings(max_examples=20, deadline=None)
def test_epsilon_and_delta_are_inverse(a, delta):
    high = a.epsilon(delta)
    if math.isinf(high):  # more than delta leaks outright
        return
    assert a.delta(high) <= float(delta) * (1 + 1e-2)  # a float ε moves δ = 1e-12 by so much


@given(amounts, deltas)
@settings(max_examples=30, deadline=None)
def test_conversions_agree_with_the_theorems(x, delta):
    # epsilon-DP is epsilon^2/2-zCDP; Gaussian noise is 1/2s^2; each conversion may only cost more.
    assert pure(x).rho() == pytest.approx(x * x / 2)
    assert rho(pure(x).rho()).epsilon(delta) >= pure(x).bounds(delta=delta)[0]
    assert mu(pure(x).mu()).epsilon(delta) >= pure(x).bounds(delta=delta)[0]
    assert pure(x).mu() == pytest.approx(
        float(2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(x) / 2))), rel=2e-3
    )
    assert rho(gaussian(x).rho()).epsilon(delta) >= gaussian(x).epsilon(delta) * (1 - 1e-12)
    assert rho(gaussian(x).rho()).bounds(delta=delta)[0] == pytest.approx(gaussian(x).bounds(delta=delta)[0], rel=1e-9)
    assert gaussian(x).mu() == pytest.approx(1 / x)


def test_mu_of_a_small_epsilon_is_above_and_near():
    for eps in ("1e-9", "1e-4", "0.000999", "0.001001", "1", "40"):
        truth = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(mpmath.mpf(eps) / 2)) if float(eps) < 30 else None
        value = pure(eps).mu()
        assert truth is None or float(truth) <= value <= truth * 1.001


@pytest.mark.parametrize("order", [1.0001, 1.5, 2, 3.7, 30, 500])
def test_renyi_of_finite_pairs(order):
    a = math.exp(0.7)
    p, q = [a / (1 + a), 1 / (1 + a)], [1 / (1 + a), a / (1 + a)]
    truth = renyi_divergence(p, q, order)
    assert truth <= pure("0.7").renyi(order) * (1 + 1e-12)
    assert pure("0.7").renyi(order) <= truth * (1 + 1e-9) + 1e-11 / (order - 1)
    p, q = [0.6, 0.2, 0.2], [0.2, 0.6, 0.2]
    truth = renyi_divergence(p, q, order)
    assert truth * (1 - 1e-12) <= randomized_response("0.6", 3).renyi(order) <= truth * (1 + 1e-6) + 1e-11 / (order - 1)


@pytest.mark.parametrize("order", [1.5, 2, 8])
def test_renyi_of_laplace_and_sampled_gaussian(order):
    al = mpmath.mpf(order)
    truth = mpmath.log(al / (2 * al - 1) * mpmath.exp(al - 1) + (al - 1) / (2 * al - 1) * mpmath.exp(-al)) / (al - 1)
    assert truth <= laplace(1).renyi(order) <= truth * (1 + 1e-9)
    q, s = mpmath.mpf("0.1"), mpmath.mpf(1)

    def integrand(x):
        base = mpmath.npdf(x, 0, s)
        return base * (1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))) ** al

    truth = mpmath.log(mpmath.quad(integrand, [-20, -5, 0, 1, 5, 10, 40])) / (al - 1)
    bound = gaussian(1).sampled("0.1").renyi(order)
    assert truth <= bound * (1 + 1e-9)
    assert order != int(order) or bound <= truth * (1 + 1e-6)


def test_renyi_orders_in_between_are_convex_bounds():
    stated = rdp([2, 4, 8], ["0.02", "0.04", "0.08"])
    for order in (1.2, 2, 3, 5.5, 8):
        assert gaussian(10).renyi(order) <= stated.renyi(order) + 0.006
    assert stated.renyi(9) == math.inf
    assert stated.renyi(3) == pytest.approx((0.02 + 0.12) / 2 / 2, rel=1e-6)


def test_a_curve_of_divergences_is_above_the_noise_it_came_from():
    orders = list(range(2, 65))
    noisy = gaussian(5)
    low, high = rdp(orders, [order / 50 for order in orders]).bounds(delta=1e-6)
    assert low <= noisy.bounds(delta=1e-6)[1] * (1 + 1e-9)
    assert high >= noisy.bounds(delta=1e-6)[0]
    assert high <= 1.1 * noisy.epsilon(1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.001, 0.05, 0.3, 0.9, 1.0])
def test_tradeoff_of_known_curves(alpha):
    a = math.exp(1)
    exact = max(0, 1 - a * alpha, (1 - alpha) / a)
    assert exact - 1e-6 <= pure(1).tradeoff(alpha) <= exact
    exact = max(0, 0.9 - a * alpha, (0.9 - alpha) / a)
    assert exact - 1e-4 <= approx(1, "0.1").tradeoff(alpha) <= exact + 1e-15
    z = mpmath.mpf(0) if alpha in (0, 1) else mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(alpha))
    exact = float({0.0: 1, 1.0: 0}.get(alpha, mpmath.ncdf(z - 2)))
    assert exact * (1 - 1e-9) - 1e-300 <= mu(2).tradeoff(alpha) <= exact
    assert gaussian("0.5").sampled(1).tradeoff(alpha) == mu(2).tradeoff(alpha)


def test_tradeoff_of_a_composition_is_a_valid_line():
    loss = 10 * gaussian(3).sampled("0.2")
    for alpha in (0.01, 0.2):
        assert 0 < loss.tradeoff(alpha) < 1 - alpha
        assert loss.tradeoff(alpha) >= (10 * gaussian(3)).tradeoff(alpha)


def test_a_trade_off_function_and_its_table():
    def gdp(alpha):
        from scipy.special import ndtr, ndtri

        return float(ndtr(ndtri(1 - alpha) - 1))

    stated = tradeoff(gdp)
    for eps in (0.0, 0.5, 1.5):
        assert mu(1).delta(eps) <= stated.delta(eps) * (1 + 1e-9)
        assert stated.delta(eps) <= mu(1).delta(eps) * 1.05 + 1e-4
    a = math.e
    corner = 1 / (1 + a)
    table = tradeoff([(0, 1), (corner, corner), (1, 0)])
    assert table.delta("0.5") == pytest.approx(pure(1).delta("0.5"), rel=1e-9)
    assert tradeoff(table.points) == table
    lopsided = tradeoff([(0, "0.9"), ("0.2", "0.5"), ("0.9", 0)])
    assert lopsided.points[0] == (0, lopsided.points[-1][0])


def test_tradeoffs_compose_numerically():
    corner = 1 / (1 + math.e)
    table = tradeoff([(0, 1), (corner, corner), (1, 0)])
    low, high = (5 * table).bounds(delta=1e-3)
    exact = (5 * pure(1)).bounds(delta=1e-3)
    assert low <= exact[1] * (1 + 1e-6) and exact[0] <= high * (1 + 1e-6)
    assert high <= exact[1] * 1.01


def test_numbers_of_the_reference_kind():
    run = 1000 * gaussian(1).sampled("0.01")
    low, high = run.bounds(delta=1e-5)
    assert high >= 1.8280365 and low <= 1.8282437 and high - low <= 2e-3 * high
    wor = 1000 * gaussian(1).sampled("0.01", "without_replacement")
    low, high = wor.bounds(delta=1e-5)
    assert low <= 3.5761 and 1.8280 <= high <= 2.3
    mix = 50 * gaussian(20) + 10 * approx("0.1", "1e-9")
    low, high = mix.bounds(delta=1e-6)
    assert low <= 2.06005 <= high * (1 + 1e-3)


@pytest.mark.parametrize(
    "mixed", [pure("0.1") + rho("0.1"), rho("0.1") + 10 * laplace(20), 10 * bounded_range("0.1") + gaussian(5)]
)
def test_parts_without_a_pair_are_dominated(mixed):
    low, high = mixed.bounds(delta=1e-6)
    assert 0 < low <= high < math.inf
    if as_rho(mixed)[1] == 0:
        assert high <= rho(mixed.rho()).epsilon(1e-6) * (1 + 1e-6)


def test_groups_of_compositions():
    step = gaussian(2).sampled("0.05")
    single, pair = 5 * step, (5 * step).group(2)
    low, high = pair.bounds(delta=1e-4)
    assert single.bounds(delta=1e-4)[0] <= high < math.inf and low <= high
    assert (5 * step).under("substitute").epsilon(1e-4) == pytest.approx(high, rel=1e-3)
    # Two records in, two out: brute force over which of them are sampled is below the stated curve.
    for eps in (0.01, 0.1, 0.3):
        worst = _binomial_mixture(0.05, 2.0, 2, eps)
        assert worst <= step.group(2).delta(eps) * (1 + 1e-9)


def _binomial_mixture(rate, sigma, k, eps):
    """delta of sum_j Bin(k, q)(j) N(j, s^2) against N(0, s^2)."""
    x = np.arange(-4000, 6000) / 200
    weights = [math.comb(k, j) * rate**j * (1 - rate) ** (k - j) for j in range(k + 1)]
    mixed = sum(weight * stats.norm.pdf(x, j, sigma) for j, weight in enumerate(weights))
    gaps = np.maximum(mixed - math.exp(eps) * stats.norm.pdf(x, 0, sigma), 0)
    return math.fsum(gaps) / 200 * (1 - 1e-3)


def test_mu_and_rho_where_defined():
    assert as_mu(rho(1)) is None
    assert (3 * gaussian(1) + discrete_gaussian(2)).rho() == 1.625
    assert (mu(3) + gaussian("0.25")).mu() == 5.0
    assert discrete_gaussian(2, 2).rho() == 0.5
    assert gaussian(1).sampled("0.1").rho() == 0.5


def test_many_gaussians_without_a_common_denominator_are_summed_from_above():
    primes = [p for p in range(1_000, 2_000) if all(p % q for q in range(2, 45))]
    exact = sum(Fraction(p) ** -2 for p in primes)
    total = sum((gaussian(p) for p in primes), start=gaussian(7))
    found = canonical_form(total).items[0][0].mu_squared
    assert len(primes) > 64
    assert 0 <= found - exact - Fraction(1, 49) < Fraction(1, 2**100)
    low, high = total.bounds(delta=1e-6)
    assert low <= gaussian(1).epsilon(1e-6) and low <= high <= low * (1 + 1e-10)
