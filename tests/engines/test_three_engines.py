"""One suite of queries for every engine: the integers before noise are the same, group by group.

Every time, PostgreSQL is asked those that between them have every kind of node and every feature; Spark, which is slow,
every relation, clause and kind of aggregate: that it computes every scalar function as DuckDB does is tested beside it.
In the soak both are asked all. The page about engines shows the counts of all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.combined import CombinedPlan, plan_statement
from discreet.engines import Engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark import Spark
from discreet.policy import Policy, load_policy
from discreet.privacy import approx
from discreet.query import BoundedAggregate, Group, parse_query, public_reader, read_rows

sys.path.insert(0, str(Path(__file__).parents[1] / "query"))

from suite.basics import BASICS
from suite.case import Case
from suite.combined import COMBINED, PIVOTS
from suite.databases import shop_policy, shop_tables
from suite.expressions import EXPRESSIONS
from suite.features import landed
from suite.nested import NESTED
from suite.relations import RELATIONS
from suite.stats import STATISTICS

SECTIONS: dict[str, tuple[Case, ...]] = {
    "counts, sums and averages by public and private keys; WHERE, HAVING, ORDER BY, LIMIT": BASICS,
    "functions and operators, in what is summed, grouped by and filtered": EXPRESSIONS,
    "statistics: quantiles, variances, regressions, distinct values, FILTER, ROLLUP": STATISTICS,
    "joins, paths, public tables, sub-queries, WITH, UNION ALL": RELATIONS,
    "sub-queries as conditions and values; groups of what has one owner": NESTED,
    "UNION, EXCEPT, joins and aggregates of releases; PIVOT": (*COMBINED, *PIVOTS),
}
PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
SALT = bytes(range(16))

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
Found = list[tuple[object, ...]]


def answered(section: str) -> list[Case]:
    return [each for each in SECTIONS[section] if landed(each.needs)]


CASES = [each for section in SECTIONS for each in answered(section)]


def _nodes(case: Case) -> set[object]:
    return {*case.needs, *(type(node) for node in parse_query(case.query).walk())}


SCALAR = {"case", "casts", "date functions", "number functions", "output functions", "string functions"}
SUMS = (exp.Avg, exp.Corr, exp.CountIf, exp.CovarPop, exp.CovarSamp, exp.RegrCount, exp.RegrIntercept, exp.RegrSlope,
        exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)  # fmt: skip
CELLS = (exp.ApproxQuantile, exp.Max, exp.Min, exp.Mode, exp.PercentileCont, exp.PercentileDisc)
"""Functions that a plan makes of sums, and those that it makes of counts by cell: an engine knows none by its name."""


def _aggregate(node: exp.Expr) -> type:
    return exp.Sum if isinstance(node, SUMS) else exp.Median if isinstance(node, CELLS) else type(node)


def _structure(case: Case) -> set[object]:
    """What is no part of a scalar expression: features, clauses, relations and kinds of aggregates."""
    query = parse_query(case.query)
    clauses = {
        (type(select), name) for select in query.find_all(exp.Query) for name, part in select.args.items() if part
    }
    needs = {*case.needs} - SCALAR
    return {*needs, *clauses, *(_aggregate(node) for node in query.find_all(exp.AggFunc, exp.Join, exp.Subquery))}


def _covering(parts: Callable[[Case], set[object]]) -> list[object]:
    """A few in which every part is met: each time the one that brings most. The others are for the soak."""
    left = {place: parts(case) for place, case in enumerate(CASES)}
    daily = set[int]()
    while left:
        most = max(left, key=lambda place: len(left[place]))
        daily.add(most)
        brought = left.pop(most)
        left = {place: more for place, more in ((place, more - brought) for place, more in left.items()) if more}
    return [pytest.param(case, marks=[pytest.mark.soak] * (place not in daily)) for place, case in enumerate(CASES)]


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(shop_policy({"epsilon": 10**14, "delta": 0.9}))


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return shop_tables()


@pytest.fixture(scope="module")
def duckdb(policy: Policy, tables: dict[str, pa.Table]) -> Iterator[Engine]:
    engine = DuckDB(tables, policy)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def in_postgres(policy: Policy, tables: dict[str, pa.Table], load_postgres: Load, postgres: str) -> Iterator[Engine]:
    yield from _checked(PostgreSQL(postgres, policy, load_postgres(tables)), policy)


@pytest.fixture(scope="module")
def in_spark(policy: Policy, tables: dict[str, pa.Table], load_spark: Load, spark: Any) -> Iterator[Engine]:
    yield from _checked(Spark(spark, policy, load_spark(tables)), policy)


def _checked(engine: Engine, policy: Policy) -> Iterator[Engine]:
    for name in policy.tables:
        engine.check(name)
    yield engine
    engine.close()


def exact(engine: Engine, request: BoundedAggregate) -> Found:
    """What an engine finds, in an order that only depends on what it is."""
    return sorted((_plain(group, request) for group in engine.run(request, SALT)), key=repr)


def _plain(group: Group, request: BoundedAggregate) -> tuple[object, ...]:
    cells = [dict(zip(where.tolist(), many.tolist(), strict=True)) for where, many in group.cells]
    cells = cells or [{} for _ in request.histograms]
    return group.key, group.units, group.sums, cells


def _compare(each: Case, policy: Policy, duckdb: Engine, other: Engine) -> None:
    readers = [public_reader(engine) for engine in (duckdb, other)]
    plans = [plan_statement(each.query, policy, approx(10**9, 1e-6), read) for read in readers]
    assert plans[0].hash(policy) == plans[1].hash(policy)
    for level in plans[0].levels:
        assert exact(other, level.bounded) == exact(duckdb, level.bounded)
    for table in plans[0].tables if isinstance(plans[0], CombinedPlan) else ():
        first, second = (read_rows(policy, table.name, table.columns, read) for read in readers)
        assert list(first) == list(second)
        assert first


@pytest.mark.parametrize("each", _covering(_nodes), ids=lambda each: each.query[:110])
def test_postgres_finds_the_integers_of_duckdb(each: Case, policy: Policy, duckdb: Engine, in_postgres: Engine) -> None:
    _compare(each, policy, duckdb, in_postgres)


@pytest.mark.parametrize("each", _covering(_structure), ids=lambda each: each.query[:110])
def test_spark_finds_the_integers_of_duckdb(each: Case, policy: Policy, duckdb: Engine, in_spark: Engine) -> None:
    _compare(each, policy, duckdb, in_spark)


@pytest.fixture(scope="module")
def choosing() -> Policy:
    """The same tables, where each query chooses its cap."""
    facts = shop_policy({"epsilon": 10**14, "delta": 0.9})
    owned = {name: table for name, table in facts["tables"].items() if "max_rows" in table}
    return load_policy(
        {**facts, "tables": {**facts["tables"], **{n: {**t, "max_rows": "auto"} for n, t in owned.items()}}}
    )


def _compare_choices(cases: list[Case], choosing: Policy, duckdb: Engine, other: Engine) -> None:
    """The counts that choose a cap are the same; where one row of each person counts, there are none."""
    compared = 0
    for each in cases:
        plan = plan_statement(each.query, choosing, approx(10**9, 1e-6), public_reader(duckdb))
        for part in plan.parts if isinstance(plan, CombinedPlan) else (plan,):
            if part.cap is not None:
                compared += 1
                counted = part.cap.level.bounded
                assert exact(other, counted) == exact(duckdb, counted), each.query
    assert compared


_PARTS = 12


@pytest.mark.parametrize("part", [pytest.param(i, marks=[pytest.mark.soak] * (i > 0)) for i in range(_PARTS)])
def test_postgres_counts_people_by_rows_as_duckdb_does(
    part: int, choosing: Policy, duckdb: Engine, in_postgres: Engine
) -> None:
    _compare_choices(CASES[part::_PARTS], choosing, duckdb, in_postgres)


@pytest.mark.parametrize("part", [pytest.param(i, marks=[pytest.mark.soak] * (i > 0)) for i in range(8 * _PARTS)])
def test_spark_counts_people_by_rows_as_duckdb_does(
    part: int, choosing: Policy, duckdb: Engine, in_spark: Engine
) -> None:
    _compare_choices(CASES[part :: 8 * _PARTS], choosing, duckdb, in_spark)


def table() -> str:
    """The table of the page: how many queries of each kind every engine answers with the same integers."""
    rows = [(section, len(answered(section))) for section in SECTIONS]
    lines = ["| queries | DuckDB | PostgreSQL | Spark |", "|---|---|---|---|"]
    lines += [f"| {section} | {n} | {n} | {n} |" for section, n in (*rows, ("all", len(CASES)))]
    return "\n".join(lines)


def test_the_page_says_how_many_queries_are_the_same() -> None:
    assert len(CASES) >= 300
    assert f"<!-- completeness -->\n{table()}\n<!-- end -->" in PAGE.read_text(encoding="utf-8")
