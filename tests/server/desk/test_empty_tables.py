"""Queries that want no rows: their columns come from the policy and the text alone, fast, whatever the text."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from discreet.datasets import rand
from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.server.desk._empty_tables import columns_over_empty_tables

POLICY = load_policy(rand.policy)
ALL = ["coinsurance", "year", "age", "female", "doctor_visits", "dollars"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT * FROM visits LIMIT 0", ALL),
        ("SELECT * FROM (SELECT * FROM visits) AS t WHERE age > 3 LIMIT 0", ALL),
        ("WITH a AS (SELECT age, year FROM visits) SELECT * FROM a LIMIT 0", ["age", "year"]),
        ("SELECT a.*, b.age AS other FROM visits a JOIN visits b ON a.age = b.age LIMIT 0", [*ALL, "other"]),
        ("SELECT age FROM visits UNION ALL SELECT year FROM visits", ["age"]),
    ],
)
def test_names(query: str, names: list[str]) -> None:
    assert columns_over_empty_tables(query, POLICY).names == names


def test_types() -> None:
    policy = load_policy(
        {
            "version": "1",
            "tables": {
                "t": {
                    "unit": "rows",
                    "columns": {
                        name: {"type": name}
                        for name in ("int", "float", "decimal", "bool", "string", "date", "timestamp")
                    },
                }
            },
        }
    )
    kinds = [pa.int64(), pa.float64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us")]
    assert columns_over_empty_tables("SELECT * FROM t LIMIT 0", policy).types == kinds
    computed = 'SELECT "int" + 1, "int" / 2, "int" > 1, "string" || \'x\', MAX("date"), COUNT(*) FROM t LIMIT 0'
    kinds = [pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.int64()]
    assert columns_over_empty_tables(computed, policy).types == kinds


DOUBLING = "WITH a0 AS (SELECT * FROM visits), {} SELECT * FROM a30".format(
    ", ".join(f"a{i + 1} AS (SELECT x.*, y.* FROM a{i} x, a{i} y)" for i in range(30))
)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd') LIMIT 0",
        "SELECT * FROM '/etc/passwd' LIMIT 0",
        "SELECT * FROM pg_class LIMIT 0",
        "SELECT person FROM visits LIMIT 0",
        "SELECT nothing FROM visits LIMIT 0",
        "INSERT INTO visits VALUES (1)",
        DOUBLING,
        f"SELECT {', '.join(['*'] * 3000)} FROM visits LIMIT 0",
        f"SELECT {' + '.join(['age'] * 1500)} FROM visits LIMIT 0",
        f"SELECT * FROM {', '.join(f'visits v{i}' for i in range(600))} LIMIT 0",
        f"SELECT {'(' * 3000}age{')' * 3000} FROM visits LIMIT 0",
    ],
    ids=lambda query: query[:40],
)
def test_what_is_refused_is_refused_fast(query: str) -> None:
    before = time.process_time()
    with pytest.raises(QueryError):
        columns_over_empty_tables(query, POLICY)
    assert time.process_time() - before < 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT repeat('x', 1000000000) || repeat('y', 1000000000) AS r FROM visits LIMIT 0",
        "SELECT list_sum(range(1000000000)) AS s FROM visits LIMIT 0",
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a) SELECT x FROM a LIMIT 0",
    ],
)
def test_nothing_is_run(query: str) -> None:
    """A database would compute such constants, for minutes, before it gives no rows."""
    before = time.process_time()
    assert len(columns_over_empty_tables(query, POLICY).names) == 1
    assert time.process_time() - before < 1
