"""Every sensitivity, by brute force over all the data that one unit can have."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import pytest

from discreet.errors import ParameterError
from discreet.sensitivity import Norms, bounded_sum, count, keys_touched

GROUPS = 3
BOUNDS = [(0, 1), (0, 3), (1, 3), (-2, 1), (-3, -1), (-2, 2), (0, 0), (2, 2), (-1, 0)]


def answers_of_a_unit(lower: int, upper: int, rows: int, groups: int) -> set[tuple[int, ...]]:
    """What one unit can add to each group, with at most `rows` rows."""
    row = [(0, 0), *product(range(groups), range(lower, upper + 1))]
    found = set()
    for chosen in combinations_with_replacement(row, rows):
        answer = [0] * groups
        for group, value in chosen:
            answer[group] += value
        found.add(tuple(answer))
    return found


def attained(units: set[tuple[int, ...]], relation: str) -> Norms:
    """The largest distances between answers on neighbours; other units cancel."""
    nobody = tuple(0 for _ in next(iter(units)))
    pairs = product(units, [nobody]) if relation == "add_remove" else product(units, units)
    steps = [[x - y for x, y in zip(a, b, strict=True)] for a, b in pairs]
    return Norms(
        max(sum(map(abs, d)) for d in steps),
        max(sum(x * x for x in d) for d in steps),
        max(max(map(abs, d)) for d in steps),
    )


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounded_sum_claims_exactly_what_is_attained(bounds, rows, grouped, relation) -> None:
    units = answers_of_a_unit(*bounds, rows, GROUPS if grouped else 1)
    assert bounded_sum(*bounds, rows, relation, grouped=grouped) == attained(units, relation)


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_count_claims_exactly_what_is_attained(rows, grouped, relation) -> None:
    units = answers_of_a_unit(1, 1, rows, GROUPS if grouped else 1)
    assert count(rows, relation, grouped=grouped) == attained(units, relation)


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_removing_a_unit_moves_as_far_as_adding_it(relation) -> None:
    units = answers_of_a_unit(-3, 1, 2, GROUPS)
    mirrored = {tuple(-x for x in answer) for answer in units}
    assert attained(units, relation) == attained(mirrored, relation)


def test_what_two_norms_imply_covers_the_third() -> None:
    for move in product(range(-3, 4), repeat=3):
        l1, l2_squared = sum(map(abs, move)), sum(x * x for x in move)
        assert max(map(abs, move)) <= Norms(l1, l2_squared).linf <= l1


@pytest.mark.parametrize("bad", [(-1, 1), (1, -1), (1, 1, -1), (1.0, 1), (True, 1), (1, "1"), (1, 1, 0.5)], ids=str)
def test_norms_are_whole_numbers(bad) -> None:
    with pytest.raises(ParameterError, match=r"l1|l2_squared|linf"):
        Norms(*bad)


@pytest.mark.parametrize(("relation", "groups"), [("add_remove", 1), ("add_remove", 2), ("substitute", 2)])
def test_keys_touched_claims_exactly_what_is_attained(relation, groups) -> None:
    everywhere = range(5)
    units = [set(chosen) for chosen in product(everywhere, repeat=groups)]
    others = units if relation == "substitute" else [set()]
    assert keys_touched(groups, relation) == max(len(a ^ b) for a in units for b in others)


@pytest.mark.parametrize(
    ("lower", "upper", "rows", "relation"),
    [(2, 1, 1, "substitute"), (0, 1, 0, "substitute"), (0, 1, -1, "add_remove"), (0, 1, 1, "neighbours"),
     (0.0, 1, 1, "add_remove"), (0, True, 1, "add_remove"), (0, 1, 1.5, "add_remove")],
)  # fmt: skip
def test_bad_arguments_are_refused(lower, upper, rows, relation) -> None:
    with pytest.raises(ParameterError):
        bounded_sum(lower, upper, rows, relation, grouped=True)


def test_bad_groups_are_refused() -> None:
    with pytest.raises(ParameterError):
        keys_touched(0, "add_remove")
    with pytest.raises(ParameterError):
        keys_touched(1, "removal")
