"""What other systems write in another way is planned as what is written here, and nothing else is taken for it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.query import FUNCTIONS_ELSEWHERE, make_plan

NEARLY_EXACT = dp.pure(10**6)
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**9},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "x": {"type": "int", "bounds": [-5, 9]},
                "y": {"type": "int", "bounds": [-5, 9]},
                "a": {"type": "int", "bounds": [0, 9]},
                "b": {"type": "int", "bounds": [1, 9]},
                "s": {"type": "string"},
                "k": {"type": "string", "keys": ["u", "v", "w"]},
                "yes": {"type": "bool"},
                "d": {"type": "date", "bounds": ["1990-01-01", "2030-12-31"]},
                "m": {"type": "timestamp"},
            },
        }
    },
}
ROWS = pa.table(
    {
        "x": pa.array([1, -2, None, 0, 9], pa.int64()),
        "y": pa.array([None, 3, 3, 0, -5], pa.int64()),
        "a": pa.array([4, 0, None, 7, 9], pa.int64()),
        "b": pa.array([1, 2, None, 7, 9], pa.int64()),
        "s": ["Graz", "Cork", None, "ä%", ""],
        "k": ["u", "v", "u", None, "w"],
        "yes": pa.array([True, None, False, True, True]),
        "d": [dt.date(1999, 12, 31), dt.date(2000, 1, 1), None, dt.date(2001, 2, 3), dt.date(2024, 2, 29)],
        "m": [
            *map(dt.datetime.fromisoformat, ["1999-12-31 23:59", "2000-01-01", "2000-02-03", "2024-02-29 01:00"]),
            None,
        ],
    }
)


def _sql(query: str) -> str:
    return make_plan(query, load_policy(POLICY)).sql


@pytest.mark.parametrize("written", FUNCTIONS_ELSEWHERE)
def test_what_is_written_elsewhere_is_planned_as_what_is_written_here(written: str) -> None:
    here = FUNCTIONS_ELSEWHERE[written]
    for before, after in zip(_listed(written), _listed(here) * 2, strict=False):
        queries = ["SELECT {} AS n FROM t"]
        if "FILTER" not in after:
            queries = ["SELECT COUNT({}) AS n FROM t", "SELECT COUNT(*) AS n FROM t WHERE ({}) IS NULL GROUP BY k"]
        for query in queries:
            assert _sql(query.format(_of_columns(before))) == _sql(query.format(_of_columns(after)))


def _of_columns(text: str) -> str:
    text = text.replace("start, length", "2, 3")
    return text.replace(" a)", " yes)") if "IF(" in text or "FILTER" in text else text


def _listed(written: str) -> list[str]:
    """The spellings of one cell of the table, which stand beside one another."""
    parts, depth, start = list[str](), 0, 0
    for i, sign in enumerate(written):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append(written[start:i])
            start = i + 1
    return [part.strip() for part in (*parts, written[start:])]


@pytest.mark.parametrize(
    ("written", "here"),
    [
        ("VARP(x)", "VAR_POP(x)"),
        ("STDEVP(x)", "STDDEV_POP(x)"),
        ("FSUM(x)", "SUM(x)"),
        ("KAHAN_SUM(x)", "SUM(x)"),
        ("FAVG(x)", "AVG(x)"),
        ("COUNT_BIG(*)", "COUNT(*)"),
        ("STD(x)", "STDDEV(x)"),
        ("MODE() WITHIN GROUP (ORDER BY k)", "MODE(k)"),
        ("AVG(DATEDIFF(dd, d, m))", "AVG(DATE_DIFF('day', d, m))"),
        ("MAX(DATEDIFF(hh, d, m))", "MAX(DATE_DIFF('hour', d, m))"),
        ("SUM(DATEDIFF(mi, d, m))", "SUM(DATE_DIFF('minute', d, m))"),
        ("MEDIAN(DATE_DIFF(m, d, SECOND))", "MEDIAN(DATE_DIFF('second', d, m))"),
        ("AVG(DATE_DIFF(m, DATE '2024-01-01', year))", "AVG(DATE_DIFF('year', DATE '2024-01-01', m))"),
        ("MIN(DATEDIFF(LAST_DAY(d), d))", "MIN(DATE_DIFF('day', d, LAST_DAY(d)))"),
        ("COUNT_BIG(DISTINCT s)", "COUNT(DISTINCT s)"),
        ("NDV(s)", "COUNT(DISTINCT s)"),
        ("HLL(s)", "COUNT(DISTINCT s)"),
        ("APPROX_PERCENTILE(x, 0.3)", "QUANTILE_CONT(x, 0.3)"),
        ("PERCENTILE_APPROX(x, 0.5)", "MEDIAN(x)"),
        ("PERCENTILE(x, [0.1, 0.9])", "QUANTILE_CONT(x, [0.1, 0.9])"),
        ("SUM(NVL2(x, ZEROIFNULL(a), b))", "SUM(CASE WHEN x IS NULL THEN b ELSE COALESCE(a, 0) END)"),
        ("SUM(SAFE_DIVIDE(x + y, b + 1))", "SUM((x + y) / (b + 1))"),
        ("MAX(SQUARE(x - y))", "MAX(POWER(x - y, 2))"),
        ("COUNT_IF(DATEADD('hour', -3, m) > DATE '2020-01-01')", "COUNT_IF(m - INTERVAL 3 HOUR > DATE '2020-01-01')"),
        ("COUNT_IF(s LIKE ANY (ARRAY['a%']))", "COUNT_IF(s LIKE 'a%')"),
        ("COUNT_IF(NOT s ILIKE ALL ('a%', '%b'))", "COUNT_IF(NOT (s ILIKE 'a%' AND s ILIKE '%b'))"),
    ],
)
def test_nested_and_statistical_spellings(written: str, here: str) -> None:
    assert _sql(f"SELECT {written} AS n FROM t") == _sql(f"SELECT {here} AS n FROM t")


@pytest.mark.parametrize(
    ("written", "here"),
    [
        ("SELECT TOP 2 k, COUNT(*) AS n FROM t GROUP BY k", "SELECT k, COUNT(*) AS n FROM t GROUP BY k LIMIT 2"),
        (
            "SELECT TOP (2) k, COUNT(*) AS n FROM t GROUP BY k ORDER BY 2",
            "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY 2 LIMIT 2",
        ),
        (
            "SELECT k, COUNT(*) AS n FROM t GROUP BY k FETCH FIRST ROW ONLY",
            "SELECT k, COUNT(*) AS n FROM t GROUP BY k LIMIT 1",
        ),
        (
            "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n OFFSET 1 ROWS FETCH NEXT (2) ROWS ONLY",
            "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n LIMIT 2 OFFSET 1",
        ),
        ("SELECT k, COUNT(*) AS n FROM t GROUP BY k LIMIT ALL", "SELECT k, COUNT(*) AS n FROM t GROUP BY k"),
        ("SELECT k, COUNT(*) AS n FROM t GROUP BY k LIMIT NULL", "SELECT k, COUNT(*) AS n FROM t GROUP BY k"),
        (
            "SELECT k, yes, COUNT(*) AS n FROM t GROUP BY k, yes WITH ROLLUP",
            "SELECT k, yes, COUNT(*) AS n FROM t GROUP BY ROLLUP (k, yes)",
        ),
        (
            "SELECT k, yes, COUNT(*) AS n FROM t GROUP BY 1, 2 WITH CUBE",
            "SELECT k, yes, COUNT(*) AS n FROM t GROUP BY CUBE (k, yes)",
        ),
        (
            "SELECT k, yes, COUNT(*) AS n FROM t GROUP BY k, yes GROUPING SETS ((k), (k, yes))",
            "SELECT k, yes, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((k), (k, yes))",
        ),
    ],
)
def test_clauses_written_elsewhere_are_those_that_are_written_here(written: str, here: str) -> None:
    assert _sql(written) == _sql(here)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("SELECT TOP 2 PERCENT k, COUNT(*) FROM t GROUP BY k", "takes a"),
        ("SELECT TOP 2 WITH TIES k, COUNT(*) FROM t GROUP BY k ORDER BY 2", "takes a"),
        ("SELECT TOP 2 k, COUNT(*) FROM t GROUP BY k LIMIT 3", "not valid SQL"),
        ("SELECT COUNT(*) FROM (SELECT TOP 2 x FROM t)", "use WHERE"),
        ("SELECT TOP(2), COUNT(*) FROM t", "not supported"),
        ("SELECT COUNT(*) FROM t GROUP BY k, ROLLUP (yes) WITH CUBE", "WITH ROLLUP"),
        ("SELECT COUNT(*) FROM (SELECT k FROM t GROUP BY k WITH ROLLUP)", "each set has a share"),
        ("SELECT COUNT_IF(s NOT LIKE ANY ('a%', 'b%')) FROM t", "LIKE takes a constant"),
        ("SELECT COUNT_IF(s LIKE ANY ('a%', k)) FROM t", "LIKE takes a constant"),
        ("SELECT COUNT(DATEADD('day', x, d)) FROM t", "not supported"),
        ("SELECT COUNT(DATEADD('dayofyear', 1, d)) FROM t", "not supported"),
        ("SELECT COUNT(DATEPART(week, d)) FROM t", "no column week"),
        ("SELECT COUNT(DATE_FORMAT(d, '%M')) FROM t", "write STRFTIME"),
        ("SELECT COUNT(DATE_FORMAT(d, 'yyyy')) FROM t", "STRFTIME"),
        ("SELECT COUNT(TO_CHAR(d, 'YYYY')) FROM t", "write STRFTIME"),
        ("SELECT COUNT(CAST(x AS FLOAT63)) FROM t", "cast to"),
        ("SELECT HLL(s, 12) FROM t", "not supported"),
        ("SELECT AVG(DATE_DIFF(m, d, WEEK)) FROM t", "no column WEEK"),
        ("SELECT AVG(DATETIME_DIFF(m, d, WEEK)) FROM t", "write DATE_DIFF"),
        ("SELECT AVG(DATE_DIFF(m, d, 'day')) FROM t", "takes a part of a date"),
        ("SELECT AVG(DATE_DIFF('day', d, 'DAY')) FROM t", "day|date"),
        ("SELECT AVG(TIMESTAMPDIFF(SECOND, d, m)) FROM t", "write DATE_DIFF"),
        ("SELECT AVG(TIMESTAMP_DIFF(m, d, SECOND)) FROM t", "write DATE_DIFF"),
        ("SELECT AVG(DATEDIFF(d)) FROM t", "not valid SQL|incomplete"),
        ("SELECT AVG(EPOCH(m)) FROM t", "write DATE_DIFF"),
        ("SELECT AVG(EXTRACT(EPOCH FROM m)) FROM t", "or write DATE_DIFF"),
        ("SELECT MAX(m - m) FROM t", "write DATE_DIFF"),
        ("SELECT MAX(AGE(m, m)) FROM t", "write DATE_DIFF"),
        ("SELECT MAX(LAST_DAY(d, MONTH)) FROM t", "takes 1"),
        ("SELECT MAX(EOMONTH(d, 1)) FROM t", "not supported"),
        ("SELECT MAX(MONTHS_BETWEEN(m, d)) FROM t", "write DATE_DIFF"),
        ("SELECT PERCENTILE_APPROX(x, 0.5, 100) FROM t", "not supported"),
        ("SELECT SUMIF(x) FROM t", "not supported"),
    ],
)
def test_what_only_looks_alike_is_refused(query: str, word: str) -> None:
    with pytest.raises(QueryError, match=word):
        make_plan(query, load_policy(POLICY))


def test_a_column_may_be_called_top() -> None:
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"top": {"type": "bool"}}}}})
    plan = make_plan("SELECT top, COUNT(*) AS n FROM t GROUP BY top", policy)
    assert [key.name for key in plan.levels[0].bounded.keys] == ["top"]
    assert make_plan("SELECT TOP 1 top, COUNT(*) AS n FROM t GROUP BY top", policy).sql.endswith("LIMIT 1")


def test_many_patterns_are_no_deep_query() -> None:
    patterns = ", ".join(f"'a{i}%'" for i in range(400))
    assert _sql(f"SELECT COUNT(*) AS n FROM t WHERE s LIKE ANY ({patterns})").count("LIKE") == 400
    wide = "CONCAT(" + ", ".join(["s"] * 15) + ")"
    with pytest.raises(QueryError, match="LIKE takes"):
        _sql(f"SELECT COUNT(*) AS n FROM t WHERE {wide} LIKE ANY ({patterns})")


@pytest.mark.parametrize(
    "item",
    [
        *("SUM(yes)", "SUM(x > 0)", "SUM(yes) FILTER (WHERE x > 0)", "FSUM(x)", "KAHAN_SUM(a)", "FAVG(x)"),
        *("SUM(BIT_LENGTH(LEFT(s, 3)) % 7)", "SUM(DECADE(d))", "SUM(CENTURY(d))", "SUM(MILLENNIUM(m))"),
        *("COUNT_IF(DAYNAME(d) = 'Friday')", "COUNT_IF(MONTHNAME(m) = 'February')", "COUNT(DISTINCT DATE(m))"),
        *("COUNT_IF(DATE_ADD(d, INTERVAL 1 DAY) = DATE '2000-01-01')", "SUM(x) FILTER (WHERE yes)"),
    ],
)
def test_duckdb_has_them_too_and_answers_the_same(item: str) -> None:
    query = f"SELECT {item} AS n FROM t"
    t = ROWS  # noqa: F841 (DuckDB reads it by name)
    exact = duckdb.sql(query).fetchall()[0][0]
    with dp.connect({"t": ROWS}, POLICY) as session:
        assert session.sql(query, NEARLY_EXACT).to_arrow()["n"][0].as_py() == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize(
    ("written", "here"),
    [
        ("HISTOGRAM(k) AS h FROM t", "k, COUNT(*) AS h FROM t WHERE k IS NOT NULL GROUP BY k"),
        (
            "HISTOGRAM(x + 1) FROM t WHERE a > 1",
            'x + 1, COUNT(*) AS "histogram" FROM t WHERE a > 1 AND x + 1 IS NOT NULL GROUP BY x + 1',
        ),
        ("k, HISTOGRAM(a) AS h FROM t GROUP BY k", "k, a, COUNT(*) AS h FROM t WHERE a IS NOT NULL GROUP BY k, a"),
        (
            "HISTOGRAM(a) AS h FROM t GROUP BY k ORDER BY h",
            "a, COUNT(*) AS h FROM t WHERE a IS NOT NULL GROUP BY k, a ORDER BY h",
        ),
    ],
)
def test_a_histogram_has_a_row_for_each_value(written: str, here: str) -> None:
    assert _sql(f"SELECT {written}") == _sql(f"SELECT {here}")


@pytest.mark.parametrize(
    "written",
    ["HISTOGRAM(k), COUNT(*)", "HISTOGRAM(k) FILTER (WHERE a > 1)", "HISTOGRAM(k, [1, 2])", "DISTINCT HISTOGRAM(k)"],
)
def test_a_histogram_beside_others_is_refused(written: str) -> None:
    with pytest.raises(QueryError, match=r"write|supported"):
        _sql(f"SELECT {written} FROM t")
