"""Medians and means in published tables: all solutions and no others, by brute force; suppressed cells; bad input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import attack
from discreet.attack import Statistic
from discreet.errors import ParameterError

COLUMNS: Any = {"sex": ["F", "M"], "age": [18, 21, 30, 31, 47], "married": [False, True]}
KINDS = list(product(*COLUMNS.values()))
People = tuple[tuple[Any, ...], ...]


def rounded(value: Fraction, step: Fraction) -> Fraction:
    return round(value / step) * step


def exact(people: People, names: tuple[str, ...]) -> dict[tuple[Any, ...], list[Fraction]]:
    """The ages of each row's people, in order."""
    ages: dict[tuple[Any, ...], list[Fraction]] = {}
    for person in people:
        row = dict(zip(COLUMNS, person, strict=True))
        ages.setdefault(tuple(row[name] for name in names), []).append(Fraction(row["age"]))
    return {key: sorted(each) for key, each in ages.items()}


Row = tuple[tuple[Any, ...], int | None, Fraction | None, Fraction | None]


def summaries(people: People, names: tuple[str, ...], steps: tuple[Fraction, Fraction], least: int) -> set[Row]:
    """Count, median and mean by some columns, as they are published: nothing of fewer than so many people."""
    return {
        (key, None, None, None)
        if len(ages) < least
        else (key, len(ages), rounded(median(ages), steps[0]), rounded(sum(ages) / len(ages), steps[1]))
        for key, ages in exact(people, names).items()
    }


def tables(rows: set[Row], names: tuple[str, ...], shown: str) -> pa.Table:
    listed = sorted(rows, key=str)
    columns: dict[str, Any] = {name: [row[0][i] for row in listed] for i, name in enumerate(names)}
    numbers = {
        "n": [row[1] for row in listed],
        "median": [None if row[2] is None else float(row[2]) for row in listed],
        "mean": [None if row[3] is None else float(row[3]) for row in listed],
    }
    return pa.table(columns | {name: each for name, each in numbers.items() if name in shown.split()})


def agreeing(people: int, is_so: Callable[[People], bool]) -> set[tuple[tuple[Any, int], ...]]:
    every = combinations_with_replacement(KINDS, people)
    return {tuple(sorted(Counter(each).items())) for each in every if is_so(each)}


def as_set(result: attack.Microdata) -> set[tuple[tuple[Any, int], ...]]:
    listed = [Counter(tuple(row.values()) for row in each.to_pylist()) for each in result.tables(10**6)]
    assert len(listed) == result.solutions
    return {tuple(sorted(each.items())) for each in listed}


HALF, TENTH, ONE = Fraction(1, 2), Fraction(1, 10), Fraction(1)
STATISTICS = {
    "exact": ({"median": Statistic("median", "age"), "mean": Statistic("mean", "age", "0.1")}, (HALF, TENTH)),
    "coarse": ({"median": Statistic("median", "age", 5), "mean": Statistic("mean", "age", 1)}, (Fraction(5), ONE)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("solver", ["search", "cp-sat"])
@pytest.mark.parametrize("rounding", STATISTICS)
@pytest.mark.parametrize("shown", ["n median mean", "n median", "n mean"])
def test_all_solutions_are_listed_and_no_others(shown: str, rounding: str, solver: Any) -> None:
    statistics, steps = STATISTICS[rounding]
    draws = np.random.default_rng(4)
    for people in (1, 2, 3, 4):
        truth: People = tuple(KINDS[i] for i in draws.integers(0, len(KINDS), people))
        by = [("sex",), ("married",)]
        rows = [summaries(truth, names, steps, 0) for names in by]
        published = [tables(each, names, shown) for each, names in zip(rows, by, strict=True)]
        chosen = {name: each for name, each in statistics.items() if name in shown.split()}
        result = attack.microdata(published, COLUMNS, statistics=chosen, solver=solver, limit=10**6, steps=10**6)

        def is_near(person: People, shown: str = shown, rows: Any = rows, by: Any = by) -> bool:
            for expected, names in zip(rows, by, strict=True):
                ages = exact(person, names)
                if {(key, len(each)) for key, each in ages.items()} != {row[:2] for row in expected}:
                    return False
                for key, _, middle, mean in expected:
                    own = ages[key]
                    half = 0 if rounding == "exact" else steps[0] / 2
                    if "median" in shown and abs(median(own) - middle) > half:
                        return False
                    if "mean" in shown and abs(sum(own) / len(own) - mean) > steps[1] / 2:
                        return False
            return True

        assert result.is_complete
        assert as_set(result) == agreeing(people, is_near)


@pytest.mark.parametrize("solver", ["search", "cp-sat"])
def test_a_median_holds_where_the_number_of_people_is_not_known(solver: Any) -> None:
    columns = {"age": COLUMNS["age"], "sex": ["F", "M"]}
    counts = pa.table({"n": [4]})
    medians = pa.table({"sex": ["F"], "median": [25.5]})
    statistics = {"median": Statistic("median", "age")}
    result = attack.microdata([counts, medians], columns, statistics=statistics, solver=solver)
    expected = {
        tuple(sorted(Counter(each).items()))
        for each in combinations_with_replacement(list(product(*columns.values())), 4)
        if (ages := sorted(age for age, sex in each if sex == "F")) and median(ages) == 25.5
    }
    assert as_set(result) == expected
    assert result.solutions == len(expected) > 1


@pytest.mark.parametrize("solver", ["search", "cp-sat"])
def test_suppressed_cells_say_no_more_than_that_they_are_small(solver: Any) -> None:
    draws = np.random.default_rng(9)
    statistics, steps = STATISTICS["exact"]
    for _ in range(3):
        truth: People = tuple(KINDS[i] for i in draws.integers(0, len(KINDS), 3))
        by = [(), ("sex",), ("married",)]
        published = [tables(summaries(truth, names, steps, 2), names, "n median mean") for names in by]
        result = attack.microdata(
            published, COLUMNS, statistics=statistics, suppressed=1, solver=solver, limit=10**6, steps=10**6
        )

        def is_so(people: People, truth: People = truth, by: Any = by) -> bool:
            # A row that is suppressed could have nobody, for all that the table says.
            for names in by:
                shown = {row for row in summaries(truth, names, steps, 2) if row[1] is not None}
                hidden = {row[0] for row in summaries(truth, names, steps, 2)} - {row[0] for row in shown}
                own = summaries(people, names, steps, 2)
                if {row for row in own if row[1] is not None} != shown or {row[0] for row in own} - hidden > {
                    row[0] for row in shown
                }:
                    return False
            return True

        assert as_set(result) == agreeing(3, is_so)


def test_three_people_with_a_median_and_a_mean_have_few_ages() -> None:
    """Counts alone leave 121,485 lists of three ages from 1 to 90; with both, one is known and few lists are left."""
    columns = {"age": list(range(1, 91))}
    statistics = {"median": Statistic("median", "age"), "mean": Statistic("mean", "age", 1)}
    block = pa.table({"n": [3], "median": [30], "mean": [44]})
    result = attack.microdata([block], columns, statistics=statistics, solver="cp-sat")
    assert result.solutions == sum(131 <= a + 30 + b <= 133 for a in range(1, 31) for b in range(30, 91))
    assert result.records().slice(0, 1).to_pylist() == [{"age": 30, "copy": 1, "confidence": 1.0}]


def test_a_median_that_no_people_have_is_a_contradiction() -> None:
    statistics = {"median": Statistic("median", "age")}
    for block in ({"n": [1], "median": [20]}, {"n": [0], "median": [21]}, {"n": [2], "median": [47.5]}):
        result = attack.microdata([pa.table(block)], COLUMNS, statistics=statistics)
        assert (result.solutions, result.is_complete) == (0, True)


@pytest.mark.parametrize(
    ("table", "statistics", "settings", "words"),
    [
        ({"n": [1], "x": [20]}, {"x": ("median", "town")}, {}, "of town"),
        ({"n": [1], "x": [20]}, {"x": ("median", "sex")}, {}, "integers"),
        ({"n": [1], "x": [20]}, {"x": ("median", "married")}, {}, "integers"),
        ({"n": [1], "x": [20.25]}, {"x": ("median", "age")}, {}, "step="),
        ({"n": [1], "x": [20.25]}, {"x": ("mean", "age", "0.1")}, {}, "multiple of 1/10"),
        ({"n": [1], "x": ["old"]}, {"x": ("median", "age")}, {}, "'old', which is no number"),
        ({"n": [1], "x": [float("nan")]}, {"x": ("median", "age")}, {}, "no number"),
        ({"n": [1], "x": [float("inf")]}, {"x": ("median", "age")}, {}, "no number"),
        ({"n": [1]}, {"x": ("median", "age")}, {}, "no table has a column x"),
        ({"x": [20]}, {"x": ("median", "age")}, {}, "no table has counts"),
        ({"n": [None]}, {}, {}, "suppressed="),
        ({"n": [1]}, {}, {"suppressed": -1}, "suppressed is"),
    ],
)
def test_what_cannot_be_read_is_refused(table: Any, statistics: Any, settings: Any, words: str) -> None:
    published = [pa.table(table)]
    chosen = {name: Statistic(*each) for name, each in statistics.items()}
    with pytest.raises(ParameterError, match=words):
        attack.microdata(published, COLUMNS, statistics=chosen, **settings)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("mode", "age"), "'mode'"),
        (("mean", "age"), "step='0.1'"),
        (("mean", "age", 0), "step is"),
        (("mean", "age", "1e-9"), "step is"),
        (("mean", "age", "0.3"), "step is"),
        (("mean", "age", "tenth"), "'tenth'"),
    ],
)
def test_a_statistic_that_cannot_be_is_refused(given: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Statistic(*given)
