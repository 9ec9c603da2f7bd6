"""Of a DuckDB database only what is stored is read: what a view or a generated column computes could betray a row."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB, _packed
from discreet.errors import DataError
from discreet.policy import load_policy
from discreet.query import make_plan

POLICY = load_policy({"version": "1", "tables": {"v": {"unit": "p", "max_rows": 3, "columns": {"x": {"type": "int"}}}}})


def _database(folder: Path, *statements: str) -> str:
    path = str(folder / "t.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE base AS SELECT i % 5 AS p, i AS x, 'a' || i AS s FROM range(9) AS r(i)")
        for statement in statements:
            connection.execute(statement)
    return path


def _check(path: str) -> None:
    engine = DuckDB(path, POLICY)
    try:
        engine.check("v")
    finally:
        engine.close()


@pytest.mark.parametrize(
    "view",
    [
        "SELECT p, CAST(replace(s, 'a', '') AS INT) AS x FROM base",
        "SELECT t.* REPLACE (CASE WHEN p = 4 THEN error(s) ELSE x END AS x) FROM base AS t",
        "SELECT p, count(*) OVER () AS x FROM base",
        "SELECT p, rowid AS x FROM base",
        "SELECT p, x FROM base LIMIT 3",
        "SELECT * FROM base",
    ],
)
@pytest.mark.parametrize("name", ["v", "V"])
def test_a_view_is_refused(view: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="v is a view: it could fail on one row"):
        _check(_database(tmp_path, f"CREATE VIEW {name} AS {view}"))


def test_what_another_schema_holds_under_the_name_is_not_looked_at(tmp_path: Path) -> None:
    steps = ("CREATE SCHEMA s", "CREATE VIEW s.v AS SELECT 1 AS p", "CREATE TABLE v AS SELECT 1 AS p, 2 AS x")
    _check(_database(tmp_path, *steps))


@pytest.mark.parametrize("kind", ["", " VIRTUAL"])
def test_a_generated_column_is_refused_where_it_is_named(kind: str, tmp_path: Path) -> None:
    generated = f"y INT GENERATED ALWAYS AS (CAST(s AS INT)){kind}"
    steps = (
        f"CREATE TABLE v (p INT, s VARCHAR DEFAULT 'b', x INT DEFAULT 7, {generated})",
        "INSERT INTO v (p, s) VALUES (1, '5'), (2, '7')",
        "UPDATE v SET s = 'secret' WHERE p = 2",
    )
    _check(path := _database(tmp_path, *steps))
    about = {"unit": "p", "max_rows": 3, "columns": {"Y": {"type": "int"}}}
    with pytest.raises(DataError, match="y of v is a generated column"):
        DuckDB(path, load_policy({"version": "1", "tables": {"v": about}})).check("v")


@pytest.mark.parametrize("name", ["people", "keys 0", "packed rows", "kept rows", "some people", "source", "rows"])
def test_a_table_may_have_any_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that the engine uses for itself."""
    monkeypatch.setattr(_packed, "_FEW", -1)
    made = f"""CREATE TABLE "{name}" AS SELECT 'p' || (i % 5) AS p, i % 3 AS x FROM range(20) AS r(i)"""
    path = _database(tmp_path, made)
    about = {"unit": "p", "max_rows": 50, "max_groups": 50, "columns": {"x": {"type": "int"}}}
    policy = load_policy({"version": "1", "tables": {name: about}})
    engine = DuckDB(path, policy)
    engine.check(name)
    plan = make_plan(f'SELECT x, COUNT(*) AS n, COUNT(DISTINCT p) AS m FROM "{name}" GROUP BY x', policy)
    groups = engine.run(plan.levels[0].bounded, bytes(16))
    assert {group.key: group.sums for group in groups} == {(0,): (7, 5), (1,): (7, 5), (2,): (6, 5)}
    engine.close()


def test_columns_that_only_some_call_alike_are_told_apart_or_refused(tmp_path: Path) -> None:
    path = _database(tmp_path, 'CREATE TABLE v ("straße" INT, "strasse" INT, p INT, x INT)')
    _check(path)
    about = {"unit": "p", "max_rows": 3, "columns": {"straße": {"type": "int"}}}
    with pytest.raises(DataError, match="two columns of v differ by case alone"):
        DuckDB(path, load_policy({"version": "1", "tables": {"v": about}})).check("v")
