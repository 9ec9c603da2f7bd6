"""Mean, sum and variance against brute force: equal where exact, never below where bounded."""

from __future__ import annotations

import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.sensitivity import at_distance, local, smooth, statistic

RELATIONS = ["add_remove", "substitute"]
LEFT, RIGHT = -2, 4
DOMAIN = (LEFT, -1, 2, RIGHT)
GIVEN = {"bounds": (LEFT, RIGHT)}
NEARLY = 1 + 1e-12  # the brute force counts in floats

small = st.lists(st.sampled_from(DOMAIN), max_size=3)


@cache
def mean(data: tuple) -> float:
    return math.fsum(data) / len(data) if data else (LEFT + RIGHT) / 2


@cache
def variance(data: tuple) -> float:
    centre = mean(data)
    return math.fsum((each - centre) ** 2 for each in data) / max(1, len(data))


def means_of_all_but_one(data: tuple) -> list:
    """Where a record does least for the variance."""
    rests = [data, *(data[:i] + data[i + 1 :] for i in range(len(data)))]
    return [mean(rest) for rest in rests if rest]


EXACT = {"mean": mean, "sum": sum}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("relation", RELATIONS)
@given(x=small)
def test_mean_and_sum_are_brute_force(brute_force, name, relation, x) -> None:
    expected = brute_force(EXACT[name], x, DOMAIN, relation, len(x) + 2)
    for k, each in enumerate(expected):
        found = at_distance(name, x, k, **GIVEN, relation=relation)
        assert each / NEARLY <= found <= each * NEARLY
    assert statistic(name).value(x, (LEFT, RIGHT)) == pytest.approx(EXACT[name](tuple(x)))


@given(x=small)
def test_variance_under_substitution_is_brute_force(brute_force, x) -> None:
    expected = brute_force(variance, x, DOMAIN, "substitute", len(x) + 1, distant=means_of_all_but_one)
    for k, each in enumerate(expected):
        assert each / NEARLY <= at_distance("variance", x, k, **GIVEN, relation="substitute") <= each * NEARLY


@given(x=small)
def test_variance_under_add_remove_is_never_below(brute_force, x) -> None:
    expected = brute_force(variance, x, DOMAIN, "add_remove", len(x) + 2, distant=means_of_all_but_one)
    here, *farther = (at_distance("variance", x, k, **GIVEN) for k in range(len(x) + 3))
    assert expected[0] / NEARLY <= here <= expected[0] * NEARLY
    assert all(found >= each / NEARLY for found, each in zip(farther, expected[1:], strict=True))
    assert statistic("variance").value(x, (LEFT, RIGHT)) == pytest.approx(variance(tuple(x)))


def test_variance_is_within_twice_its_worst_while_the_distance_is_small() -> None:
    x = [math.sin(each) / 2 + 0.5 for each in range(2000)]
    here = local("variance", x, bounds=(0, 1))
    assert at_distance("variance", x, 1, bounds=(0, 1)) <= 2.01 * here


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_removing_moves_a_mean_by_the_width_over_n(n) -> None:
    assert local("mean", [0] * (n - 1) + [1], bounds=(0, 1)) == pytest.approx(1 / n, rel=1e-15)


def test_the_mean_at_a_distance_stays_below_the_width_over_those_left() -> None:
    x = [0] * 9 + [1]
    for k in range(10):
        assert at_distance("mean", x, k, bounds=(0, 1)) <= 1 / (10 - k) * NEARLY
    assert at_distance("mean", x, 5, bounds=(0, 1)) == pytest.approx(1 / 5)


def test_adding_to_data_around_zero_moves_a_mean_by_more_than_the_upper_bound_over_n_plus_one() -> None:
    assert local("mean", [-1, -1, -1], bounds=(-1, 1)) == 0.5


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["mean", "sum", "variance"])
@pytest.mark.parametrize("beta", [1e-5, 0.01, 0.2, 3])
def test_the_search_agrees_with_a_scan_over_all_distances(name, relation, beta) -> None:
    x = [math.sin(each) ** 3 for each in range(150)]
    profile = statistic(name).profile(x, (-1, 1), relation)
    scan = max(math.exp(-beta * k) * profile.at_distance(k) for k in range(profile.last + 1))
    assert scan <= smooth(name, x, beta, bounds=(-1, 1), relation=relation) <= scan * (1 + 1e-7)
