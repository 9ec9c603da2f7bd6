"""Quantiles against brute force: equal, at every distance and for every beta, under both relations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.sensitivity import Quantile, at_distance, distance, local, smooth, statistic

RELATIONS = ["add_remove", "substitute"]
RANKS = [Fraction(each) for each in ("0", "1/10", "1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "9/10", "1")]


@st.composite
def small(draw) -> tuple[list, set]:
    """Up to 4 values, and the domain that they and others are from: both bounds and two numbers between."""
    domain = {0, 8, draw(st.integers(1, 3)), draw(st.integers(3, 7))}
    return draw(st.lists(st.sampled_from(sorted(domain)), max_size=4)), domain


betas = st.sampled_from([1e-6, 0.01, 0.1, 0.5, 2.0])


def quantile(q: Fraction):
    def value(data: tuple) -> float:
        return data[max(1, math.ceil(q * len(data))) - 1] if data else 4

    return value


def check(brute_force, q: Fraction, data: tuple, beta: float, relation: str) -> None:
    x, domain = data
    statistic = Quantile(q)
    expected = brute_force(quantile(q), x, domain, relation, len(x) + 2)
    given = {"bounds": (0, 8), "relation": relation}
    assert statistic.value(x, (0, 8)) == quantile(q)(tuple(sorted(x)))
    assert [at_distance(statistic, x, k, **given) for k in range(len(x) + 3)] == expected
    assert local(statistic, x, **given) == expected[0]
    largest = max(math.exp(-beta * k) * each for k, each in enumerate(expected))
    assert largest <= smooth(statistic, x, beta, **given) <= largest * (1 + 1e-9)
    for bound in (0, 1, 3, 7.5, 8):
        steps = next((k for k, each in enumerate(expected) if each > bound), math.inf)
        assert distance(statistic, x, bound, **given) == steps


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=150)
@given(data=small(), beta=betas)
def test_the_median_is_brute_force(brute_force, relation, data, beta) -> None:
    check(brute_force, Fraction(1, 2), data, beta, relation)


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=150)
@given(q=st.sampled_from(RANKS), data=small(), beta=betas)
def test_every_quantile_is_brute_force(brute_force, relation, q, data, beta) -> None:
    check(brute_force, q, data, beta, relation)


@pytest.mark.soak
@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=2_000)
@given(q=st.sampled_from([Fraction(1, 2), *RANKS]), data=small(), beta=betas)
def test_many_quantiles_are_brute_force(brute_force, relation, q, data, beta) -> None:
    check(brute_force, q, data, beta, relation)


def test_one_value_needs_two_steps() -> None:
    assert [at_distance("median", [0.5], k, bounds=(0, 1)) for k in (0, 1, 2, 3)] == [0.5, 0.5, 1, 1]
    assert [at_distance("median", [0.5], k, bounds=(0, 1), relation="substitute") for k in (0, 1)] == [0.5, 1]


def every_pair(q: Fraction, x: np.ndarray, beta: float) -> float:
    """Smooth sensitivity under add/remove by gaps: for every pair of ends the nearest data set that jumps across."""
    n, padded = len(x), np.concatenate([[0], np.sort(x), [1]])
    rank = [max(1, math.ceil(q * m)) for m in range(2 * n + 5)]
    pairs = [(rank[m], m + 1 - rank[m]) for m in range(1, 2 * n + 3)]
    pairs += [(rank[m + 1] - 1, m + 1 - rank[m + 1]) for m in range(1, 2 * n + 3)]
    below, above = (np.array(each) for each in zip(*pairs, strict=True))
    best = 0.0
    for s in range(n + 1):
        for t in range(s + 1, n + 2):
            steps = t - s - 1 + (np.abs(below - s) + np.abs(above - (n + 1 - t))).min()
            best = max(best, math.exp(-beta * steps) * (padded[t] - padded[s]))
    return max(best, math.exp(-beta * n) / 2, math.exp(-beta * (n - 1)) * max(abs(x - 0.5)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("q", RANKS)
@pytest.mark.parametrize("beta", [0.003, 0.05, 0.5])
def test_the_fast_search_finds_the_best_of_all_pairs(q, beta) -> None:
    rng = np.random.default_rng(7)
    for x in (rng.random(37), np.round(rng.beta(0.3, 0.6, 41), 1), np.minimum(rng.lognormal(size=30) / 9, 1)):
        assert smooth(Quantile(q), x, beta, bounds=(0, 1)) == pytest.approx(every_pair(q, x, beta), rel=1e-8)


@pytest.mark.parametrize("q", RANKS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_search_agrees_with_a_scan_over_all_distances(q, relation) -> None:
    rng = np.random.default_rng(3)
    for x in (rng.random(400), np.sort(rng.random(301)) ** 9, np.repeat([0.0, 1.0], 100)):
        profile = Quantile(q).profile(x, (0, 1), relation)
        around = [profile.at_distance(k) for k in range(profile.last + 1)]
        assert around == sorted(around)
        for beta in (1e-5, 0.004, 0.03, 0.3):
            scan = max(math.exp(-beta * k) * each for k, each in enumerate(around))
            assert smooth(Quantile(q), x, beta, bounds=(0, 1), relation=relation) == pytest.approx(scan, rel=1e-7)


def test_the_search_goes_on_where_the_work_is_cut_in_chunks(monkeypatch) -> None:
    from discreet.sensitivity import _staircase

    x = np.random.default_rng(5).random(500)
    whole = smooth(Quantile(0.3), x, 0.01, bounds=(0, 1))
    monkeypatch.setattr(_staircase, "_CHUNK", 7)
    assert smooth(Quantile(0.3), x, 0.01, bounds=(0, 1)) == whole


@pytest.mark.parametrize("beta", [1e-7, pytest.param(1e-3, marks=pytest.mark.soak)])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("q", [pytest.param("1/2", marks=pytest.mark.soak), "1/4"])
def test_a_million_values_take_seconds(q, relation, beta) -> None:
    x = np.random.default_rng(0).lognormal(size=1_000_000)
    assert 0 < smooth(Quantile(q), x, beta, bounds=(0, 20), relation=relation) <= 20.0000001


def test_minimum_and_maximum_are_quantiles() -> None:
    x = [3, 1, 2]
    assert [statistic(each).value(x, (0, 9)) for each in ("min", "median", "max")] == [1, 2, 3]
    assert statistic("median").value([1, 2, 3, 4], (0, 9)) == 2


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), "half"])
def test_a_bad_rank_is_refused(q) -> None:
    with pytest.raises(ParameterError):
        Quantile(q)


def test_a_rank_with_many_digits_does_not_overflow() -> None:
    q = Fraction(12345678901234567, 98765432109876543)
    assert at_distance(Quantile(q), range(50), 3, bounds=(0, 49)) > 0
