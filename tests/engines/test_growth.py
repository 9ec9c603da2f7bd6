"""What a query costs before a row is read grows with its text, and no faster, whatever functions are within others."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest
from sqlglot import exp

import discreet as dp
from discreet.engines import Engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb._dialect import DIALECT as DUCKDB
from discreet.engines.postgres import PostgreSQL
from discreet.engines.postgres._dialect import PostgresDialect
from discreet.engines.spark._dialect import DIALECT as SPARK
from discreet.engines.sql import Dialect, Expressions
from discreet.query import BoundedAggregate, Sum, make_plan

sys.path.insert(0, str(Path(__file__).parent))

from nested import (
    GROWTH,
    PATTERNS,
    POLICY,
    ROWS,
    SHAPES,
    Shape,
    all_functions,
    deepest,
    functions_met,
    nested,
    question,
)

DIALECTS: dict[str, Dialect] = {"duckdb": DUCKDB, "postgres": PostgresDialect("pg_c_utf8"), "spark": SPARK}
EXACT = dp.pure(10**6)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"memory_limit": "2GB"}) as local:
        local.register("arrow", ROWS)
        columns = ", ".join(f'{name} AS "c:{name}"' for name in ROWS.column_names)
        local.execute(f"CREATE TABLE t AS SELECT {columns} FROM arrow")
        yield local


@cache
def _asked(shape: Shape, depth: int) -> BoundedAggregate:
    return make_plan(question(shape, depth), POLICY).levels[0].bounded


def _computed(request: BoundedAggregate) -> exp.Expr:
    measure = request.measures[0]
    found = measure.argument if isinstance(measure, Sum) else request.where
    assert found is not None
    return found


def _written(dialect: Dialect, request: BoundedAggregate) -> str:
    """What is computed on a row."""
    write, measure = Expressions(dialect, request.columns), request.measures[0]
    return write.contribution(measure) if isinstance(measure, Sum) else write.condition(_computed(request))


class _Counted:
    """A dialect that counts what it is asked to write: an argument that is written twice makes twice the work of each
    level within it, also where but one of the texts is used.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        self.calls += name == "renderings"
        return getattr(self._dialect, name)


def _writings(dialect: Dialect, request: BoundedAggregate) -> int:
    counted = _Counted(dialect)
    _written(cast("Dialect", counted), request)
    return counted.calls


def _nodes(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """How many expressions there are in DuckDB's plan, as it is bound and after it was rewritten."""
    query = f"SELECT {sql} FROM t"
    plans = [
        connection.execute("SELECT json_serialize_plan(?, optimize := ?)", [query, way]).fetchall()[0][0]
        for way in (False, True)
    ]
    assert all(plan.startswith('{"error":false') for plan in plans)
    return sum(plan.count('"expression_class"') for plan in plans)


def _shapes(engine: str) -> tuple[Shape, ...]:
    return (*SHAPES, *PATTERNS) if engine == "duckdb" else SHAPES


def _grows_with_the_text(engine: str, cost: Callable[[Shape, int], float], *depths: int) -> None:
    """The least depth comes first: what is exponential fails there, before it fills the memory."""
    for shape in _shapes(engine):
        for depth in depths:
            small, large = cost(shape, depth), cost(shape, 2 * depth)
            assert large <= GROWTH * small, (shape, depth, small, large)


def test_every_function_is_within_itself() -> None:
    assert functions_met() >= all_functions()


@pytest.mark.parametrize("engine", DIALECTS)
def test_each_part_of_a_query_is_written_once(engine: str) -> None:
    """And once more for whether it is null."""
    for shape in _shapes(engine):
        request = _asked(shape, 8)
        parts = sum(1 for _ in _computed(request).walk())
        assert _writings(DIALECTS[engine], request) <= 2 * parts, shape


@pytest.mark.soak
@pytest.mark.parametrize("engine", DIALECTS)
def test_a_query_is_written_in_proportion_to_its_text(engine: str) -> None:
    _grows_with_the_text(engine, lambda shape, depth: len(_written(DIALECTS[engine], _asked(shape, depth))), 12)


@pytest.mark.parametrize("depth", [8, pytest.param(12, marks=pytest.mark.soak)])
def test_duckdb_makes_of_a_query_what_is_in_proportion_to_its_text(
    depth: int, connection: duckdb.DuckDBPyConnection
) -> None:
    _grows_with_the_text("duckdb", lambda shape, deep: _nodes(connection, _written(DUCKDB, _asked(shape, deep))), depth)


@pytest.mark.soak
@pytest.mark.parametrize("engine", DIALECTS)
def test_also_at_the_depth_that_is_allowed(engine: str, connection: duckdb.DuckDBPyConnection) -> None:
    def cost(shape: Shape, depth: int) -> int:
        sql = _written(DIALECTS[engine], _asked(shape, depth * deepest(shape) // 64))
        return _nodes(connection, sql) if engine == "duckdb" else len(sql)

    _grows_with_the_text(engine, cost, 32)


def _seconds(engine: Engine, shape: Shape, depth: int, clock: Callable[[], float]) -> float:
    """A plan and a run, the least of three."""

    def once() -> float:
        started = clock()
        assert engine.run(_asked(shape, depth), bytes(16))
        return clock() - started

    return min(once() for _ in range(3))


def _takes_time_in_proportion(engine: Engine, clock: Callable[[], float]) -> None:
    """All functions together, at half and at all of the depth."""
    half, full = (
        sum(_seconds(engine, shape, deepest(shape) // part, clock) for shape in _shapes(engine)) for part in (2, 1)
    )
    engine.close()
    assert full <= GROWTH * half


@pytest.mark.soak
def test_duckdb_takes_time_in_proportion_to_the_text() -> None:
    _takes_time_in_proportion(DuckDB({"t": ROWS}, POLICY), time.process_time)


@pytest.mark.soak
def test_postgres_takes_time_in_proportion_to_the_text(postgres: str, load_postgres: Callable[..., Any]) -> None:
    """In elapsed time, for the server is another process."""
    engine = PostgreSQL(postgres, POLICY, load_postgres({"t": ROWS}))
    _takes_time_in_proportion(engine, time.perf_counter)


DEEP = [
    ("SUM(GREATEST(LEAST({}, 9), 0))", "f", "{} + f", 63),
    ("SUM(GREATEST(LEAST({}, 9), 0))", "f", "LN(SQRT({}))", 32),
    ("SUM(GREATEST(LEAST({}, 9), 0))", "f", "({} / f)", 64),
    ("SUM({})", "g", "CASE WHEN b THEN {} ELSE g END", 64),
    ("SUM(GREATEST(LEAST({}, 9), 0))", "f", "NULLIF({}, 1)", 64),
    ("COUNT({})", "d", "{} + INTERVAL 1 DAY", 64),
    ("COUNT({})", "s", "UPPER({})", 64),
    ("COUNT({})", "s", "{} || s", 64),
]


def _from_below(depth: int, ask: Callable[[], object]) -> object:
    return _from_below(depth - 1, ask) if depth else ask()


@pytest.mark.parametrize(("around", "column", "shape", "depth"), DEEP)
def test_what_is_deep_is_answered_however_deep_the_caller_is(around: str, column: str, shape: str, depth: int) -> None:
    query = f"SELECT {around.format(nested((column, shape), depth))} AS r FROM t"
    limit = sys.getrecursionlimit()
    with dp.connect({"t": ROWS}, POLICY) as session:
        here = session.sql(query, EXACT).to_arrow()
        assert _from_below(limit - 200, lambda: session.sql(query, EXACT).to_arrow()) == here
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("parentheses", [0, 40])
def test_what_is_too_deep_is_refused_however_deep_the_caller_is(parentheses: int) -> None:
    """Parentheses are no level, and neither are those that a sub-query brings."""
    inner = "(" * parentheses + "f" + ")" * parentheses
    with dp.connect({"t": ROWS}, POLICY) as session:
        before = session.remaining
        for depth in (96, 97):
            chain = " + ".join([inner] * depth)
            computed = f"SELECT f, f{' + f' * (depth - depth // 2 - 1)} AS x FROM t"
            for query in (
                f"SELECT COUNT({chain}) AS r FROM t",
                f"SELECT COUNT(x{' + f' * (depth // 2)}) AS r FROM ({computed})",
            ):
                for below in (0, sys.getrecursionlimit() - 200):
                    if depth == 96:
                        assert _from_below(below, partial(session.plan, query)) is not None
                    else:
                        with pytest.raises(dp.QueryError, match="levels deep"):
                            _from_below(below, partial(session.plan, query))
        assert session.remaining == before
