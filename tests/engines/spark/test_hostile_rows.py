"""No stored value makes a query fail, none of them is read otherwise than DuckDB reads it, and errors do not speak."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.spark import Spark
from discreet.errors import DataError
from discreet.policy import Policy, load_policy
from discreet.query import make_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
NUMBERS = [0.0, -0.0, 1.5, -1.5, 1e308, 5e-324, math.inf, -math.inf, math.nan, 2.0**63, 0.49999999999999994, None]
TEXTS = ["a", "", "é", "'; DROP", "\\", "\\u0041", "${x}", "`", "nul\x00", "\U0010ffff", "%", None]


def _policy(columns: Mapping[str, Any], unit: str = "u", **more: Any) -> Policy:
    return load_policy({"version": "1", "tables": {"t": {"unit": unit, **more, "columns": columns}}})


def _found(engine: Any, query: str, policy: Policy) -> list[str]:
    return sorted(
        repr((g.key, g.units, g.sums)) for g in engine.run(make_plan(query, policy).levels[0].bounded, bytes(16))
    )


def _same(table: pa.Table, policy: Policy, queries: list[str], spark: SparkSession, load: Load) -> None:
    engine, duck = Spark(spark, policy, load({"t": table})), DuckDB({"t": table}, policy)
    engine.check("t")
    for query in queries:
        assert _found(engine, query, policy) == _found(duck, query, policy), query


def test_numbers_and_people_at_their_limits(spark: SparkSession, load: Load) -> None:
    columns = {"x": {"type": "float", "bounds": ["-1.5", 4]}, "i": {"type": "int", "bounds": [-5, 5]}}
    table = pa.table(
        {"u": pa.array(NUMBERS, pa.float64()), "x": pa.array(NUMBERS, pa.float64()), "i": pa.array(NUMBERS)}
    )
    queries = ["SELECT SUM(x) AS s, AVG(x) AS a, SUM(i) AS i, COUNT(i) AS n, COUNT(*) AS m FROM t",
               "SELECT COUNT(*) AS n FROM t WHERE x / 0 IS NULL AND i IS NULL",
               "SELECT VARIANCE(x) AS v FROM t"]  # fmt: skip
    _same(table, _policy(columns, max_rows=2), queries, spark, load)
    _same(table, _policy(columns, "rows"), queries, spark, load)


def test_texts_are_keys_whatever_they_hold(spark: SparkSession, load: Load) -> None:
    keys = [text for text in TEXTS if text is not None]
    columns = {"s": {"type": "string", "keys": keys}, "p": {"type": "string"}}
    table = pa.table({"u": list(range(len(TEXTS))), "s": TEXTS, "p": TEXTS})
    queries = ["SELECT s, COUNT(*) AS n FROM t GROUP BY s", "SELECT p, COUNT(*) AS n FROM t GROUP BY p",
               "SELECT COUNT(*) AS n FROM t WHERE s IN ('\\', '${x}', '\\u0041')"]  # fmt: skip
    _same(table, _policy(columns, max_rows=1), queries, spark, load)


def test_bytes_that_are_no_text_are_replaced(spark: SparkSession, load: Load) -> None:
    raw = pa.array([b"ok", b"\xff\xfe", b"a\xed\xa0\x80", b"\xc3"], pa.binary())
    table = pa.table({"u": [1, 2, 3, 4], "s": raw.view(pa.string())})
    policy = _policy({"s": {"type": "string"}}, max_rows=1)
    engine = Spark(spark, policy, load({"t": table}))
    for query in (
        "SELECT s, COUNT(*) AS n FROM t GROUP BY s",
        "SELECT COUNT(*) AS n FROM t WHERE UPPER(REVERSE(s)) LIKE '%K_'",
    ):
        assert engine.run(make_plan(query, policy).levels[0].bounded, bytes(16))


def test_odd_names_inject_nothing(spark: SparkSession, load: Load) -> None:
    name = 'a`b"c.d ${e}\\'
    policy = _policy({name: {"type": "int", "bounds": [0, 9]}}, max_rows=1)
    table = pa.table({"u": [1, 2], name: [3, 4]})
    query = 'SELECT SUM("' + name.replace('"', '""') + '") AS s FROM t'
    _same(table, policy, [query], spark, load)


def test_a_sum_wraps_at_no_width(spark: SparkSession, load: Load) -> None:
    from discreet.engines.spark._dialect import DIALECT
    from discreet.engines.spark._private import PrivateSession

    session = PrivateSession(spark)
    for limit in (2**22 - 1, 2**22, 2**31, 2**43, 2**44, 2**62):
        for value in (limit, -limit):
            sql = f"SELECT {DIALECT.sum(f'{value}L', (-limit, limit))} FROM range(1000)"
            assert session.rows(sql)[0][0] == 1000 * value
    halves = DIALECT.sum("x", (-(2**32), 2**32))
    assert halves.count("sum(") == 2
    assert 2**40 * (2**32 >> 22) < 2**63
    assert 2**40 * 2**22 < 2**63


def test_the_users_session_is_left_as_it_is(spark: SparkSession, load: Load) -> None:
    before, views = dict(spark.conf.getAll), len(spark.sql("SHOW VIEWS").collect())
    names = load({"t": pa.table({"u": [1], "x": [1]})})
    policy = _policy({"x": {"type": "int", "bounds": [0, 9]}}, max_rows=1)
    engine = Spark(spark, policy, names)
    assert engine.run(make_plan("SELECT SUM(x) AS s FROM t", policy).levels[0].bounded, bytes(16))
    engine.close()
    assert dict(spark.conf.getAll) == before
    assert len(spark.sql("SHOW VIEWS").collect()) == views + 1
    assert type(spark).getActiveSession() is None or dict(type(spark).getActiveSession().conf.getAll) == before


def test_a_view_that_fails_says_nothing(spark: SparkSession, load: Load) -> None:
    names = load({"t": pa.table({"u": [1, 2], "x": ["1", "secret"]})})
    spark.sql(f"SELECT u, CAST(x AS INT) AS x FROM {names['t']}").createOrReplaceTempView("fails")
    policy = _policy({"x": {"type": "int", "bounds": [0, 9]}}, max_rows=1)
    engine = Spark(spark, policy, {"t": "fails"})
    with pytest.raises(DataError, match=r"stays spent") as caught:
        engine.run(make_plan("SELECT SUM(x) AS s FROM t", policy).levels[0].bounded, bytes(16))
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)
    assert Spark(spark, policy, names).run(make_plan("SELECT SUM(x) AS s FROM t", policy).levels[0].bounded, bytes(16))


@pytest.mark.parametrize(
    ("table", "named", "words"),
    [
        (pa.table({"u": [1], "x": [1]}), {"t": "nowhere.t"}, "no table or view"),
        (pa.table({"u": [1]}), None, "lacks what the policy names: x"),
        (pa.table({"u": [1], "x": [[1]]}), None, "x of t is stored as array<bigint>"),
        (pa.table({"u": [1], "x": [1], "X": [1]}), None, "differ by case alone"),
        (pa.table({"u": [1], "x": [1]}), {}, "has no source"),
    ],
)
def test_a_bad_source_is_refused(
    table: pa.Table, named: dict[str, str] | None, words: str, spark: SparkSession, load: Load
) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    names = load({"t": table})
    spark.conf.set("spark.sql.caseSensitive", "false")
    policy = _policy({"x": {"type": "int", "bounds": [0, 9]}}, max_rows=1)
    with pytest.raises(DataError, match=words):
        Spark(spark, policy, names if named is None else named).check("t")


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(DataError, match="classic SparkSession"):
        Spark(object(), _policy({"x": {"type": "int"}}, max_rows=1))  # pyright: ignore[reportArgumentType]


@pytest.mark.soak
@pytest.mark.spark
def test_a_cluster_that_dies_is_said_to_be_gone() -> None:
    """In a process of its own, whose JVM is killed in the middle of a query.

    Every time the command line is asked for as much, in `tests/cli/test_other_engines.py`.
    """
    said = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "dying.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.stdout.splitlines() == ["killed: True True", "afterwards: True"], said.stderr[-2000:]
