"""What PostgreSQL and Spark themselves answer to queries in their dialects is what is answered here."""

from __future__ import annotations

import datetime as dt
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "query"))

from suite.dialects import QUERIES, visits, visits_policy
from suite.truth import difference, rows_of

import discreet as dp
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark import Spark
from discreet.errors import QueryError
from discreet.ledger import open_ledger
from discreet.policy import Policy, load_policy
from discreet.query import parse
from discreet.session import Session

if TYPE_CHECKING:
    import psycopg
    from pyspark.sql import SparkSession

    from servers import Load

NEARLY_EXACT = dp.approx(10**9, 1e-6)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return visits()


@pytest.fixture(scope="module")
def session(table: pa.Table) -> Iterator[Session]:
    with dp.connect({"stays": table}, visits_policy()) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(postgres: str, load_postgres: Load, table: pa.Table, edges: pa.Table) -> Iterator[psycopg.Connection]:
    import psycopg

    schema = load_postgres({"stays": table, "edges": edges})["stays"].partition(".")[0]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {schema}")
        connection.execute("SET TIME ZONE 'UTC'")
        connection.execute("SET statement_timeout TO '60s'")
        yield connection


def _check(session: Session, query: str, dialect: str, truth: list[tuple[Any, ...]]) -> None:
    release = session.sql(query, NEARLY_EXACT, dialect=dialect)
    ordered = bool(re.search(r"ORDER BY [^)]*$", query))
    found = difference(rows_of(release.to_arrow()), truth, ordered=ordered, within=1e-2)
    assert found is None, found


def test_postgres_answers_the_same(session: Session, server: psycopg.Connection) -> None:
    for query in QUERIES["postgres"]:
        text = query.replace("public.stays", "stays").replace('"public".', "")
        rows = server.execute(text.encode()).fetchall()
        _check(session, query, "postgres", [tuple(map(without_zone, row)) for row in rows])


def without_zone(value: Any) -> Any:
    """A timestamp in UTC as it is here."""
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


def test_spark_answers_the_same(session: Session, spark_tables: SparkSession) -> None:
    for query in QUERIES["spark"]:
        text = query.replace("default.stays", "stays")
        _check(session, query, "spark", [tuple(row) for row in spark_tables.sql(text).collect()])


@pytest.fixture(scope="module")
def spark_tables(spark: SparkSession, load_spark: Load, table: pa.Table, edges: pa.Table) -> Iterator[SparkSession]:
    settings = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, here in load_spark({"stays": table, "edges": edges}).items():
        spark.table(here).createOrReplaceTempView(name)
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        assert value is not None
        spark.conf.set(name, value)
    for name in ("stays", "edges"):
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def edges() -> pa.Table:
    """Values where systems differ: halves, negative numbers, nulls, blanks, ends of months and years."""
    days = [
        dt.date(2023, 1, 1),
        dt.date(2024, 2, 29),
        dt.date(2020, 12, 31),
        None,
        dt.date(2024, 1, 31),
        dt.date(2021, 1, 3),
    ]
    last = dt.datetime.fromisoformat("2024-02-29 23:59:59")
    rows = [
        {
            "i": i,
            "n": (-7, -2, -1, 0, 1, 2, 3, 7, 15, None)[i % 10],
            "m": i % 9 + 1,
            "x": (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 12.25, -12.75, 99.0, None)[i % 10],
            "y": (i % 7 + 1) * 1.25,
            "s": ("a", "abc", " ab ", "aab\u00e9a", "", None, "B%_", "xyz  ", "Graz")[i % 9],
            "t": ("a", "", "bcd")[i % 3],
            "d": days[i % 6],
            "ts": None if i % 8 == 7 else last - dt.timedelta(hours=37 * i, seconds=i),
            "b": (True, False, None)[i % 3],
        }
        for i in range(90)
    ]
    kinds = {
        "i": pa.int64(), "n": pa.int64(), "m": pa.int64(), "x": pa.float64(), "y": pa.float64(), "s": pa.string(),
        "t": pa.string(), "d": pa.date32(), "ts": pa.timestamp("us"), "b": pa.bool_(),
    }  # fmt: skip
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


@pytest.fixture(scope="module")
def edge_policy() -> Policy:
    kinds = {"int": "inm", "float": "xy", "string": "st", "bool": "b"}
    columns = {name: {"type": kind} for kind, names in kinds.items() for name in names}
    columns |= {"d": {"type": "date"}, "ts": {"type": "timestamp"}}
    return load_policy({"version": "1", "tables": {"edges": {"unit": "rows", "columns": columns}}})


_BOTH = (
    "n % 3", "n / 2.0", "x / 2", "CEIL(x)", "FLOOR(x)", "ABS(n)", "SIGN(x)", "LN(y)", "LOG10(y)", "EXP(x)",
    "POWER(y, 0.5)", "SQRT(y)", "CBRT(x)", "MOD(n, 3)", "GREATEST(n, 1)", "LEAST(n, m)", "COALESCE(n, 7)",
    "NULLIF(n, 2)",
    "LENGTH(s)", "CHAR_LENGTH(s)", "OCTET_LENGTH(s)", "LOWER(s)", "UPPER(s)", "REVERSE(s)", "TRIM(s)", "LTRIM(s)",
    "RTRIM(s)", "TRIM(BOTH 'a' FROM s)", "TRIM(LEADING 'a' FROM s)", "BTRIM(s, 'ab')", "CONCAT(s, 'x', t)", "s || 'x'",
    "SUBSTRING(s, 2)", "SUBSTRING(s FROM 2 FOR 3)", "SUBSTR(s, 1, 2)", "LEFT(s, 2)", "RIGHT(s, 2)",
    "SUBSTRING(s, POSITION('b' IN s) + 1)", "REPLACE(s, 'a', 'bb')", "POSITION('b' IN s)", "s LIKE 'a%'",
    "s ILIKE 'A_%'", "s NOT LIKE '%b'", "s = 'a' AND NOT b", "b IS NOT TRUE", "n IS DISTINCT FROM 1", "n IS NOT NULL",
    "n BETWEEN 1 AND 3", "s IN ('a', 'Graz')", "CASE WHEN n > 1 THEN 'a' WHEN b THEN s END",
    "CASE t WHEN 'a' THEN 1 END",
    "EXTRACT(YEAR FROM d)", "EXTRACT(QUARTER FROM d)", "EXTRACT(MONTH FROM ts)", "EXTRACT(WEEK FROM d)",
    "EXTRACT(DAY FROM d)", "EXTRACT(DOY FROM d)", "EXTRACT(DOW FROM d)", "EXTRACT(HOUR FROM ts)",
    "EXTRACT(MINUTE FROM ts)", "DATE_PART('month', d)", "CAST(ts AS DATE)", "CAST(b AS INT)", "CAST(x AS INT)",
    "CAST(x AS DECIMAL(10, 1))", "CAST(n AS DECIMAL(10, 2)) / 2", "MAKE_DATE(2024, 2, 29)",
    "CAST('2024-02-29' AS DATE)", "DATE(ts)",
    *(f"DATE_TRUNC('{unit}', ts)" for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")),
    "ts + INTERVAL '1' MONTH", "ts - INTERVAL '3' DAY", "ts + INTERVAL '2' HOUR", "ts - INTERVAL '1' YEAR",
    "-n", "x * y - n", "n + m * 2", "(n + m) * 2", "NOT (b OR n > 1)", "n < x",
)  # fmt: skip
_POSTGRES = (
    "n / m", "-n / 2", "DIV(n, 2)", "(m + 1) / 2 * 2", "EXTRACT(YEAR FROM d) / 10", "EXTRACT(YEAR FROM d)::int / 10",
    "TRUNC(x)", "ROUND(x::numeric)", "ROUND(x::numeric, 1)", "ROUND(n / 2.0)", "x::numeric::int", "x::int", "n::text",
    "LOG(y)", "LOG(2, m)", "BIT_LENGTH(s)", "LTRIM(s, 'a')", "RTRIM(s, 'a')", "STARTS_WITH(s, 'a')", "STRPOS(s, 'b')",
    "d - DATE '2024-01-31'", "(d - DATE '2024-01-31') / 7", "d + INTERVAL '1 month'", "d - INTERVAL '1 year'",
    "EXTRACT(ISODOW FROM d)", "ts::date", "d::text", "s::varchar(2)", "TO_CHAR(ts, 'YYYY-MM-DD HH24:MI:SS')",
    "TO_CHAR(d, 'DD.MM.YYYY')", "x::numeric(10, 1)", "DATE_PART('dow', ts)", "DATE_TRUNC('month', d)::date",
)  # fmt: skip
_SPARK = (
    "n / m", "n DIV 2", "n div m", "ROUND(x)", "ROUND(x, 1)", "SIGNUM(x)", "LOG(y)", "LOG(2, m)", "LOG2(m)",
    "IF(n > 1, s, t)", "IFNULL(n, 1)", "NVL(n, 1)", "NVL2(n, 1, 2)", "ISNULL(n)", "ISNOTNULL(n)", "n <=> NULL",
    "n == 1",
    "EQUAL_NULL(n, 1)", "LEN(s)", "LCASE(s)", "UCASE(s)", "STARTSWITH(s, 'a')", "ENDSWITH(s, 'a')", "CONTAINS(s, 'b')",
    "INSTR(s, 'b')", "LOCATE('b', s)", "DAYOFWEEK(d)", "WEEKDAY(d)", "DAYOFMONTH(d)", "DAYOFYEAR(d)",
    "WEEKOFYEAR(d)", "YEAR(d)", "QUARTER(d)", "MONTH(d)", "DAY(d)", "HOUR(ts)", "MINUTE(ts)", "SECOND(ts)",
    "EXTRACT(DAYOFWEEK FROM d)", "EXTRACT(DAYOFWEEK_ISO FROM d)", "DATEDIFF(d, DATE '2024-01-31')", "LAST_DAY(d)",
    "DATE_ADD(d, 3)", "DATE_SUB(d, 3)", "DATE_ADD(d, -3)", "TO_DATE(ts)", "DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:ss')",
    "CAST(n AS STRING)", "CAST(d AS STRING)", "CAST(x AS BIGINT)", "CAST(x AS DECIMAL)", "d + INTERVAL 1 MONTH",
    "CAST(y AS INT) / 2",
)  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        value = value.replace(tzinfo=None)
        return value.date() if value.time() == dt.time() else value
    if isinstance(value, bool) or value is None or isinstance(value, str | dt.date):
        return value
    return round(float(value), 9)


def _differing(
    expressions: tuple[str, ...], dialect: str, policy: Policy, edges: pa.Table, server: Callable[[str], list[Any]]
) -> list[str]:
    """The expressions of which the server says something else than DuckDB says of what is written for them."""
    connection = duckdb.connect()
    connection.register("edges", edges)
    differing: list[str] = []
    for expression in expressions:
        query = f"SELECT i, {expression} AS v FROM edges ORDER BY i"
        written = parse(dp.transpile(query, dialect, policy)).sql(dialect="duckdb").replace("SIGNUM(", "SIGN(")
        ours = [_plain(row[1]) for row in connection.execute(written).fetchall()]
        theirs = [_plain(row[1]) for row in server(query)]
        assert len(ours) == len(theirs) == 90
        assert len(set(theirs)) > 1 or "2024-02-29" in expression or "MAKE_DATE" in expression, expression
        first = next((f"{one!r} for {other!r}" for one, other in zip(ours, theirs, strict=True) if one != other), None)
        if first is not None:
            differing.append(f"{expression}: {first}")
    return differing


def test_what_is_written_for_a_function_of_postgres_is_that_function(
    edges: pa.Table, edge_policy: Policy, server: psycopg.Connection
) -> None:
    def ask(query: str) -> list[Any]:
        return server.execute(query.encode()).fetchall()

    assert _differing((*_BOTH, *_POSTGRES), "postgres", edge_policy, edges, ask) == []


def test_what_is_written_for_a_function_of_spark_is_that_function(
    edges: pa.Table, edge_policy: Policy, spark_tables: SparkSession
) -> None:
    def ask(query: str) -> list[Any]:
        return [tuple(row) for row in spark_tables.sql(query).collect()]

    assert _differing((*_BOTH, *_SPARK), "spark", edge_policy, edges, ask) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM stays WHERE REGEXP_MATCHES(note, 'a+')",
        "SELECT COUNT(*) FILTER (WHERE note SIMILAR TO 'a+') FROM stays",
        "SELECT REGEXP_REPLACE(city, 'a', 'b') AS c, COUNT(*) FROM stays GROUP BY c",
        "SELECT SUM(LEAST(LENGTH(REGEXP_EXTRACT(note, 'a+')), 9)) FROM stays",
    ],
)
def test_servers_whose_matchers_go_back_refuse_patterns_before_a_charge(
    query: str, table: pa.Table, postgres: str, load_postgres: Load, spark: SparkSession, load_spark: Load
) -> None:
    policy = load_policy(visits_policy())
    for engine in (
        PostgreSQL(postgres, policy, load_postgres({"stays": table})),
        Spark(spark, policy, load_spark({"stays": table})),
    ):
        with Session(engine, policy, open_ledger(None, dp.approx(10**12, 0.5))) as asked:
            spent = asked.spent
            for ask in (asked.sql, asked.plan):
                with pytest.raises(QueryError, match="use LIKE"):
                    ask(query, dp.approx(1, 1e-6))
            assert asked.spent == spent


def _number(dice: random.Random, depth: int, dialect: str) -> str:
    """A number in a dialect, of whole numbers, decimals and doubles, with all that turns on which of them it is."""
    if depth == 0:
        return dice.choice(["n", "m", "x", "y", "2", "3", "0.5", "7", "LENGTH(t)", "EXTRACT(DAY FROM d)"])
    part = lambda: _number(dice, depth - 1, dialect)  # noqa: E731
    return dice.choice(
        [
            lambda: f"({part()} {dice.choice('+-*')} {part()})",
            lambda: f"({part()} / {dice.choice(['2', 'm', 'y', '4.0', 'NULLIF(n, 0)'])})",
            lambda: f"({dice.choice(['n', 'm', '7'])} {dice.choice(['/', '%'])} {dice.choice(['m', '2', '3'])})",
            lambda: f"COALESCE({part()}, {part()})",
            lambda: f"CASE WHEN {part()} > {part()} THEN {part()} ELSE {part()} END",
            lambda: f"GREATEST({part()}, {part()})",
            lambda: f"CAST({part()} AS {dice.choice(['INT', 'BIGINT', 'DECIMAL(12, 1)', 'DECIMAL(12, 0)'])})",
            lambda: f"{dice.choice(['FLOOR', 'CEIL', 'ABS', '-'])}({part()})",
            lambda: f"NULLIF({part()}, {dice.choice(['1', '2', 'm'])})",
        ]
    )()


def _agree(dialect: str, policy: Policy, edges: pa.Table, ask: Callable[[str], list[Any]], count: int) -> int:
    """How many random expressions that are not refused have on each row what the server says."""
    dice, connection, answered = random.Random(dialect), duckdb.connect(), 0
    connection.register("edges", edges)
    for _ in range(count):
        query = f"SELECT i, {_number(dice, dice.randrange(1, 4), dialect)} AS v FROM edges ORDER BY i"
        try:
            written = parse(dp.transpile(query, dialect, policy)).sql(dialect="duckdb")
        except QueryError:
            continue
        ours = connection.execute(written).fetchall()
        for (_, one), (_, other) in zip(ours, ask(query), strict=True):
            assert _plain(one) == pytest.approx(_plain(other), rel=1e-6, abs=1e-6), (query, written)
        answered += 1
    return answered


@pytest.mark.soak
def test_random_arithmetic_of_postgres(edges: pa.Table, edge_policy: Policy, server: psycopg.Connection) -> None:
    assert _agree("postgres", edge_policy, edges, lambda query: server.execute(query.encode()).fetchall(), 400) > 150


@pytest.mark.soak
def test_random_arithmetic_of_spark(edges: pa.Table, edge_policy: Policy, spark_tables: SparkSession) -> None:
    assert (
        _agree("spark", edge_policy, edges, lambda query: [tuple(r) for r in spark_tables.sql(query).collect()]) > 150
    )
