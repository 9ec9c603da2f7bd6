"""The engine's counts of cells: within the caps, of the same rows as the sums, and total on every row."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import Group, make_plan

pytestmark = pytest.mark.usefixtures("one_database")

SCHEMA = pa.schema(
    [
        ("person", pa.int64()),
        ("k", pa.string()),
        ("q", pa.string()),
        ("i", pa.int64()),
        ("x", pa.int64()),
        ("y", pa.float64()),
    ]
)
COLUMNS: dict[str, Any] = {
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
    "i": {"type": "int", "keys": [1, 2]},
    "x": {"type": "int", "bounds": [-1, 3]},
    "y": {"type": "float", "bounds": [-0.5, 2]},
}
CAPS: dict[str, dict[str, Any]] = {
    "rows": {"unit": "rows"},
    "2 rows": {"unit": "person", "max_rows": 2},
    "3 rows 1 group": {"unit": "person", "max_rows": 3, "max_groups": 1},
    "4 rows 2 groups": {"unit": "person", "max_rows": 4, "max_groups": 2},
}
BOTH = "MEDIAN(y) AS m, MAX(x + y) AS b"
QUERIES = {
    "none": f"SELECT {BOTH} FROM t",
    "public": f"SELECT k, {BOTH} FROM t GROUP BY k",
    "public and sums": f"SELECT k, i, {BOTH}, COUNT(y) AS n, COUNT(x + y) AS p, SUM(x) AS s FROM t GROUP BY k, i",
    "private": f"SELECT q, {BOTH}, COUNT(y) AS n FROM t WHERE NOT x = 1 GROUP BY q",
    "private and public": f"SELECT q, k, {BOTH} FROM t GROUP BY q, k",
}
Row = tuple[Any, ...]


class Bench:
    """The engine over a table that changes."""

    def __init__(self, relation: str, caps: str) -> None:
        about = {**CAPS[caps], "columns": COLUMNS}
        self.policy = load_policy({"version": "1", "relation": relation, "tables": {"t": about}})
        self.engine = DuckDB({"t": pa.table({n: [] for n in SCHEMA.names}, schema=SCHEMA)}, self.policy)
        self.engine.check("t")

    def run(self, query: str, rows: list[Row], salt: bytes) -> dict[tuple[object, ...], Group]:
        table = pa.table([list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 6, schema=SCHEMA)
        self.engine._connection.register("frame:t", table)
        return {group.key: group for group in self.engine.run(make_plan(query, self.policy).levels[0].bounded, salt)}


def counts(groups: dict[tuple[object, ...], Group], histogram: int) -> Counter[tuple[object, int]]:
    found: Counter[tuple[object, int]] = Counter()
    for key, group in groups.items():
        if group.cells:
            cells, rows = group.cells[histogram]
            assert (np.diff(cells) > 0).all() and (rows > 0).all()
            found.update({(key, int(cell)): int(n) for cell, n in zip(cells, rows, strict=True)})
    return found


def random_row(dice: random.Random, person: int | None) -> Row:
    return (
        person,
        dice.choice(["a", "b", "c", "elsewhere", None]),
        dice.choice(["p", "q", "", None]),
        dice.choice([1, 2, 3, None]),
        dice.choice([-5, -1, 0, 1, 3, 99, 2**63 - 1, -(2**63), None]),
        dice.choice([-9.0, -0.5, -0.0, 0.3, 2.0, 1e308, 5e-324, float("nan"), float("inf"), -float("inf"), None]),
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tables", [1, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("query", QUERIES)
def test_a_unit_moves_no_more_rows_than_planned(query: str, relation: str, caps: str, tables: int) -> None:
    """Over all groups and cells of a histogram together, in no more groups than its caps allow."""
    bench, dice = Bench(relation, caps), random.Random(f"{query} {relation} {caps}")
    plan = make_plan(QUERIES[query], bench.policy)
    moves = plan.levels[0].bounded.max_rows * (2 if relation == "substitute" else 1)
    for _ in range(tables):
        rows = [random_row(dice, dice.choice([1, 1, 1, 2, 3, None])) for _ in range(dice.randrange(1, 14))]
        salt = dice.randbytes(16)
        who = [i if caps == "rows" else row[0] for i, row in enumerate(rows)]
        whole = bench.run(QUERIES[query], rows, salt)
        for person in sorted(set(who) - {None})[:4]:
            rest = [row for row, each in zip(rows, who, strict=True) if each != person]
            if relation == "substitute":
                new = [random_row(dice, person) for _ in range(1 if caps == "rows" else dice.randrange(1, 9))]
                rest = [*new, *rest]
            dice.shuffle(rest)
            other = bench.run(QUERIES[query], rest, salt)
            for i, histogram in enumerate(plan.levels[0].bounded.histograms):
                one, two = counts(whole, i), counts(other, i)
                moved = {at: one[at] - two[at] for at in one.keys() | two.keys() if one[at] != two[at]}
                assert sum(map(abs, moved.values())) <= moves
                assert all(0 <= cell <= histogram.upper for _, cell in one)
                if plan.levels[0].bounded.max_groups is not None:
                    assert len({key for key, _ in moved}) <= plan.levels[0].bounded.max_groups * (
                        2 if relation == "substitute" else 1
                    )


@pytest.mark.sampled
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("query", ["public and sums", "private"])
def test_cells_are_of_the_same_rows_as_the_counts_beside_them(query: str, caps: str) -> None:
    bench, dice = Bench("add_remove", caps), random.Random(f"{query} {caps}")
    plan = make_plan(QUERIES[query], bench.policy)
    for _ in range(5):
        rows = [random_row(dice, dice.choice([1, 1, 2, 3, 4, None])) for _ in range(dice.randrange(1, 40))]
        for group in bench.run(QUERIES[query], rows, dice.randbytes(16)).values():
            of = {m.argument.sql(): i for i, m in enumerate(plan.levels[0].bounded.measures) if m.argument is not None}
            for histogram, (_, n) in zip(plan.levels[0].bounded.histograms, group.cells, strict=True):
                if histogram.argument.sql() in of:
                    assert n.sum() == group.sums[of[histogram.argument.sql()]]


def test_each_row_has_the_nearest_cell_of_its_clamped_value() -> None:
    values = [-9.0, -0.5, -0.0, 0.30004, 2.0, 1e308, 5e-324, float("inf"), -float("inf"), float("nan"), None]
    bench = Bench("add_remove", "rows")
    (group,) = bench.run("SELECT MEDIAN(y) AS m FROM t", [(1, "a", "p", 1, 0, y) for y in values], bytes(16)).values()
    (histogram,) = make_plan("SELECT MEDIAN(y) AS m FROM t", bench.policy).levels[0].bounded.histograms
    clamped = [min(max(y, -0.5), 2.0) for y in values if y is not None and y == y]
    expected = Counter(round(y / float(histogram.step)) - histogram.center for y in clamped)
    assert dict(zip(*(each.tolist() for each in group.cells[0]), strict=True)) == expected


def test_whole_numbers_beyond_doubles_have_cells() -> None:
    low = 2**62 + 1
    column = {"type": "int", "bounds": [low, low + 10**6]}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"v": column}}}})
    engine = DuckDB({"t": pa.table({"v": [2**63 - 1, -(2**63), low, low + 10**6, None]})}, policy)
    plan = make_plan("SELECT MEDIAN(v) AS m, MIN(-v) AS n, MAX(v - v) AS d FROM t", policy)
    engine.check("t")
    (group,) = engine.run(plan.levels[0].bounded, bytes(16))
    for (cells, rows), histogram in zip(group.cells, plan.levels[0].bounded.histograms, strict=True):
        assert rows.sum() == 4
        assert cells.min() >= 0 and cells.max() <= histogram.upper


@pytest.mark.parametrize("query", list(QUERIES.values()))
def test_an_empty_table_has_no_cells(query: str) -> None:
    bench = Bench("add_remove", "4 rows 2 groups")
    for group in bench.run(query, [], bytes(16)).values():
        assert all(cells.size == 0 for cells, _ in group.cells)
