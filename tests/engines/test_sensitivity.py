"""Planned sensitivities against what the real engine does: neighbours are run, and the pre-noise integers compared.

Enumerated small tables under every removal and every substitution, then random ones. What is read here lies below the
session: nothing in the session can show it.
"""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import Group, Plan, make_plan

pytestmark = pytest.mark.usefixtures("one_database")

KEYS = ["a", "b", "c"]
AGGREGATES = "COUNT(*) AS n, COUNT(x) AS nx, SUM(x) AS s, AVG(y) AS m, SUM(x * y - 1) AS z"
MOMENTS = (
    "VAR_POP(y) AS v, STDDEV(x) AS d, CORR(y, x) AS r, REGR_SLOPE(x * y, x) AS b, "
    "COVAR_POP(y, x) FILTER (WHERE x > 0) AS c, SUM(x) FILTER (WHERE y IS NULL) AS s, COUNT_IF(x > y) AS i"
)
DISTINCT = (
    "COUNT(DISTINCT person) AS p, COUNT(DISTINCT x) AS x, COUNT(DISTINCT q) AS q, COUNT(DISTINCT y) AS y, "
    "COUNT(DISTINCT x) FILTER (WHERE y > 0) AS f, COUNT(DISTINCT person) FILTER (WHERE x > 1) AS g, SUM(x) AS s"
)
QUERIES = {
    "whole": f"SELECT {AGGREGATES} FROM t",
    "filtered": f"SELECT {AGGREGATES} FROM t WHERE x > 0 OR y IS NULL",
    "public": f"SELECT k, {AGGREGATES} FROM t GROUP BY k",
    "public filtered": f"SELECT k, {AGGREGATES} FROM t WHERE NOT x = 1 GROUP BY k",
    "private": f"SELECT q, {AGGREGATES} FROM t GROUP BY q",
    "both": f"SELECT k, q, {AGGREGATES} FROM t GROUP BY k, q",
    "moments": f"SELECT {MOMENTS} FROM t",
    "moments public": f"SELECT k, {MOMENTS} FROM t GROUP BY k",
    "distinct": f"SELECT {DISTINCT} FROM t",
    "distinct public": f"SELECT k, {DISTINCT} FROM t GROUP BY k",
    "distinct private": f"SELECT q, {DISTINCT} FROM t GROUP BY q",
}
SCHEMA = pa.schema(
    [("person", pa.int64()), ("k", pa.string()), ("q", pa.string()), ("x", pa.int64()), ("y", pa.float64())]
)
CAPS = {"rows": {}, "2 rows": {"max_rows": 2}, "2 rows 1 group": {"max_rows": 2, "max_groups": 1}}
CAPS["3 rows 2 groups"] = {"max_rows": 3, "max_groups": 2}

Row = tuple[int | None, str | None, str | None, int | None, float | None]


def _policy(relation: str, caps: str) -> dict[str, object]:
    unit = {"unit": "rows"} if caps == "rows" else {"unit": "person", **CAPS[caps]}
    columns = {
        "k": {"type": "string", "keys": KEYS},
        "q": {"type": "string"},
        "x": {"type": "int", "bounds": [-1, 3]},
        "y": {"type": "float", "bounds": [-0.5, 2]},
    }
    return {"version": "1", "relation": relation, "tables": {"t": {**unit, "columns": columns}}}


class Bench:
    """The engine over a table that changes, with the salt held fixed."""

    def __init__(self, relation: str, caps: str) -> None:
        self.policy = load_policy(_policy(relation, caps))
        self.engine = DuckDB({"t": pa.table({n: [] for n in SCHEMA.names}, schema=SCHEMA)}, self.policy)
        self.engine.check("t")

    def run(self, plan: Plan, rows: list[Row], salt: bytes) -> dict[tuple[object, ...], Group]:
        table = pa.table([list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 5, schema=SCHEMA)
        self.engine._connection.register("frame:t", table)
        return {group.key: group for group in self.engine.run(plan.levels[0].bounded, salt)}


Groups = dict[tuple[object, ...], Group]


def _check(bench: Bench, plan: Plan, a: Groups, b: Groups) -> None:
    empty = Group((), 0, (0,) * len(plan.levels[0].bounded.measures))
    keys = a.keys() | b.keys()
    for i, norms in enumerate(plan.levels[0].norms):
        moves = [a.get(key, empty).sums[i] - b.get(key, empty).sums[i] for key in keys]
        assert sum(map(abs, moves)) <= norms.l1, plan.levels[0].bounded.measures[i]
        assert sum(move * move for move in moves) <= norms.l2_squared, plan.levels[0].bounded.measures[i]
    if plan.levels[0].bounded.count_units:
        touched = bench.policy.tables["t"].groups_per_unit * (2 if plan.unit.relation == "substitute" else 1)
        units = [abs(a.get(key, empty).units - b.get(key, empty).units) for key in keys]
        assert max(units, default=0) <= 1
        assert sum(units) <= touched


def _person(row: Row, index: int, caps: str) -> object:
    return index if caps == "rows" else row[0]


def _without(rows: list[Row], who: object, caps: str) -> list[Row]:
    return [row for i, row in enumerate(rows) if _person(row, i, caps) != who]


def _random_row(dice: random.Random, person: int | None) -> Row:
    return (
        person,
        dice.choice([*KEYS, "elsewhere", None]),
        dice.choice(["p", "q", None]),
        dice.choice([-5, -1, 0, 1, 3, 99, None]),
        dice.choice([-9.0, -0.5, 0.3, 2.0, 7.5, float("nan"), float("inf"), -float("inf"), None]),
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tables", [1, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("query", QUERIES)
def test_no_unit_moves_an_answer_further_than_planned(query: str, relation: str, caps: str, tables: int) -> None:
    bench = Bench(relation, caps)
    text = QUERIES[query] if caps != "rows" else QUERIES[query].replace("DISTINCT person", "DISTINCT k")
    plan, dice = make_plan(text, bench.policy), random.Random(f"{query} {relation} {caps}")
    for _ in range(tables):
        rows = [_random_row(dice, dice.choice([1, 1, 1, 2, 3, None])) for _ in range(dice.randrange(1, 14))]
        salt = dice.randbytes(16)
        whole = bench.run(plan, rows, salt)
        people = {_person(row, i, caps) for i, row in enumerate(rows)} - {None}
        for who in people:
            rest = _without(rows, who, caps)
            if relation == "add_remove":
                dice.shuffle(rest)
            else:
                count = 1 if caps == "rows" else dice.randrange(1, 9)
                new: list[Row] = [_random_row(dice, who if caps != "rows" else 7) for _ in range(count)]  # type: ignore[arg-type]
                rest = [*new, *rest]
            _check(bench, plan, whole, bench.run(plan, rest, salt))


@pytest.mark.parametrize("values", [(-1, 1, 3), pytest.param((-1, 1, 3, None), marks=pytest.mark.soak)])
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_the_planned_sensitivity_is_reached(relation: str, values: tuple[int | None, ...]) -> None:
    """Enumerate every pair of neighbours over a small domain: the largest move is the plan's, not less."""
    bench = Bench(relation, "2 rows")
    domain: list[Row] = [(1, k, "p", x, 2.0) for k in ("a", "b") for x in values]
    tables = [list(rows) for size in range(4) for rows in itertools.combinations_with_replacement(domain, size)]
    others: list[list[Row]] = tables if relation == "substitute" else [[]]
    query = "SELECT k, COUNT(*) AS n, SUM(x) AS s, VAR_POP(x) AS v, COUNT(DISTINCT x) AS d FROM t GROUP BY k"
    plan = make_plan(query, bench.policy)
    keys = [(key,) for key in KEYS]
    answers = [bench.run(plan, rows, b"x" * 16) for rows in tables]
    empty = Group((), 0, (0,) * len(plan.levels[0].norms))
    bases = answers if others is tables else [bench.run(plan, [], b"x" * 16)]
    for i, norms in enumerate(plan.levels[0].norms):
        moves = [[a.get(k, empty).sums[i] - b.get(k, empty).sums[i] for k in keys] for a in answers for b in bases]
        assert max(sum(map(abs, move)) for move in moves) == norms.l1
        assert max(sum(m * m for m in move) for move in moves) == norms.l2_squared


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("caps", ["2 rows", "2 rows 1 group", "3 rows 2 groups"])
def test_a_person_is_one_in_each_of_as_many_groups_as_planned(relation: str, caps: str) -> None:
    bench = Bench(relation, caps)
    query = "SELECT q, COUNT(DISTINCT person) AS n FROM t GROUP BY q"
    plan = make_plan(query, bench.policy)
    (norms,) = plan.levels[0].norms
    groups = 1 if caps == "2 rows 1 group" else 2
    one, other = ([(1, "a", q, 3, 2.0) for q in names[:groups]] for names in ("abc", "def"))
    there = [group.sums for group in bench.run(plan, one, b"x" * 16).values() if any(group.sums)]
    back = bench.run(plan, other, b"x" * 16).values() if relation == "substitute" else []
    moves = [*there, *(group.sums for group in back if any(group.sums))]
    assert moves == [(1,)] * norms.l1
    assert norms.l2_squared == norms.l1
    assert norms.linf == 1
