"""The slope against brute force on grids: local sensitivity within the grid's own error, never below at a distance."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.sensitivity import Slope, at_distance, local

RELATIONS = ["add_remove", "substitute"]
SIDE = (0, 1, 2)
CORNERS = tuple(product(SIDE, repeat=2))
BOUNDS = ((0, 2), (0, 2))
WITHIN = (-3, 2)

points = st.lists(st.sampled_from(CORNERS), max_size=4)


def slope(data: tuple) -> Fraction:
    n = len(data)
    x, y = (sum(each[i] for each in data) for i in (0, 1))
    spread = n * sum(a * a for a, _ in data) - x * x
    if not spread:
        return Fraction(sum(WITHIN), 2)
    return min(max(Fraction(n * sum(a * b for a, b in data) - x * y, spread), *WITHIN[:1]), WITHIN[1])


def columns(data: list) -> tuple[list, list]:
    return [a for a, _ in data], [b for _, b in data]


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=60)
@given(x=points)
def test_it_is_brute_force_over_a_fine_grid(brute_force, relation, x) -> None:
    grid = [Fraction(each, 32) for each in range(65)]
    fine = list(product(grid, (0, 2)))  # the slope is extreme at an end of y
    (expected,) = brute_force(slope, x, CORNERS, relation, 0, distant=lambda _: fine)
    found = local(Slope(WITHIN), columns(x), bounds=BOUNDS, relation=relation)
    assert expected <= found <= expected * (1 + Fraction(1, 50))
    assert Slope(WITHIN).value(columns(x), BOUNDS) == float(slope(tuple(x)))


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=25)
@given(x=points)
def test_at_a_distance_it_is_never_below(brute_force, relation, x) -> None:
    expected = brute_force(slope, x, CORNERS, relation, 2)
    for k, each in enumerate(expected):
        assert at_distance(Slope(WITHIN), columns(x), k, bounds=BOUNDS, relation=relation) >= each


@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=12)
@given(x=st.lists(st.sampled_from(CORNERS), max_size=5))
def test_on_spread_data_it_is_never_below(brute_force, relation, x) -> None:
    spread = [*x, *CORNERS, (0, 0), (2, 2), (0, 1), (2, 1)]
    ends = list(product((0, 2), repeat=2))
    expected = brute_force(slope, spread, ends, relation, 2)
    for k, each in enumerate(expected):
        assert each <= at_distance(Slope(WITHIN), columns(spread), k, bounds=BOUNDS, relation=relation) < 5


@pytest.mark.parametrize("relation", RELATIONS)
def test_at_a_distance_it_is_below_the_width_once_there_are_many_points(relation) -> None:
    x = ([each / 200 for each in range(200)], [each / 400 for each in range(200)])
    found = [at_distance(Slope((-1, 1)), x, k, bounds=((0, 1), (0, 1)), relation=relation) for k in range(4)]
    assert found == sorted(found)
    assert found[3] < 0.5


def test_flat_and_empty_data_have_the_midpoint() -> None:
    assert Slope((1, 3)).value(([], []), BOUNDS) == 2
    assert Slope((1, 3)).value(([1, 1], [0, 2]), BOUNDS) == 2


def test_nearly_flat_data_can_go_anywhere() -> None:
    x = ([0.5, 0.5 + 2**-50, 0.5], [0, 1, 1])
    assert local(Slope((-1, 1)), x, bounds=((0, 1), (0, 1))) >= 1


@pytest.mark.parametrize("within", [(1, 1), (2, 1), (0, float("inf")), 3])
def test_a_bad_range_is_refused(within) -> None:
    with pytest.raises(ParameterError):
        Slope(within)


@pytest.mark.parametrize(
    ("x", "bounds"), [(([1], [1, 2]), BOUNDS), ([1, 2, 3], BOUNDS), (([1], [1]), (0, 1)), (([1], [1]), None)]
)
def test_bad_shapes_are_refused(x, bounds) -> None:
    with pytest.raises(ParameterError):
        local(Slope(WITHIN), x, bounds=bounds)
