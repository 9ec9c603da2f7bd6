"""Every function and operator within itself, and what an engine makes of it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

from discreet.errors import QueryError
from discreet.policy import Column, Policy, load_policy
from discreet.query import FUNCTIONS, Call, make_plan
from discreet.query.expressions._types import check_scalar
from discreet.query.functions._registry import find
from discreet.query.parse._parse import parse

COLUMNS: dict[str, dict[str, Any]] = {
    "i": {"type": "int"},
    "j": {"type": "int", "bounds": [-3, 9]},
    "f": {"type": "float"},
    "g": {"type": "float", "bounds": [-0.5, 9]},
    "s": {"type": "string"},
    "b": {"type": "bool"},
    "d": {"type": "date"},
    "m": {"type": "timestamp"},
}
TABLE = {"unit": "rows", "columns": COLUMNS}
POLICY: Policy = load_policy({"version": "1", "budget": {"epsilon": 10**9}, "tables": {"t": TABLE}})
FIELDS: dict[str, Column] = dict(POLICY.tables["t"].columns)
ROWS = pa.table(
    {
        "i": [1, None, 3],
        "j": [1, 2, None],
        "f": [1.5, None, 2.5],
        "g": [0.5, 1.5, None],
        "s": ["a", None, "2020-01-01"],
        "b": [True, False, None],
        "d": [dt.date(2020, 1, 31), None, dt.date(2024, 2, 29)],
        "m": pa.array([1_580_472_000_000_000, None, 221_845_392_000_000_000], pa.timestamp("us")),
    }
)
Shape = tuple[str, str]
"""A column to begin with, and what is done to it again and again."""
GROWTH = 2.5
"""What twice the depth may cost, at most."""

_TEXT = "CASE WHEN {} THEN 'a' ELSE s END"
_MOMENT = "CASE WHEN {} > 1 THEN m ELSE d END"
_PARTS = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "ISODOW", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND"]
_ONE = "-({x}) SIGN({x}) ROUND({x}) ROUND({x},2) ROUND({x},-2) FLOOR({x}) CEIL({x}) TRUNC({x}) SQRT({x}) LN({x})"
_ONE += " LOG10({x}) LOG2({x}) LOG(3,{x}) EXP({x}) POWER({x},2) POWER({x},-1) POWER(2,{x}) POWER({x},f) LN(SQRT({x}))"
_ONE += "".join(f" {entry.names[0]}({{x}})" for entry in FUNCTIONS if entry.native)
SHAPES: tuple[Shape, ...] = (
    *(("f", shape.replace("{x}", "{}")) for shape in _ONE.split()),
    *(("f", f"{{}} {sign} f") for sign in "+-*/%"),
    *(("f", f"(f {sign} {{}})") for sign in "+-*/%"),
    *(("g", f"{{}} {sign} g") for sign in "+*"),
    *(("f", f"({{}} {sign} 3)") for sign in "+*/"),
    ("i", "DIVIDE({}, i)"), ("j", "{} % j"), ("d", "IF({} - d > 1, d, NULL)"),
    ("f", "CASE WHEN {} > 1 THEN 2 ELSE 3 END"), ("f", "CASE WHEN b THEN {} ELSE 3 END"),
    ("f", "CASE WHEN b THEN f WHEN f < 3 THEN i ELSE {} END"), ("s", "CASE WHEN {} = 'a' THEN 'b' ELSE s END"),
    *((column, shape) for column in "fi" for shape in ("COALESCE({}, 0)", "NULLIF({}, 1)", "GREATEST({}, 1)")),
    ("f", "COALESCE(f, {})"), ("f", "NULLIF(f, {})"), ("f", "NULLIF({}, f)"), ("f", "LEAST(f, {}, 3)"),
    ("s", "NULLIF({}, 'a')"), ("d", "NULLIF({}, '2020-01-01')"), ("d", "NULLIF({}, m)"), ("b", "NULLIF({}, TRUE)"),
    ("m", "GREATEST({}, d)"),
    *(("b", f"({{}} {sign} b)") for sign in ("=", "<>", "<", "<=", ">", ">=", "AND", "OR", "IS DISTINCT FROM")),
    ("b", "({} IS NOT DISTINCT FROM b)"), ("b", "({} IS NULL)"), ("b", "NOT ({})"), ("f", "IF({} = f, 1, 2)"),
    ("b", "({} BETWEEN b AND TRUE)"), ("f", "IF({} BETWEEN 1 AND f, 1, 0)"), ("f", "IF(f BETWEEN {} AND 2, 1, 0)"),
    ("f", "IF({} IN (1, 2, 3), 1, 0)"), ("f", "IF({} + 0.5 IN (1, NULL), 1, 0)"), ("i", "IF({} IN (1, 2.5), 1, 0)"),
    ("s", _TEXT.format("{} IN ('a', 'b')")), ("s", _TEXT.format("{} LIKE '%a_'")), ("s", _TEXT.format("{} ILIKE 'a'")),
    *(("f", f"CAST({{}} AS {kind})") for kind in ("INTEGER", "TINYINT", "DOUBLE")), ("f", "CAST({} + 0.5 AS BIGINT)"),
    ("f", "CAST(CAST({} AS BOOLEAN) AS INTEGER)"), ("f", "CAST(CAST({} AS VARCHAR) AS DOUBLE)"),
    *(("s", f"CAST(CAST({{}} AS {kind}) AS VARCHAR)") for kind in ("BIGINT", "DATE", "TIMESTAMP", "BOOLEAN", "DOUBLE")),
    ("d", "CAST(CAST({} AS TIMESTAMP) AS DATE)"),
    ("d", "{} + INTERVAL 1 DAY"), ("d", "{} - INTERVAL 1 MONTH"), ("m", "{} - INTERVAL 5000 YEAR"),
    ("s", "STRFTIME(CAST({} AS DATE), '%Y-%m')"), ("d", "DATE_TRUNC('month', {})"), ("d", "LAST_DAY({})"),
    ("m", "DATE_TRUNC('week', {})"),
    *(("m", _MOMENT.format(f"DATE_DIFF('{part}', m, {{}})")) for part in ("day", "week", "month", "second")),
    ("m", _MOMENT.format("DATE_DIFF('day', {}, m)")),
    *(("m", _MOMENT.format(f"{part}({{}})")) for part in _PARTS),
    *(("s", f"{name}({{}})") for name in ["LOWER", "UPPER", "REVERSE", "TRIM", "LTRIM", "RTRIM"]),
    ("s", "TRIM({}, 'xa')"),
    *(("s", f"CAST({name}({{}}) AS VARCHAR)") for name in ("LENGTH", "STRLEN")),
    ("s", "SUBSTRING({}, 2, 3)"), ("s", "SUBSTRING({}, i, i)"),
    ("s", "SUBSTRING(s, LENGTH({}), i)"), ("s", "LEFT({}, i)"), ("s", "LEFT(s, LENGTH({}))"), ("s", "RIGHT({}, f)"),
    ("s", "{} || s"), ("s", "(s || {})"), ("s", "CONCAT({}, 'a', s)"), ("s", "REPLACE({}, 'a', 'bb')"),
    *(("s", _TEXT.format(f"{name}({{}}, 'a')")) for name in ("STARTS_WITH", "ENDS_WITH", "CONTAINS")),
    ("s", _TEXT.format("ENDS_WITH(s, {})")), ("s", _TEXT.format("STRPOS({}, 'a') > 1")),
)  # fmt: skip
PATTERNS: tuple[Shape, ...] = (
    *(("s", _TEXT.format(f"{name}({{}}, 'a+')")) for name in ("REGEXP_MATCHES", "REGEXP_FULL_MATCH")),
    ("s", "REGEXP_EXTRACT({}, 'a+')"), ("s", "REGEXP_REPLACE({}, 'a', 'bb')"),
)  # fmt: skip
"""What DuckDB alone reads."""
ALONE = {"WIDTH_BUCKET"}
"""Functions that are refused within themselves."""


def nested(shape: Shape, depth: int) -> str:
    """A column with a function within itself."""
    text, around = shape
    for _ in range(depth):
        text = around.format(text)
    return text


def question(shape: Shape, depth: int) -> str:
    """A query that computes it on each row."""
    text = nested(shape, depth)
    if shape[0] in "fgij":
        return f"SELECT SUM(GREATEST(LEAST({text}, 9), 0)) AS r FROM t"
    return f"SELECT COUNT(*) AS r FROM t WHERE {text if shape[0] == 'b' else f'({text}) IS NOT NULL'}"


def deepest(shape: Shape) -> int:
    """How often a function may be within itself, up to 64: a level of what is done may be several of the query's."""
    for depth in (64, 48, 32):
        try:
            make_plan(question(shape, depth), POLICY)
        except QueryError:
            continue
        return depth
    return 16


def functions_met() -> set[str]:
    """The functions of all shapes, by the names that plans use."""
    met: set[str] = set()
    for shape in (*SHAPES, *PATTERNS):
        select = parse(f"SELECT {nested(shape, 1)} AS x FROM t")
        node = select.expressions[0].this
        check_scalar(node, FIELDS)
        calls: list[Call] = [found[1] for part in node.walk() if (found := find(part))]
        met |= {call.name for call in calls}
    return met


def all_functions() -> set[str]:
    """Those that can be within themselves."""
    return {entry.names[0] for entry in FUNCTIONS} - ALONE
