"""Counts of people and of distinct values in the engine: after the caps, and whichever way the engine goes."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import Group, make_plan

pytestmark = pytest.mark.usefixtures("one_database")

CAPS: dict[str, dict[str, int]] = {
    "loose": {"max_rows": 1000},
    "rows": {"max_rows": 4},
    "groups": {"max_rows": 1000, "max_groups": 2},
    "both": {"max_rows": 5, "max_groups": 2},
    "one": {"max_rows": 1},
}
COLUMNS: dict[str, Any] = {
    "k": {"type": "string", "keys": ["a", "b", "c", "d"]},
    "i": {"type": "int", "keys": [0, 1, 2]},
    "q": {"type": "string"},
    "id": {"type": "int"},
    "name": {"type": "string"},
    "x": {"type": "int", "bounds": [0, 9]},
    "y": {"type": "float", "bounds": [-1, 1]},
}
COUNTED = "COUNT(*) AS n, COUNT(DISTINCT id) AS ids, COUNT(DISTINCT who) AS people, COUNT(DISTINCT name) AS names"
FILTERED = (
    "COUNT(*) FILTER (WHERE x > 4) AS n, COUNT(DISTINCT id) FILTER (WHERE x > 4) AS ids, "
    "COUNT(DISTINCT who) FILTER (WHERE x > 4) AS people, COUNT(DISTINCT name) FILTER (WHERE x > 4) AS names"
)
BY = {"nothing": "", "k": "k, ", "i": "i, ", "q": "q, ", "k, q": "k, q, "}


def rows_of(seed: int, rows: int = 300) -> list[dict[str, Any]]:
    dice = random.Random(seed)
    return [
        {
            "who": dice.choice([None, 1, 1, 1, 2, 2, *range(3, 30)]),
            "k": dice.choice(["a", "b", "c", "d", "elsewhere", None]),
            "i": dice.choice([0, 1, 2, 3, None]),
            "q": dice.choice(["", "p", "Łódź", None]),
            "id": number,
            "name": dice.choice(["", "a", "A", "a ", "Łódź", "\x00", None]),
            "x": dice.randrange(-3, 14),
            "y": dice.choice([None, float("nan"), float("inf"), -0.0, 0.0, 0.25]),
        }
        for number in range(rows)
    ]


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    types = {"name": pa.string(), "q": pa.string(), "k": pa.string(), "y": pa.float64()}
    names = ["who", *COLUMNS]
    return pa.table({name: pa.array([row[name] for row in rows], types.get(name, pa.int64())) for name in names})


def run(rows: list[dict[str, Any]], query: str, caps: dict[str, int], salt: bytes = b"0" * 16) -> list[Group]:
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "who", **caps, "columns": COLUMNS}}})
    engine = DuckDB({"t": table_of(rows)}, policy)
    try:
        return engine.run(make_plan(query, policy).levels[0].bounded, salt)
    finally:
        engine.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("counted", [COUNTED, FILTERED], ids=["all", "filtered"])
def test_distinct_values_are_those_of_the_rows_that_are_counted(by: str, caps: str, counted: str) -> None:
    """Where every row has a value of its own, there are as many values as rows: of the same rows, under every cap."""
    query = f"SELECT {BY[by]}{counted} FROM t" + (f" GROUP BY {by}" if BY[by] else "")
    for seed in range(3):
        for group in run(rows_of(seed), query, CAPS[caps], bytes([seed]) * 16):
            rows, ids, people, names = group.sums
            assert ids == rows
            assert people <= rows
            assert names <= min(6, rows)
            assert (people > 0) == (rows > 0)
            if "q" in by and counted == COUNTED:
                assert people == group.units


@pytest.mark.parametrize("by", BY)
def test_without_caps_the_counts_are_plain(by: str) -> None:
    query = f"SELECT {BY[by]}{COUNTED} FROM t" + (f" GROUP BY {by}" if BY[by] else "")
    rows = [row for row in rows_of(9) if row["who"] is not None]
    keys = [name for name in by.split(", ") if BY[by]]
    public = {"k": "abcd", "i": (0, 1, 2)}
    rows = [
        row
        for row in rows
        if all((row[key] is not None and row[key] in public.get(key, [row[key]])) or key == "q" for key in keys)
    ]
    expected: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        expected.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = {group.key: group.sums for group in run(rows_of(9), query, CAPS["loose"])}
    assert found == {
        key: (
            len(part),
            len(part),
            len({row["who"] for row in part}),
            len({row["name"] for row in part} - {None}),
        )
        for key, part in expected.items()
    }


@pytest.mark.parametrize("caps", CAPS)
def test_the_counts_are_those_of_the_multiset_of_rows(caps: str) -> None:
    query = "SELECT k, COUNT(DISTINCT name) AS n, COUNT(DISTINCT y) AS y, COUNT(DISTINCT who) AS p FROM t GROUP BY k"
    rows = rows_of(5)
    first = {group.key: group.sums for group in run(rows, query, CAPS[caps])}
    random.Random(1).shuffle(rows)
    assert {group.key: group.sums for group in run(rows, query, CAPS[caps])} == first


def test_squares_of_the_widest_whole_numbers_are_exact_enough_and_do_not_overflow() -> None:
    columns = {"x": {"type": "int", "bounds": [-(2**62), 2**62]}, "y": {"type": "float", "bounds": ["-1e99", "1e99"]}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    extremes = [-(2**63), 2**63 - 1, 2**62, -(2**62), 0, None]
    doubles = [float("inf"), -float("inf"), float("nan"), 1e308, -1e308, None]
    engine = DuckDB({"t": pa.table({"x": extremes, "y": doubles})}, policy)
    plan = make_plan(
        "SELECT VAR_POP(x) AS v, VAR_POP(y) AS w, COVAR_POP(y, x) AS c, COUNT(DISTINCT y) AS d FROM t", policy
    )
    (group,) = engine.run(plan.levels[0].bounded, b"0" * 16)
    for measure, total in zip(plan.levels[0].bounded.measures, group.sums, strict=True):
        assert 6 * measure.lower <= total <= 6 * measure.upper
    answer = plan._answer([[group]]).table
    assert answer.column("v")[0].as_py() == pytest.approx(0.8 * 2.0**124, rel=1e-6)
    assert answer.column("w")[0].as_py() == pytest.approx(1e198, rel=1e-6)
    assert answer.column("d")[0].as_py() == 4
