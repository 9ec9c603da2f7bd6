"""CAST: where halves go, what a type is without its size, and which texts are read."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.dialects._kinds import Kind
from discreet.query.dialects._rules import Rules, literal_text
from discreet.query.functions._calls import integer_literal

__all__ = ["cast", "is_moment", "is_released"]

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?")
_ZONED_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::?\d\d)?)")
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TEXTS = ("TEXT", "VARCHAR", "NVARCHAR")
_SCALES: Mapping[str, int] = {"bigquery": 9, "spark": 0, "tsql": 0, "snowflake": 0}
"""Digits after the point of DECIMAL or NUMERIC without a size; PostgreSQL's has as many as there are."""
_MOST_DIGITS = 15
_LENGTHS: Mapping[str, int] = {"tsql": 30}
_SHOWN: Mapping[Kind | None, int] = {"int": 20, "date": 10}
"""Characters that all whole numbers and dates fit; of a shorter text T-SQL makes a star, or an error."""
_ZONED = ("bigquery", "spark")
"""Whose TIMESTAMP has a time zone, in which it is shown: the policy's have none, and are what is shown."""
_PERIODS = ("year", "quarter", "month", "week", "day")
_MOMENTS = ("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME", "DATETIME2")
_RELEASED = (
    "COUNT", "COUNT_BIG", "COUNTIF", "COUNT_IF", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE_CONT", "STDDEV",
    "STDDEV_SAMP", "STDDEV_POP", "STDEV", "STDEVP", "VARIANCE", "VAR_SAMP", "VAR_POP", "VAR", "VARP", "CORR",
    "COVAR_POP", "COVAR_SAMP", "APPROX_COUNT_DISTINCT",
)  # fmt: skip


def is_released(node: exp.Expr) -> bool:
    """Whether an expression is computed from statistics, which have noise."""
    return any(
        isinstance(each, exp.AggFunc) or (isinstance(each, exp.Anonymous) and each.name.upper() in _RELEASED)
        for each in node.walk()
    )


def is_moment(text: str) -> bool:
    """Whether every system reads a text as the same date or timestamp.

    >>> is_moment("2024-01-31"), is_moment("2024-01-31 12:00"), is_moment("31.1.2024")
    (True, True, False)
    """
    return _MOMENT.fullmatch(text) is not None


def cast(node: exp.Expr, kind: Kind | None, to: exp.Expr, rules: Rules) -> exp.Expr:
    """An expression of a kind as a type of a dialect. Raises `QueryError` where that differs from what it is here."""
    if not isinstance(to, exp.DataType) or not isinstance(to.this, exp.DType):
        raise QueryError(
            f"CAST to {to.sql()} is not supported; use INTEGER, DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP"
        )
    name = to.this.name
    sizes = [integer_literal(each.this) for each in to.expressions if isinstance(each, exp.DataTypeParam)]
    if len(sizes) != len(to.expressions) or to.args.get("nested") or None in sizes:
        raise _unknown(to, rules)
    numbers = [size for size in sizes if size is not None]
    if name in _INTEGERS and not numbers and (name, rules.name) != ("TINYINT", "tsql"):
        return _integer(node, kind, "BIGINT" if rules.name == "snowflake" else name, rules)
    if name in ("FLOAT", "DOUBLE"):
        return _as(node, "DOUBLE")
    if name == "DECIMAL" and len(numbers) <= 2:
        scale = numbers[1] if len(numbers) == 2 else 0 if numbers else _SCALES.get(rules.name)
        return _decimal(node, kind, scale)
    if name in _TEXTS and len(numbers) <= 1:
        return _text(node, kind, numbers[0] if numbers else _LENGTHS.get(rules.name), rules, to)
    if name in ("BOOLEAN", "BIT") and not numbers and kind in ("bool", "int"):
        return _as(node, "BOOLEAN")
    if name == "DATE" or name in _MOMENTS or (name in ("TIMESTAMPTZ", "TIMESTAMPLTZ") and rules.name in _ZONED):
        return _moment(node, kind, "DATE" if name == "DATE" else "TIMESTAMP", rules)
    if name == "TIMESTAMPTZ" and rules.name == "postgres":
        written = literal_text(node)
        return _moment(node if written is None else exp.Literal.string(in_utc(written)), kind, "TIMESTAMP", rules)
    raise _unknown(to, rules, kind)


def in_utc(text: str) -> str:
    """A timestamp with a time zone as the one in UTC, in which those without one are; any other text as it is.

    >>> in_utc("2024-01-01T00:30:00.5+02"), in_utc("2024-01-01 00:00:00Z"), in_utc("2024-01-01"), in_utc("now")
    ('2023-12-31 22:30:00.500000', '2024-01-01 00:00:00', '2024-01-01', 'now')
    """
    if _ZONED_MOMENT.fullmatch(text) is None:
        return text
    try:
        return str(dt.datetime.fromisoformat(text).astimezone(dt.UTC).replace(tzinfo=None))
    except (ValueError, OverflowError):
        return text


def _unknown(to: exp.Expr, rules: Rules, kind: Kind | None = None) -> QueryError:
    what = "" if kind is None else f" of a {kind}"
    return QueryError(
        f"CAST{what} to {to.sql()} in {rules.title} is not supported; use INTEGER, DOUBLE, VARCHAR, BOOLEAN, DATE or "
        "TIMESTAMP, or write a comparison"
    )


def _as(node: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType.build(kind))


def _integer(node: exp.Expr, kind: Kind | None, name: str, rules: Rules) -> exp.Expr:
    released = is_released(node)
    if kind in ("int", "whole", "bool", "null"):
        return exp.paren(node, copy=False) if released else _as(node, name)
    if kind in ("decimal", "float") or (kind == "fraction" and rules.half != "even"):
        to_even = rules.half == "even" and kind == "float"
        if released and rules.half != "cut":
            return _as(_call("ROUND", node), "BIGINT")
        if released:
            raise QueryError(f"CAST of a statistic to {name} cuts its fraction in {rules.title}; write ROUND(x) of it")
        return _as(node if to_even else _call("TRUNC" if rules.half == "cut" else "ROUND", node), name)
    if kind == "string" and rules.half == "cut" and rules.name == "spark":
        raise QueryError(f"{rules.title} cuts a fraction off a text in CAST to {name}; write CAST(s AS DOUBLE) first")
    if kind == "string":
        return _as(node, name)
    raise QueryError(
        f"where CAST to {name} goes with a fraction depends on its type in {rules.title}, and that of {node.sql()} is "
        "not known; write FLOOR(x) or ROUND(x), or declare the column in the policy"
    )


def _decimal(node: exp.Expr, kind: Kind | None, scale: int | None) -> exp.Expr:
    number = _as(node, "DOUBLE")
    if scale is None or scale > _MOST_DIGITS or kind in ("int", "whole", "bool"):
        return number
    return _call("ROUND", number, exp.Literal.number(scale)) if scale else _call("ROUND", number)


def _text(node: exp.Expr, kind: Kind | None, length: int | None, rules: Rules, to: exp.Expr) -> exp.Expr:
    sized = {"postgres": 0, "tsql": _SHOWN.get(kind, 0)}.get(rules.name, math.inf)
    if kind not in ("int", "string", "date") or (length is not None and length < sized):
        raise QueryError(
            f"CAST to {to.sql()} writes its value in another way in {rules.title} than here; use it for whole numbers, "
            "dates and texts without a length, or write LEFT(s, n)"
        )
    text = node if kind == "string" else _as(node, "VARCHAR")
    return text if length is None else _call("LEFT", text, exp.Literal.number(length))


def _moment(node: exp.Expr, kind: Kind | None, name: str, rules: Rules) -> exp.Expr:
    written = literal_text(node)
    if kind == name.lower() == "date" and _is_first_day(node):
        return node
    if kind in ("date", "timestamp") or (written is not None and is_moment(written)):
        return _as(node, name)
    raise QueryError(
        f"which texts are a {name} differs between {rules.title} and here; write constants as '2024-01-31' or "
        "'2024-01-31 12:00:00', or declare the column as a date in the policy"
    )


def _is_first_day(node: exp.Expr) -> bool:
    """Whether a date is the first one of a month or its like, which is a date as it is."""
    day = node.unnest()
    return isinstance(day, exp.Anonymous) and day.name == "DATE_TRUNC" and day.expressions[0].name in _PERIODS


def _call(name: str, *parts: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(parts))
