"""Every sensitivity that is exported is checked by brute force here: one without an oracle fails.

Finer checks are in `tests/sensitivity`; this is the list that none is missing from.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from discreet import sensitivity
from discreet.sensitivity import (
    Mode,
    Norms,
    Quantile,
    Slope,
    Statistic,
    at_distance,
    distance,
    local,
    smooth,
    statistic,
)
from discreet.sensitivity._registry import _NAMED

RELATIONS = ["add_remove", "substitute"]
Data = tuple[Any, ...]


@dataclass(frozen=True)
class Oracle:
    """A statistic, what it says by another route, and small data to try it on."""

    statistic: Statistic
    value: Callable[[Data], Any]
    domain: tuple[Any, ...]
    bounds: Any
    read: Callable[[Data], Any] = list


def low_quantile(q: float, empty: float) -> Callable[[Data], float]:
    return lambda x: sorted(x)[max(0, math.ceil(q * len(x)) - 1)] if x else empty


def most_frequent(x: Data) -> str:
    return max("abc", key=lambda each: (x.count(each), -ord(each)))


def slope(points: Data) -> float:
    if len({x for x, _ in points}) < 2:
        return 0.0
    return max(-2.0, min(2.0, statistics.linear_regression(*zip(*points, strict=True)).slope))


NUMBERS, BOUNDS = (-1.0, 0.0, 0.5, 2.0), (-1, 2)
ORACLES: dict[str, Oracle] = {
    "count": Oracle(statistic("count"), len, ("a", "b"), None),
    "count_distinct": Oracle(statistic("count_distinct"), lambda x: len(set(x)), ("a", "b", "c"), ("a", "b", "c")),
    "max": Oracle(statistic("max"), lambda x: max(x, default=0.5), NUMBERS, BOUNDS),
    "mean": Oracle(statistic("mean"), lambda x: statistics.fmean(x) if x else 0.5, NUMBERS, BOUNDS),
    "median": Oracle(statistic("median"), lambda x: statistics.median_low(x) if x else 0.5, NUMBERS, BOUNDS),
    "min": Oracle(statistic("min"), lambda x: min(x, default=0.5), NUMBERS, BOUNDS),
    "mode": Oracle(Mode(("a", "b", "c")), most_frequent, ("a", "b", "c"), None),
    "quantile": Oracle(Quantile("0.3"), low_quantile(0.3, 0.5), NUMBERS, BOUNDS),
    "slope": Oracle(
        Slope((-2, 2)),
        slope,
        tuple(product((0.0, 0.5, 1.0), (0.0, 1.0))),
        ((0, 1), (0, 1)),
        read=lambda x: tuple(map(list, zip(*x, strict=True))) if x else ([], []),
    ),
    "sum": Oracle(statistic("sum"), math.fsum, NUMBERS, BOUNDS),
    "variance": Oracle(statistic("variance"), lambda x: statistics.pvariance(x) if x else 0.0, NUMBERS, BOUNDS),
}
"""By the name in `discreet.sensitivity.statistic`."""

NOT_SENSITIVITIES = {
    "Norms",
    "Profile",
    "Statistic",
    "adds_or_removes",
    "caps_up_to",
    "clamped",
    "interval",
    "round_up",
    "unmasked",
}
SEARCHES = {"at_distance", "distance", "local", "smooth", "statistic"}
"""They are held, for every statistic, by the test of statistics below."""


def test_every_statistic_has_an_oracle() -> None:
    assert set(ORACLES) == set(_NAMED)
    classes = {type(oracle.statistic).__name__ for oracle in ORACLES.values()}
    assert classes | set(AGGREGATES) | SEARCHES | NOT_SENSITIVITIES == set(sensitivity.__all__)


def data_of(oracle: Oracle, most: int = 3) -> Iterator[Data]:
    for n in range(most + 1):
        yield from combinations_with_replacement(oracle.domain, n)


def neighbours(x: Data, domain: Data, relation: str) -> Iterator[Data]:
    removed = [x[:i] + x[i + 1 :] for i in range(len(x))]
    if relation == "add_remove":
        yield from removed
        yield from ((*x, each) for each in domain)
    else:
        yield from ((*rest, each) for rest in removed for each in domain)


def apart(one: Any, other: Any) -> float:
    """Numbers by their difference, categories by whether they differ."""
    return float(one != other) if isinstance(one, str) else abs(float(one) - float(other))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ORACLES)
def test_no_neighbour_is_further_than_the_sensitivities_say(name: str, relation: Any) -> None:
    """Around all data of up to 3 records: the value, the local, the smooth, the global sensitivity and the distance."""
    oracle = ORACLES[name]
    how: dict[str, Any] = {"bounds": oracle.bounds, "relation": relation}
    slack, reached = 1e-9, 0.0
    highest = oracle.statistic.global_sensitivity(oracle.bounds, relation)
    for x in data_of(oracle):
        here = oracle.value(x)
        assert apart(oracle.statistic.value(oracle.read(x), oracle.bounds), here) <= slack
        worst = max((apart(oracle.value(y), here) for y in neighbours(x, oracle.domain, relation)), default=0.0)
        given = oracle.read(x)
        around = local(oracle.statistic, given, **how)
        assert worst <= around + slack
        assert around <= smooth(oracle.statistic, given, 0.1, **how) + slack <= highest + 2 * slack
        assert around <= at_distance(oracle.statistic, given, 1, **how)
        if worst > slack:
            assert distance(oracle.statistic, given, worst / 2, **how) == 0
        reached = max(reached, worst)
    assert reached <= highest + slack
    assert reached >= highest / 4


def parts(lower: int, upper: int, rows: int, groups: int) -> set[tuple[int, ...]]:
    """What one unit can add to each group."""
    row = [(0, 0), *product(range(groups), range(lower, upper + 1))]
    found = set()
    for chosen in combinations_with_replacement(row, rows):
        answer = [0] * groups
        for group, value in chosen:
            answer[group] += value
        found.add(tuple(answer))
    return found


def farthest(units: set[tuple[int, ...]], relation: str) -> Norms:
    others = units if relation == "substitute" else {tuple(0 for _ in next(iter(units)))}
    moves = [[a - b for a, b in zip(one, other, strict=True)] for one in units for other in others]
    return Norms(
        max(sum(map(abs, move)) for move in moves),
        max(sum(x * x for x in move) for move in moves),
        max(max(map(abs, move)) for move in moves),
    )


def bounded_sums(relation: Any) -> None:
    for lower, upper, rows, grouped in product((-2, 0, 1), (1, 2), (1, 2), (False, True)):
        claimed = sensitivity.bounded_sum(lower, upper, rows, relation, grouped=grouped)
        assert claimed == farthest(parts(lower, upper, rows, 2 if grouped else 1), relation)


def counts(relation: Any) -> None:
    for rows, grouped in product((1, 2, 3), (False, True)):
        claimed = sensitivity.count(rows, relation, grouped=grouped)
        assert claimed == farthest(parts(1, 1, rows, 2 if grouped else 1), relation)


def keys(relation: Any) -> None:
    for groups in (1, 2):
        units = [frozenset(chosen) for chosen in product(range(4), repeat=groups)]
        others = units if relation == "substitute" else [frozenset[int]()]
        assert sensitivity.keys_touched(groups, relation) == max(len(a ^ b) for a in units for b in others)


AGGREGATES: dict[str, Callable[[Any], None]] = {"bounded_sum": bounded_sums, "count": counts, "keys_touched": keys}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", AGGREGATES)
def test_no_unit_moves_aggregates_further_than_they_say(name: str, relation: Any) -> None:
    AGGREGATES[name](relation)
