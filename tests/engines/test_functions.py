"""Every function on hostile rows: nothing raises, values are plain DuckDB's, and lie in their bounds and domains."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from discreet.engines.duckdb._dialect import DIALECT
from discreet.engines.duckdb._functions import RENDERINGS
from discreet.engines.sql import Expressions
from discreet.errors import QueryError
from discreet.policy import Column
from discreet.query import FUNCTIONS, Field, Sum, domain, key_type, nullable, parse
from discreet.query.expressions._bounded_keys import bounded_key
from discreet.query.expressions._intervals import interval
from discreet.query.expressions._types import check_scalar


def days(*date: int) -> int:
    return (dt.date(*date) - dt.date(1970, 1, 1)).days


COLUMNS: dict[str, Any] = {
    "i": Column(type="int"),
    "j": Column(type="int", bounds=(-3, 9)),
    "f": Column(type="float"),
    "g": Column(type="float", bounds=("-0.5", 9)),
    "h": Column(type="float", bounds=("0.25", 4), nullable=False),
    "s": Column(type="string"),
    "t": Column(type="string", keys=("free", "basic plan", "")),
    "b": Column(type="bool"),
    "d": Column(type="date"),
    "e": Column(type="date", keys=("2024-02-29", "0001-01-01", "9999-12-31")),
    "m": Column(type="timestamp"),
    "p": Field("date", (Fraction(days(1999, 1, 31)), Fraction(days(2001, 3, 1)))),
    "q": Field(
        "timestamp",
        (Fraction(days(2024, 2, 29) * 86_400_000_000), Fraction(days(2024, 3, 1) * 86_400_000_000 + 3_600_000_001)),
        nullable=False,
    ),
}
WRITE = Expressions(DIALECT, COLUMNS)
INTEGERS = [0, 1, -1, 3, 9, 10, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1, 10**18, None]
DOUBLES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    3.5,
    0.1,
    0.49999999999999994,
    9.0,
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    math.inf,
    -math.inf,
    2.0**63,
    -(2.0**63),
    2.0**53,
    1e15 + 0.5,
    709.9,
    -746.0,
    4.0,
    0.25,
    None,
]
STRINGS = [
    "",
    " ",
    "a",
    "Straße ŉ",
    "👨‍👩‍👧é",
    "e\u0301\u0301",
    "%",
    "_",
    "\\",
    "'",
    '"',
    "a\x00b",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "0x1F",
    " 7 ",
    "2.5",
    "9223372036854775808",
    "-9223372036854775809",
    "1e308",
    "infinity",
    "-infinity",
    "epoch",
    "2024-02-30",
    "2024-02-29",
    "9999-12-31 23:59:59.999999",
    "290309-12-22 (BC)",
    "2020-01-01 00:00:00 Foo/Bar",
    "2020-01-01 00:00:00+99:99",
    "true",
    "yes",
    "free",
    "basic plan",
    "x" * 5000,
    "é" * 5000,
    "\U0010ffff",
    "\u202e",
    "İıſK",
    "2020-01-01 24:00:00",
    "10000-01-01",
    "0000-01-01",
    "now",
    "today",
    None,
]
DATES = [dt.date(1, 1, 1), dt.date(1, 1, 6), dt.date(9999, 12, 31), dt.date(2024, 2, 29), dt.date(2024, 12, 30), None]
MOMENTS = [
    dt.datetime.fromisoformat("0001-01-01 00:00:00.000000"),
    dt.datetime.fromisoformat("9999-12-31 23:59:59.999999"),
    dt.datetime.fromisoformat("2024-02-29 12:30:59.999999"),
    dt.datetime.fromisoformat("1969-12-31 23:59:59.000001"),
    None,
]
VALUES: dict[str, list[Any]] = {
    "i": INTEGERS,
    "j": INTEGERS,
    "f": DOUBLES,
    "g": DOUBLES,
    "h": DOUBLES[:-1],
    "s": STRINGS,
    "t": STRINGS,
    "b": [True, False, None],
    "d": DATES,
    "e": DATES,
    "m": MOMENTS,
    "p": [*DATES, dt.date(1999, 1, 30), dt.date(1999, 1, 31), dt.date(2000, 2, 29), dt.date(2001, 3, 2)],
    "q": [
        *MOMENTS[:-1],
        *(
            dt.datetime.fromisoformat(f"{day} {hour}:59:59")
            for day in ("2024-02-28", "2024-02-29", "2024-03-01")
            for hour in ("00", "01", "23")
        ),
    ],
}
TYPES = {"int": pa.int64(), "float": pa.float64(), "string": pa.string(), "bool": pa.bool_(), "date": pa.date32()}
NUMBERS, TEXTS, MOMENT = ("i", "j", "f", "g", "h"), ("s", "t"), ("d", "m", "p", "q")


def _hostile() -> pa.Table:
    """All values of each column, against all kinds of values of the others."""
    draw = random.Random(7)
    rows = 600
    data: dict[str, pa.Array[Any]] = {}
    for name, values in VALUES.items():
        kind = TYPES.get(COLUMNS[name].type, pa.timestamp("us"))
        data[DIALECT.reference(name).strip('"')] = pa.array(
            [values[k] if k < len(values) else draw.choice(values) for k in range(rows)], kind
        )
    return pa.table(data)


@pytest.fixture(scope="module")
def engine() -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("hostile_arrow", _hostile())
    connection.execute("CREATE TABLE hostile AS SELECT * FROM hostile_arrow")
    return connection


def _parsed(text: str) -> exp.Expr:
    node = parse(f"SELECT {text}").expressions[0] if text in PATTERNS else sqlglot.parse_one(text, read="duckdb")
    assert isinstance(node, exp.Expr)
    check_scalar(node, COLUMNS)
    return node


def _all(connection: Any, sql: str) -> list[Any]:
    return [value for (value,) in connection.execute(f"SELECT {sql} FROM hostile").fetchall()]


ONE = "-{n}|SIGN({n})|ROUND({n})|ROUND({n}, 2)|ROUND({n}, -2)|ROUND({n}, 15)|ROUND({n}, -15)|"
ONE += "FLOOR({n})|CEIL({n})|"
ONE += "TRUNC({n})|SQRT({n})|LN({n})|LOG({n})|LOG10({n})|LOG2({n})|LOG(3, {n})|LOG(0.5, {n})|EXP({n})|POWER({n}, 2)|"
ONE += (
    "POWER({n}, 3)|POWER({n}, -1)|POWER({n}, 0)|POWER({n}, 0.5)|{n} ^ -0.5|POWER(2, {n})|WIDTH_BUCKET({n}, -1, 9, 7)|"
)
ONE += "WIDTH_BUCKET({n}, 0.1, 0.3, 2)|{n} * {n}|{n} % 3|{n} % 0|MOD({n}, 0.1)|{n} / 0|1 / {n}|CAST({n} AS INTEGER)|"
ONE += "CAST({n} AS BIGINT)|CAST({n} AS TINYINT)|TRY_CAST({n} AS SMALLINT)|{n}::DOUBLE|CAST({n} AS VARCHAR)|"
ONE += "CAST({n} AS BOOLEAN)|{n} IS NULL|{n} IS NOT NULL|{n} IN (1, 2.5, NULL)|{n} IN (1, 9007199254740993)|"
ONE += "{n} BETWEEN 0 AND 3|NULLIF({n}, 0)|COALESCE({n}, 0)|GREATEST(LEAST({n}, 5), 1)|IF({n} > 1, {n}, 2)|"
ONE += "CASE {n} WHEN 1 THEN 'one' WHEN 3 THEN 'three' END|"
ONE += "CASE WHEN {n} > 3 THEN 1 WHEN {n} < 0 THEN NULL ELSE 0 END|"
ONE += "LEFT('abc', {n})|RIGHT('abc', {n})|SUBSTRING('abc', {n})|SUBSTRING('abc', {n}, {n})|FLOOR({n} / 10) * 10|"
ONE += "LEAST(GREATEST(FLOOR({n} / 8), 0), 9)|{n} - {n}|({n} * 1e300) - ({n} * 1e300)|SQRT({n} * {n} + 1)"
ONE += "".join(f"|{entry.names[0]}({{n}})" for entry in FUNCTIONS if entry.native)
TWO = "{n} + {k}|{n} - {k}|{n} * {k}|{n} / {k}|{n} % {k}|POWER({n}, {k})|GREATEST({n}, {k})|LEAST({n}, {k}, NULL)|"
TWO += "{n} = {k}|{n} < {k}|{n} <> {k}|{n} <= {k}|{n} >= {k}|{n} IS DISTINCT FROM {k}|"
TWO += "{n} IS NOT DISTINCT FROM {k}|NULLIF({n}, {k})|COALESCE({n}, {k})"
TEXT = "LOWER({s})|UPPER({s})|LENGTH({s})|STRLEN({s})|LEAST(LENGTH({s}), 10)|TRIM({s})|TRIM({s}, 'xa')|LTRIM({s})|"
TEXT += "RTRIM({s}, ' é')|"
TEXT += (
    "REVERSE({s})|SUBSTRING({s}, 2, 3)|SUBSTR({s}, -2)|SUBSTRING({s}, 0, 2)|LEFT({s}, 2)|LEFT({s}, -1)|RIGHT({s}, 2)|"
)
TEXT += (
    "{s} || '!'|{s} || {s}|CONCAT({s}, NULL, 'b')|REPLACE({s}, 'a', 'aaaa')|REPLACE({s}, 'x', '12345678901234567890')|"
)
TEXT += (
    "STARTS_WITH({s}, 'f')|PREFIX({s}, '')|ENDS_WITH({s}, 'n')|CONTAINS({s}, 'é')|POSITION('a' IN {s})|STRPOS({s}, '')|"
)
TEXT += "{s} LIKE 'a%'|{s} LIKE '%_%'|{s} NOT LIKE '\\'|{s} ILIKE '%E%'|{s} = 'a'|{s} IN ('a', '')|{s} >= 'free'|"
TEXT += "CAST({s} AS INTEGER)|CAST({s} AS BIGINT)|CAST({s} AS DOUBLE)|CAST({s} AS BOOLEAN)|CAST({s} AS DATE)|"
TEXT += "CAST({s} AS TIMESTAMP)|{s}::VARCHAR|COALESCE({s}, 'none')|NULLIF({s}, 'free')|GREATEST({s}, 'b')|"
TEXT += "CASE {s} WHEN 'free' THEN 0 ELSE 1 END|CASE WHEN {s} = 'free' THEN UPPER({s}) ELSE 'paid' END|"
TEXT += "YEAR(CAST({s} AS DATE))|"
TEXT += "SUBSTRING({s}, STRPOS({s}, 'a') + 1)|{s} IS NULL|COALESCE(CAST({s} AS BIGINT), -1)|REPLACE({s}, '', 'b')"
TIME = "YEAR({d})|QUARTER({d})|MONTH({d})|WEEK({d})|DAY({d})|DAYOFWEEK({d})|ISODOW({d})|DAYOFYEAR({d})|"
TIME += "HOUR({d})|MINUTE({d})|"
TIME += "LAST_DAY({d})|LAST_DAY({d} + INTERVAL 1 MONTH)|"
TIME += "SECOND({d})|EXTRACT(dow FROM {d})|DATE_PART('doy', {d})|DATE_TRUNC('year', {d})|DATE_TRUNC('quarter', {d})|"
TIME += "DATE_TRUNC('month', {d})|DATE_TRUNC('week', {d})|DATE_TRUNC('day', {d})|DATE_TRUNC('hour', {d})|"
TIME += "DATE_TRUNC('second', {d})|DATE_DIFF('day', {d}, DATE '2024-01-01')|DATE_DIFF('year', {d}, '9999-12-31')|"
TIME += "DATE_DIFF('second', TIMESTAMP '0001-01-01 00:00:00', {d})|DATEDIFF('week', {d}, d)|"
TIME += "DATE_DIFF('hour', m, {d})|"
TIME += "{d} + INTERVAL 3 DAY|{d} - INTERVAL 1 MONTH|{d} + INTERVAL 10000 YEAR|{d} - INTERVAL '9999' YEAR|"
TIME += "{d} + INTERVAL 100000000000 SECOND|{d} - INTERVAL 5 WEEK|{d} + INTERVAL (-1) QUARTER|INTERVAL 1 HOUR + {d}|"
TIME += "CAST({d} AS VARCHAR)|CAST({d} AS DATE)|CAST({d} AS TIMESTAMP)|{d} >= '2024-02-29'|{d} IN ('2024-02-29')|"
TIME += "COALESCE({d}, '2024-01-01')|NULLIF({d}, '2024-02-29')|GREATEST({d}, DATE '2020-01-01')|{d} IS NOT NULL|"
TIME += "CASE WHEN MONTH({d}) < 7 THEN 'first' ELSE 'second' END|IF({d} > '2020-01-01', {d}, NULL)|{d} = m|"
TIME += "CASE {d} WHEN '2024-02-29' THEN 1 END|COALESCE(d, m)|NULLIF(d, m)|GREATEST(d, m)|"
TIME += "STRFTIME({d}, '%Y-%m-%d %H:%M:%S.%f')|STRFTIME({d}, '%y %b %B %a %A %j %u %I %p')|STRFTIME({d}, '%G-W%V')|"
TIME += "STRFTIME({d}, '{{Y''\"\\Year%% é %d}}')|STRFTIME({d}, '%%Y%Y%%%%')|"
TIME += "STRFTIME({d} + INTERVAL 1 DAY, '%A')|STRFTIME({d}, '%B') IN ('May', 'June')|LENGTH(STRFTIME({d}, '%B'))|"
TIME += "DATE_DIFF('second', {d} + INTERVAL 1 MONTH, '2000-01-01')|YEAR({d} - INTERVAL 13 MONTH)|"
TIME += "DATE_DIFF('hour', {d} + INTERVAL 9000 YEAR, {d})|DATE_DIFF('minute', {d} - INTERVAL 1 SECOND, {d})|"
TIME += "DATE_DIFF('week', DATE_TRUNC('quarter', {d}), '2024-03-01')|DATE_DIFF('day', DATE_TRUNC('week', {d}), {d})|"
TIME += "DATE_DIFF('month', CAST({d} AS DATE), '2000-01-01')|DATE_DIFF('quarter', COALESCE({d}, m), {d})|"
TIME += "DATE_DIFF('day', GREATEST(LEAST({d}, DATE '2020-12-31'), DATE '1999-01-01'), DATE '2000-01-01')|"
TIME += "DATE_DIFF('second', NULLIF({d}, '2024-02-29'), '2024-03-01')|"
TIME += "DATE_DIFF('day', CASE WHEN {d} > '2024-03-01' THEN {d} ELSE '2024-01-01' END, '2024-01-01')"
PATTERNS = [
    text.format(s=name)
    for name in "st"
    for text in (
        "REGEXP_MATCHES({s}, 'a')", "REGEXP_MATCHES({s}, '^[a-f]+$', 'i')", "{s} ~ '[^a-z ]'", "{s} SIMILAR TO '.*a.*'",
        "REGEXP_FULL_MATCH({s}, '(?:[a-z]+ ?)+', 'i')", "REGEXP_EXTRACT({s}, '[a-z]+')",
        "REGEXP_EXTRACT({s}, '(b)(a)?', 2)",
        "REGEXP_EXTRACT({s}, '(.)$', 1, 'i')", "REGEXP_REPLACE({s}, 'a', 'aaaa')",
        "REGEXP_REPLACE({s}, 'a*', '-', 'g')",
        "REGEXP_REPLACE({s}, '.', '12345678901234567890\\0\\0\\0', 'g')",
        "REGEXP_REPLACE({s}, '(.*)', '\\1\\1', 'gi')",
        "LENGTH(REGEXP_REPLACE({s}, '\\s', ''))", "LEFT(REGEXP_EXTRACT({s}, '\\w+'), 2)",
    )
]  # fmt: skip
"""Of DuckDB alone."""
OTHER = "b|NOT b|b AND i > 1|b OR f IS NULL|b IS TRUE|b IS NOT FALSE|CAST(b AS INTEGER)|CAST(b AS VARCHAR)|"
OTHER += "CAST(b AS DOUBLE)|"
OTHER += "IF(b, 1, 0)|COALESCE(b, FALSE)|b = (i > 1)|d - e|e - d + 1|CASE WHEN b THEN i ELSE 7 END|"
OTHER += "COALESCE(i, 9007199254740993)|"
OTHER += "NULL IS NULL|COALESCE(NULL, 1)|NULLIF(NULL, i)|CASE WHEN b THEN NULL END IS NULL|ABS(NULL)|LOWER(NULL)|"
OTHER += "YEAR(NULL)|STRFTIME(NULL, '%Y')|"
OTHER += (
    "NULL + 1|i = NULL|CAST(NULL AS DATE)|GREATEST(NULL, 2)|e + INTERVAL 1 DAY|DATE_TRUNC('month', e)|YEAR(e)|NOT NULL|"
)
OTHER += (
    "SQRT(g)|LN(h)|1 / h|1 / g|h / (j + 4)|LN(j + 4)|SQRT(j * j)|POWER(h, j)|g % h|j % j|AVG_FREE|CAST(h AS TINYINT)|"
    "DIVIDE(i, 7)|DIVIDE(i, -3)|DIVIDE(i, 0)|DIVIDE(j, j)|DIVIDE(i, j)|DIVIDE(1000, i)|DIVIDE(ROUND(f), 2)"
)


def _texts() -> list[str]:
    texts = [text.format(n=name) for text in ONE.split("|") for name in NUMBERS]
    texts += [text.format(n=n, k=k) for text in TWO.split("|") for n, k in itertools.product("ifgj", "ifh")]
    texts += [text.format(s=name) for text in TEXT.replace("||", "\0").split("|") for name in TEXTS]
    texts += [text.format(d=name) for text in TIME.split("|") for name in (*MOMENT, "e")]
    texts += [text for text in OTHER.split("|") if text != "AVG_FREE"]
    return [text.replace("\0", "||") for text in texts]


CASES = _texts()


def test_the_engine_writes_exactly_what_the_table_lists() -> None:
    assert set(RENDERINGS) == {entry.names[0] for entry in FUNCTIONS}
    assert len({name for entry in FUNCTIONS for name in entry.names}) == sum(len(entry.names) for entry in FUNCTIONS)


def test_every_function_is_in_a_case() -> None:
    from discreet.query.functions._registry import find

    met = {found[0].names[0] for text in [*CASES, *PATTERNS] for node in _parsed(text).walk() if (found := find(node))}
    assert met | {"AND", "OR"} == {entry.names[0] for entry in FUNCTIONS}


@pytest.mark.parametrize("chunk", range(8))
def test_nothing_raises_and_null_and_domain_hold(engine: Any, chunk: int) -> None:
    for text in [*CASES, *PATTERNS][chunk::8]:
        node = _parsed(text)
        kind = check_scalar(node, COLUMNS)
        if kind == "null":
            continue
        if kind == "bool":
            assert set(_all(engine, WRITE.condition(node))) <= {True, False, None}, text
        assert set(_all(engine, WRITE.present(node))) <= {True, False}, text
        if not nullable(node, COLUMNS):
            assert set(_all(engine, WRITE.present(node))) == {True}, text
        _check_key(engine, node, text)


def _check_key(engine: Any, node: exp.Expr, text: str) -> None:
    try:
        kind = key_type(node, COLUMNS)
    except QueryError:
        assert domain(node, COLUMNS) is None
        return
    types = {"int": int, "bool": bool, "string": str, "date": dt.date, "timestamp": dt.datetime}
    found = _all(engine, WRITE.key(node))
    assert all(value is None or type(value) is types[kind] for value in found), text
    public = domain(node, COLUMNS)
    if public is None or isinstance(node, exp.Column):
        return
    # where a keyed column is outside its keys, its row has no public value; the others must
    keyed = [n for n in ("t", "e") if any(c.name == n for c in node.find_all(exp.Column))]
    inside = " AND ".join(
        f"{DIALECT.reference(n)} IN ({', '.join(repr(str(k)) for k in COLUMNS[n].keys or ())})" for n in keyed
    )
    rows = engine.execute(f"SELECT DISTINCT {WRITE.key(node)} FROM hostile WHERE {inside or 'TRUE'}").fetchall()
    assert {value for (value,) in rows} <= set(public), (text, public)


WITHIN = {
    **{name: c if isinstance(c, Field) else Field.from_column(c) for name, c in COLUMNS.items()},
    "d": Field.from_column(Column(type="date", bounds=("2023-12-31", "2024-03-01"))),
    "m": Field.from_column(Column(type="timestamp", bounds=("2024-01-01T12:34:56", "2024-02-29"))),
    "f": Field.from_column(Column(type="float", bounds=("-0.3", "2.9"))),
    "t": Field.from_column(Column(type="string")),
    "e": Field.from_column(Column(type="date", bounds=("9998-12-31", "9999-12-31"))),
}


@pytest.mark.parametrize("chunk", range(4))
def test_groups_that_follow_from_bounds_are_complete(engine: Any, chunk: int) -> None:
    write, complete = Expressions(DIALECT, WITHIN), 0
    for text in ["d", "e", *CASES][chunk::4]:
        node = _parsed(text)
        try:
            check_scalar(node, WITHIN)
            kind = key_type(node, WITHIN)
        except QueryError:
            continue
        groups = bounded_key(node, kind, WITHIN)
        if groups is None:
            continue
        values, bounded = groups
        check_scalar(bounded, WITHIN)
        assert key_type(bounded, WITHIN) == kind, text
        rows = engine.execute(f"SELECT DISTINCT {write.value_of(bounded, kind)} FROM hostile").fetchall()
        assert {value for (value,) in rows} <= set(values), text
        complete += 1
    assert complete > 30


@pytest.mark.parametrize("chunk", range(4))
def test_sums_lie_in_their_bounds(engine: Any, chunk: int) -> None:
    bounded = 0
    for text in CASES[chunk::4]:
        node = _parsed(text)
        if check_scalar(node, COLUMNS) != "number":
            continue
        try:
            bounds = interval(node, COLUMNS, "t")
        except QueryError:
            continue
        bounded += 1
        step = Fraction(1) if bounds.integer else Fraction(1, 2**10)
        wide = 2**40  # far from the limits: the engine's own clamp must have next to nothing to do
        measure = Sum(node, step, 0, -wide, wide)
        for value in _all(engine, WRITE.contribution(measure)):
            if value is not None and -wide < value < wide:
                slack = 1 + abs(value) * Fraction(1, 2**40)
                assert bounds.lower - slack * step <= value * step <= bounds.upper + slack * step, (text, value, bounds)
    assert bounded > 40


PLAIN = (
    "ABS(f)|SIGN(f)|ROUND(f)|ROUND(f, 2)|FLOOR(f)|CEIL(f)|TRUNC(f)|EXP(f)|f * 2|f + 1|f / 3|f / 0.0|LOWER(s)|"
    "UPPER(s)|"
    "LENGTH(s)|STRLEN(s)|TRIM(s)|LTRIM(s)|TRIM(s, 'a')|REVERSE(s)|LEFT(s, 2)|RIGHT(s, 2)|LEFT(s, -1)|"
    "SUBSTRING(s, 2, 3)|"
    "SUBSTR(s, -2)|"
    "STARTS_WITH(s, 'f')|ENDS_WITH(s, 'n')|CONTAINS(s, 'é')|STRPOS(s, 'a')|s LIKE '%a%'|s ILIKE '%E%'|YEAR(d)|"
    "WEEK(d)|MONTH(m)|"
    "DAYOFWEEK(d)|ISODOW(m)|DAYOFYEAR(d)|QUARTER(m)|HOUR(m)|MINUTE(m)|SECOND(m)|DATE_TRUNC('week', m)|"
    "LAST_DAY(d)|LAST_DAY(m)|"
    "DATE_DIFF('week', d, m)|"
    "DATE_DIFF('month', d, m)|d - e|COALESCE(s, 'x')|NULLIF(i, 0)|GREATEST(i, j)|LEAST(f, g)|"
    "i = 9007199254740993|i IN (1, 3)|"
    "s IN ('a', '')|i BETWEEN 0 AND 3|b AND i > 1|b OR f IS NULL|f IS DISTINCT FROM g|"
    "CASE WHEN i > 3 THEN 1 ELSE 0 END|"
    "CAST(b AS INTEGER)|CAST(d AS VARCHAR)|CAST(m AS DATE)|CAST(i AS VARCHAR)|CONCAT(s, 'b')|"
    "REPLACE(s, 'a', 'b')|s || 'b'"
)


@pytest.mark.parametrize("text", PLAIN.replace("||", "\0").split("|"))
def test_values_are_those_of_plain_duckdb_where_it_is_total(engine: Any, text: str) -> None:
    text = text.replace("\0", "||")
    node = _parsed(text)
    kind = check_scalar(node, COLUMNS)
    plain = sqlglot.parse_one(text, read="duckdb").transform(
        lambda n: exp.column(DIALECT.reference(n.name).strip('"'), quoted=True) if isinstance(n, exp.Column) else n
    )
    expected = _all(engine, plain.sql(dialect="duckdb"))
    if kind == "number":
        expected = [None if v is None or math.isnan(v) else float(v) for v in expected]
        if text == "f / 0.0":
            expected = [None] * len(expected)
        found = _all(engine, _value(node))
        found = [None if v is None else float(v) for v in found]
    else:
        found = _all(engine, _value(node))
    if "CONCAT" in text or "REPLACE" in text or "||" in text:
        expected = [v if v is None else v[:4000] for v in expected]
    if kind in ("timestamp", "date"):
        found, expected = [str(v) for v in found], [str(v) for v in expected]
    assert found == expected


def _value(node: exp.Expr) -> str:
    """Any expression, as a condition writes its parts."""
    return WRITE._writer(clamped=False).value(node)


def test_a_long_query_is_written_in_proportion_to_its_text() -> None:
    for shape in (
        "LN({})",
        "SQRT({})",
        "({} + 1)",
        "({}) / 3",
        "NULLIF({}, 1)",
        "COALESCE({}, 0)",
        "GREATEST({}, 0)",
        "-({})",
        "POWER({}, -2)",
        "CAST(CAST({} AS VARCHAR) AS DOUBLE)",
        "LENGTH(REPLACE(CAST({} AS VARCHAR), 'a', 'b'))",
        "CAST({} AS INTEGER)",
        "WEEK(DATE '2020-01-01' + INTERVAL 1 DAY) % {}",
        "IF(({}) IN (1, 2), 1, 0)",
        "ROUND({}, 2)",
    ):
        text = "g"
        for _ in range(10):
            text = shape.format(text)
        node = _parsed(text)
        written = WRITE.condition(exp.GT(this=node, expression=exp.Literal.number(1)))
        assert len(written) < 10_000, shape
        assert len(WRITE.present(node)) < 10_000, shape
        assert nullable(node, COLUMNS) in (True, False), shape
        assert domain(node, COLUMNS) is None or "IF" in shape, shape
