"""The classical theorems with the numbers that were recomputed by brute force."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import approx, gaussian, pure
from discreet.privacy import theorems as t


def test_advanced_and_optimal_composition():
    assert t.advanced_composition(0.1, 0, 100, 1e-6)[0] == pytest.approx(6.31, abs=0.005)
    assert t.optimal_composition(0.1, 0, 100, 1e-6) == pytest.approx(4.7746, abs=5e-5)
    assert t.advanced_composition(1, 1e-9, 3, 1e-6) == pytest.approx((3, 3e-9))  # k epsilon is less, and needs no slack
    assert t.basic_composition([(0.1, 1e-9)] * 3) == pytest.approx((0.3, 3e-9))
    assert t.basic_composition([]) == (0, 0)
    with pytest.raises(ParameterError, match="slack"):
        t.advanced_composition(0.1, 0, 100, 0)


@given(st.floats(0.001, 2), st.integers(1, 200), st.sampled_from([1e-3, 1e-6, 1e-9]))
@settings(max_examples=30, deadline=None)
def test_optimal_is_never_worse(eps, k, slack):
    eps = round(eps, 4)
    claimed, delta = t.advanced_composition(eps, 0, k, slack)
    if delta:
        assert t.optimal_composition(eps, 0, k, delta) <= claimed * (1 + 1e-9)
    assert t.optimal_composition(eps, 0, k, slack) <= k * eps * (1 + 1e-12)


def test_kl_of_an_epsilon_pair():
    assert t.kl_of_pure(1) == pytest.approx(0.462, abs=5e-4)
    assert t.kl_of_pure(1, tight=False) == pytest.approx(1.718, abs=5e-4)
    a = math.e
    p, q = [a / (1 + a), 1 / (1 + a)], [1 / (1 + a), a / (1 + a)]
    assert t.kl_divergence(p, q) == pytest.approx(t.kl_of_pure(1), rel=1e-12)  # attained by randomized response


def test_divergences():
    p, q = [0.5, 0.3, 0.2], [0.25, 0.25, 0.5]
    assert t.max_divergence(p, q) == pytest.approx(math.log(2))
    assert t.max_divergence([1, 0], [0, 1]) == math.inf
    assert t.kl_divergence([1, 0], [0.5, 0.5]) == pytest.approx(math.log(2))
    assert t.kl_divergence([0.5, 0.5], [1, 0]) == math.inf
    assert t.renyi_divergence(p, q, 1) == t.kl_divergence(p, q)
    assert t.renyi_divergence(p, q, math.inf) == t.max_divergence(p, q)
    values = [t.renyi_divergence(p, q, order) for order in (1, 1.5, 2, 5, 50, math.inf)]
    assert values == sorted(values)
    assert t.renyi_divergence([0.5, 0.5], [1, 0], 2) == math.inf


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=5), st.lists(st.floats(0.01, 1), min_size=5, max_size=5),
       st.floats(0, 0.5))  # fmt: skip
@settings(deadline=None)
def test_approximate_max_divergence_by_brute_force(a, b, delta):
    b = b[: len(a)]
    p, q = [x / math.fsum(a) for x in a], [x / math.fsum(b) for x in b]
    best = -math.inf
    for mask in range(1, 2 ** len(p)):
        mass = math.fsum(x for i, x in enumerate(p) if mask >> i & 1)
        other = math.fsum(x for i, x in enumerate(q) if mask >> i & 1)
        if mass > delta + 1e-12:
            best = max(best, math.log((mass - delta) / other))
    assert t.approximate_max_divergence(p, q, delta) == pytest.approx(best, abs=1e-9)


def test_group_privacy_and_parallel():
    assert t.group_privacy(0.5, 1e-6, 10)[1] == pytest.approx(227e-6, rel=2e-3)
    assert t.group_privacy(0.5, 1e-6, 10, tight=False)[1] == pytest.approx(900e-6, rel=2e-3)
    assert t.group_privacy(0, 1e-6, 10) == pytest.approx((0, 1e-5))
    assert t.parallel_composition([1, 2]) == 2 and t.parallel_composition([1, 2], "substitute") == 4


def test_azuma_holds_for_a_walk():
    threshold, probability = t.azuma(100, 1, 0, 2)
    tail = sum(math.comb(100, j) for j in range(101) if 2 * j - 100 > threshold) / 2**100
    assert threshold == 20 and tail <= probability


def test_pure_with_probability_is_not_what_delta_says():
    # THEORY section 1: for the exact (1, 1e-5) Gaussian, Pr[L > 1] is 16 times delta; at 0.1 it is 111 times.
    for eps, times in ((1, 16), (0.1, 111)):
        low, high = 0.01, 200.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if gaussian(middle).delta(eps) > 1e-5 else (low, middle)
        sigma = high
        tail = 0.5 * math.erfc((eps * sigma - 1 / (2 * sigma)) / math.sqrt(2))
        assert tail / 1e-5 == pytest.approx(times, rel=0.03)


@pytest.mark.parametrize(
    "call",
    [
        lambda: t.kl_of_pure(-1),
        lambda: t.kl_divergence([0.5], [1]),
        lambda: t.kl_divergence([0.5, 0.5], [1]),
        lambda: t.max_divergence([math.nan, 1], [0.5, 0.5]),
        lambda: t.renyi_divergence([1], [1], 0.5),
        lambda: t.azuma(10, -1, 0, 1),
        lambda: t.group_privacy(1, 0, 0),
        lambda: t.group_privacy(1, -1, 2),
        lambda: t.basic_composition([(1, 2)]),
        lambda: t.parallel_composition([1], "edges"),
    ],
)
def test_bad_input(call):
    with pytest.raises(ParameterError):
        call()


def test_pure_and_approx_agree_with_the_named_theorems():
    assert (7 * approx("0.3", "1e-7")).epsilon("0.7e-6") <= t.basic_composition([(0.3, 1e-7)] * 7)[0]
    assert (100 * pure("0.1")).epsilon(1e-6) == t.optimal_composition("0.1", 0, 100, 1e-6)


def test_past_the_largest_float_is_infinity():
    assert t.group_privacy(1, 1e-6, 1000) == (1000, math.inf)
    assert t.group_privacy(1, 1e-6, 1000, tight=False) == (1000, math.inf)
    assert t.group_privacy(1, 0, 1000) == (1000, 0)
    assert t.group_privacy(1, 1e-300, 1000)[1] == pytest.approx(math.exp(1000 - 300 * math.log(10)) / (math.e - 1))
    assert t.kl_of_pure(1000, tight=False) == math.inf
    assert t.advanced_composition(1000, 0, 3, 1e-6) == (3000, 0)
