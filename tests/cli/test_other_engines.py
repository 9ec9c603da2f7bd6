"""`--data` as a URL: PostgreSQL and Spark answer as files do, on the same ledger, and fail in words that help."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.ledger import open_ledger
from discreet.policy import load_policy

QUERY = "SELECT region, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY region"
ASK = ("--policy", "visits.toml", "--ledger", "visits.ledger", "--epsilon", "0.5", "--format", "json")
GONE = "postgresql://analyst:hunter2@127.0.0.1:9/shop"
AT_SPARK = """
import os, signal, sys
import discreet as dp
from pyspark import SparkContext

with dp.connect(sys.argv[1], "visits.toml", "visits.ledger") as session:
    engine, run = session._engine, session._engine.run
    type(engine).run = lambda *asked: (SparkContext._gateway.proc.kill(), run(*asked[1:]))[1]
    try:
        session.sql("SELECT COUNT(*) AS n FROM visits", dp.pure(1))
    except dp.DataError as error:
        print(error)
"""


@pytest.fixture
def in_postgres(cli: Any, postgres: str, load_postgres: Callable[..., dict[str, str]]) -> str:
    schema = load_postgres({"visits": pq.read_table("visits.parquet")})["visits"].partition(".")[0]
    return f"{postgres}&options=-csearch_path%3D{schema}"


@pytest.fixture
def in_spark(cli: Any, spark: Any) -> str:
    return f"spark://local[2]?visits={Path('visits.parquet').resolve()}"


def _spent() -> Fraction:
    with open_ledger("visits.ledger", None) as ledger:
        assert isinstance(ledger.spent, dp.privacy.ApproxLoss | dp.privacy.PureLoss)
        return ledger.spent.eps


def _check(cli: Any, url: str) -> None:
    """An answer, the same again for free, from a file and by the library too, and a plan."""
    first = cli("query", QUERY, "--data", url, *ASK)
    assert (first.code, first.err) == (0, "")
    assert [row[0] for row in first.json["rows"]] == ["north", "south"]
    for source in (url, f"visits={url}", "visits.parquet"):
        assert cli("query", QUERY, "--data", source, *ASK).json == first.json
    assert _spent() == Fraction(1, 2)
    with dp.connect(url, "visits.toml", "visits.ledger") as session:
        release = session.sql(QUERY, dp.pure("0.5"))
        assert [list(row.values()) for row in release.to_arrow().to_pylist()] == first.json["rows"]
        near = session.sql(QUERY, dp.pure("2.25")).to_arrow().to_pylist()
    assert [abs(row["n"] - wanted) < 50 for row, wanted in zip(near, (266, 134), strict=True)] == [
        True,
        True,
    ]  # 25 scales
    assert _spent() == Fraction("2.75")
    assert cli("plan", QUERY, "--data", url, "--policy", "visits.toml").code == 0


def test_postgres_answers_as_a_file_does(cli: Any, in_postgres: str) -> None:
    _check(cli, in_postgres)


def test_spark_answers_as_a_file_does(cli: Any, in_spark: str) -> None:
    _check(cli, in_spark)


def test_one_policy_has_tables_in_several_engines(cli: Any, in_postgres: str, spark: Any) -> None:
    columns = {"cost": {"type": "float", "bounds": [0, 50]}}
    tables = {name: {"unit": "person", "max_rows": 2, "columns": columns} for name in ("visits", "stays", "calls")}
    policy = {"version": "1", "budget": {"epsilon": 10**6}, "tables": tables}
    spark.read.parquet(str(Path("visits.parquet").resolve())).createOrReplaceTempView("stays")
    sources = {"visits": in_postgres, "stays": spark, "calls": "visits.parquet"}
    with dp.connect(sources, policy) as session:
        found = [session.sql(f"SELECT SUM(cost) AS s FROM {name}", dp.pure(10**5)).to_arrow()[0][0] for name in tables]
        assert [round(value.as_py()) for value in found] == [sum(i % 50 for i in range(400))] * 3
        with pytest.raises(dp.QueryError, match="visits and stays are in different engines"):
            session.sql("SELECT COUNT(*) AS n FROM visits JOIN stays ON visits.person = stays.person", dp.pure(1))
        assert session.remaining == dp.pure(7 * 10**5)


COLUMNS = {
    "person": "int", "region": "string", "city": "string", "cost": "float", "age": "int", "day": "date",
    "free": "string",
}  # fmt: skip


def _check_policy(cli: Any, url: str, *options: str) -> None:
    """A policy from the catalogue alone, which a query can use and a check finds nothing wrong with."""
    done = cli("policy", "init", url, "--unit", "visits=person", "--max-rows", "2", *options, "-o", "new.toml")
    assert done.code == 0
    text = Path("new.toml").read_text()
    assert url not in text and "hunter2" not in text and "Bern" not in text
    columns = load_policy("new.toml").tables["visits"].columns
    assert {"person": "int", **{name: column.type for name, column in columns.items()}} == COLUMNS
    assert cli("policy", "check", "new.toml", "--data", url, "--json").json["problems"] == []
    Path("wrong.toml").write_text(text.replace('day = { type = "date" }', 'day = { type = "int" }'))
    (problem,) = cli("policy", "check", "wrong.toml", "--data", url, "--json").json["problems"]
    assert problem["key"] == "tables.visits.columns.day" and "stored as date" in problem["problem"]


def test_a_policy_is_started_from_postgres(cli: Any, in_postgres: str, admin: Any) -> None:
    schema = in_postgres.rpartition("%3D")[2]
    admin.execute(
        f"""
        CREATE DOMAIN {schema}.amount AS numeric(9, 2);
        CREATE TYPE {schema}.kind AS ENUM ('gout', 'lupus');
        CREATE TABLE {schema}.odd (a {schema}.amount, k {schema}.kind, u uuid, t timestamptz, j json, x int[],
            g int GENERATED ALWAYS AS (1) STORED);
        CREATE VIEW {schema}.seen AS SELECT 1 AS x;
        CREATE TABLE {schema}.parted (x int, y boolean) PARTITION BY RANGE (x);
        CREATE TABLE {schema}.part PARTITION OF {schema}.parted FOR VALUES FROM (0) TO (9);
        """
    )
    done = cli("policy", "init", in_postgres)
    assert done.code == 0 and "gout" not in done.out
    tables = tomllib.loads(done.out)["tables"]
    assert sorted(tables) == ["odd", "parted", "visits"]
    odd = {name: column["type"] for name, column in tables["odd"]["columns"].items()}
    assert odd == {"a": "decimal", "k": "string", "u": "string", "t": "timestamp", "g": "int"}
    assert "# j is of a type" in done.out and "# x is of a type" in done.out
    _check_policy(cli, in_postgres, "--tables", "visits")


def test_a_policy_is_started_from_spark(cli: Any, in_spark: str, spark: Any) -> None:
    spark.sql("SELECT 1Y AS i, 'a' AS s, 1.5BD AS d, array(1) AS x, now() AS t").createOrReplaceTempView("`odd one`")
    done = cli("policy", "init", in_spark)
    assert done.err == ""
    tables = tomllib.loads(done.out)["tables"]
    spark.catalog.dropTempView("odd one")
    odd = {name: column["type"] for name, column in tables["odd one"]["columns"].items()}
    assert odd == {"i": "int", "s": "string", "d": "decimal", "t": "timestamp"}
    _check_policy(cli, in_spark, "--tables", "visits")


@pytest.mark.parametrize("command", [("init",), ("check", "visits.toml", "--data")])
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (GONE, "127.0.0.1:9, database shop cannot be reached"),
        ("mysql://analyst:hunter2@host/shop", "give a path, a postgresql:// or a spark:// URL"),
        ("spark://analyst:hunter2@host:7077", "write spark://host:7077, spark://local"),
    ],
)
def test_a_policy_from_nowhere_is_refused_without_secrets(
    cli: Any, command: tuple[str, ...], url: str, shown: str
) -> None:
    done = cli("policy", *command, url)
    assert (done.code, done.out) == (4, "")
    assert shown in done.err and "hunter2" not in done.err


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (GONE, "127.0.0.1:9, database shop cannot be reached"),
        ("postgresql://analyst:hunter2@%zz/shop", "URL cannot be read"),
        ("mysql://analyst:hunter2@host/shop", "give a path, a postgresql:// or a spark:// URL"),
        ("spark://analyst:hunter2@host:7077", "write spark://host:7077, spark://local"),
        ("spark://local[2]?visits=missing.parquet", "missing.parquet cannot be read as visits"),
    ],
)
def test_a_url_that_leads_nowhere_is_said_to_without_its_secrets(cli: Any, spark: Any, url: str, words: str) -> None:
    done = cli("query", QUERY, "--data", url, *ASK)
    assert done.code != 0
    assert words in " ".join(done.err.split())
    assert "hunter2" not in done.err
    assert not Path("visits.ledger").exists()


@pytest.mark.parametrize(
    ("module", "url", "extra"), [("psycopg", GONE, "postgres"), ("pyspark", "spark://local", "spark")]
)
def test_a_missing_extra_is_named(cli: Any, monkeypatch: pytest.MonkeyPatch, module: str, url: str, extra: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    done = cli("query", QUERY, "--data", url, *ASK)
    assert done.code != 0
    assert f"discreet[{extra}]" in done.err
    assert not Path("visits.ledger").exists()
    done = cli("policy", "init", url)
    assert done.code == 2 and f"discreet[{extra}]" in done.err


def test_a_server_that_ends_the_query_leaves_the_ledger_right(
    cli: Any, in_postgres: str, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dp.connect(in_postgres, "visits.toml", "visits.ledger") as session:
        engine: Any = session._engine
        real = engine._groups

        def interrupted(*asked: Any) -> Any:
            admin.execute("SELECT pg_terminate_backend(%s)", (engine._connection.info.backend_pid,))
            return real(*asked)

        with monkeypatch.context() as patch:
            patch.setattr(engine, "_groups", interrupted)
            with pytest.raises(dp.DataError, match=r"connection was lost.* stays spent"):
                session.sql(QUERY, dp.pure(1))
        assert _spent() == 1
        assert len(session.sql(QUERY, dp.pure(1)).to_arrow()) == 2
        assert _spent() == 2


@pytest.mark.spark
def test_a_cluster_that_dies_leaves_the_ledger_right(cli: Any) -> None:
    """In a process of its own, whose JVM is killed when the query has been paid for."""
    url = f"spark://local[1]?visits={Path('visits.parquet').resolve()}"
    done = subprocess.run([sys.executable, "-c", AT_SPARK, url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Spark stopped before the query was finished" in done.stdout
    assert "stays spent" in done.stdout
    assert _spent() == 1
