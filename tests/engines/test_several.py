"""Tables in several engines: one ledger, and no question that would carry rows from one to another."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import open_engine
from discreet.engines._several import Several
from discreet.engines.duckdb import DuckDB
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.session import Session

TABLES: dict[str, dict[str, Any]] = {
    "people": {"unit": "id", "max_rows": 1, "columns": {"age": {"type": "int", "bounds": [0, 99]}}},
    "visits": {"unit": "id", "max_rows": 4, "columns": {"cost": {"type": "int", "bounds": [0, 9]}}},
}
POLICY = load_policy({"version": "1", "budget": {"epsilon": 10**9}, "tables": TABLES})
PEOPLE = pa.table({"id": [1, 2, 3], "age": [20, 30, 40]})
VISITS = pa.table({"id": [1, 1, 2], "cost": [3, 4, 5]})


class Counted(DuckDB):
    closed = 0

    def close(self) -> None:
        type(self).closed += 1
        super().close()


class Stubborn(DuckDB):
    def close(self) -> None:
        super().close()
        raise OSError("no")


def apart(one: type[DuckDB] = DuckDB, other: type[DuckDB] = DuckDB) -> Several:
    return Several({"people": one({"people": PEOPLE}, POLICY), "visits": other({"visits": VISITS}, POLICY)}, POLICY)


def test_each_question_is_asked_where_its_tables_are() -> None:
    engine = apart()
    for table in POLICY.tables:
        engine.check(table)
    with Session(engine, POLICY, open_ledger(None, dp.pure(10**9))) as session:
        ages = session.sql("SELECT SUM(age) AS s FROM people", dp.pure(10**6))
        costs = session.sql("SELECT SUM(cost) AS s FROM visits", dp.pure(10**6))
        assert (ages.to_arrow().to_pylist(), costs.to_arrow().to_pylist()) == ([{"s": 90}], [{"s": 12}])
        assert session.spent == dp.pure(2 * 10**6)


def test_a_join_across_engines_is_refused_before_anything_is_spent() -> None:
    with Session(apart(), POLICY, open_ledger(None, dp.pure(10**9))) as session:
        for query in (
            "SELECT COUNT(*) AS n FROM people JOIN visits ON people.id = visits.id",
            "SELECT COUNT(*) AS n FROM (SELECT age FROM people UNION ALL SELECT cost FROM visits) AS b",
        ):
            for ask in (session.plan, session.sql):
                with pytest.raises(dp.QueryError, match="people and visits are in different engines"):
                    ask(query, dp.pure(1))
        assert session.remaining == dp.pure(10**9)


def test_a_path_that_leads_to_another_engine_is_refused() -> None:
    tables = {**TABLES, "items": {"unit": "no -> visits.no", "max_rows": 2, "columns": {}}}
    policy = load_policy({"version": "1", "tables": tables})
    items, visits = pa.table({"no": [7, 8]}), VISITS.append_column("no", pa.array([7, 7, 8]))
    there = DuckDB({"visits": visits}, policy)
    engine = Several({"visits": there, "items": DuckDB({"items": items}, policy)}, policy)
    with pytest.raises(dp.DataError, match="items finds its people in visits, which is in another engine"):
        engine.check("items")
    engine.close()


@pytest.mark.parametrize("source", ["host=h password=secret", "host=h PASSWORD = secret dbname=visits.parquet"])
def test_a_password_in_what_is_no_url_is_not_shown(source: str) -> None:
    for given in (source, dict.fromkeys(POLICY.tables, source)):
        with pytest.raises(dp.DataError, match="a PostgreSQL source is a URL") as caught:
            open_engine(given, POLICY)
        assert "secret" not in str(caught.value)


def test_a_table_without_a_source_is_missed() -> None:
    engine = Several({"people": DuckDB({"people": PEOPLE}, POLICY)}, POLICY)
    with pytest.raises(dp.DataError, match="visits has no source"):
        engine.check("visits")
    engine.close()


def test_every_engine_is_closed_once_even_if_another_will_not() -> None:
    before = Counted.closed
    one = Counted({"people": PEOPLE, "visits": VISITS}, POLICY)
    Several(dict.fromkeys(POLICY.tables, one), POLICY).close()
    assert Counted.closed == before + 1
    with pytest.raises(OSError, match="no"):
        apart(Counted, Stubborn).close()
    assert Counted.closed == before + 2


@pytest.mark.parametrize("url", ["mysql://me:secret@host/db", "https://host/visits.parquet", "s3://bucket/key"])
def test_a_url_of_another_kind_is_refused_without_its_secrets(url: str) -> None:
    for source in (url, {"people": url, "visits": VISITS}):
        with pytest.raises(dp.DataError, match="give a path, a postgresql://") as caught:
            open_engine(source, POLICY)
        assert "secret" not in str(caught.value)


def test_two_sources_of_one_table_are_refused() -> None:
    """Not one of them taken without a word."""
    with pytest.raises(dp.DataError, match="visits and Visits are one table"):
        open_engine({"people": PEOPLE, "visits": VISITS, "Visits": VISITS}, POLICY)
