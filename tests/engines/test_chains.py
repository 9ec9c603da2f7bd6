"""Sub-queries that compute from what others computed: no engine writes out a column again and again.

An engine that did would need 2^18 copies of the innermost column or more, and not end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines import Engine
from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import make_plan

DEPTH = 18
COLUMNS = {"x": {"type": "float", "bounds": [0, 9]}, "s": {"type": "string"}, "k": {"type": "int", "bounds": [0, 1]}}
POLICY = load_policy(
    {
        "version": "1",
        "tables": {
            "t": {"unit": "person", "max_rows": 30, "columns": COLUMNS},
            "looked_up": {"public": True, "key": "id", "columns": {"id": {"type": "int", "bounds": [0, 1]}}},
        },
    }
)
TABLES = {
    "t": pa.table({"person": [1, 2], "x": [1.0, 0.0], "s": ["a", None], "k": [0, 1]}),
    "looked_up": pa.table({"id": [0, 1]}),
}


def _unions(computed: str, column: str) -> str:
    """Each level reads the table once more, and computes from all levels below."""
    rows = "t"
    for _ in range(DEPTH):
        rows = f"(SELECT person, {computed} AS {column} FROM {rows} UNION ALL SELECT person, {column} FROM t)"
    return rows


def _joins(computed: str, column: str) -> str:
    """Each level looks up a row, and computes from all levels below."""
    rows = "t"
    for _ in range(DEPTH // 3):
        joined = f"{rows} AS r LEFT JOIN looked_up AS p ON r.k = p.id"
        rows = f"(SELECT person, k, {computed} AS {column} FROM {joined})"
    return rows


QUERIES = {
    "sums": f"SELECT SUM(LEAST(x, 9)) AS r FROM {_unions('x + x', 'x')}",
    "choices": f"SELECT SUM(LEAST(x, 9)) AS r FROM {_unions('CASE WHEN x > 1 THEN x ELSE x / 2 END', 'x')}",
    "texts": f"SELECT COUNT(s) AS r FROM {_unions('s || s', 's')}",
    "long texts": f"SELECT s, COUNT(*) AS r FROM {_unions('s', 's')} GROUP BY s",
    "lookups": f"SELECT SUM(LEAST(x, 9)) AS r FROM {_joins('x * x', 'x')}",
}


def _sums(engine: Engine, query: str) -> list[Any]:
    found = engine.run(make_plan(query, POLICY).levels[0].bounded, bytes(16))
    engine.close()
    return sorted(((group.key, group.units, group.sums) for group in found), key=repr)


@pytest.mark.parametrize("name", QUERIES)
def test_postgres_ends_as_duckdb_does(name: str, postgres: str, load_postgres: Callable[..., Any]) -> None:
    from discreet.engines.postgres import PostgreSQL

    here = _sums(DuckDB(TABLES, POLICY), QUERIES[name])
    assert here
    assert _sums(PostgreSQL(postgres, POLICY, load_postgres(TABLES)), QUERIES[name]) == here


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.soak] * (n != "texts")) for n in QUERIES])
def test_spark_ends_as_duckdb_does(name: str, spark: Any, load_spark: Callable[..., Any]) -> None:
    from discreet.engines.spark import Spark

    here = _sums(DuckDB(TABLES, POLICY), QUERIES[name])
    assert _sums(Spark(spark, POLICY, load_spark(TABLES)), QUERIES[name]) == here
