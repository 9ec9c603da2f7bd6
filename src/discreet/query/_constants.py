"""Dates and timestamps that are written as calls: ``MAKE_DATE(2024, 1, 31)``."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._parse import refuse

__all__ = ["spelt_out"]

_PARTS = ("year", "month", "day", "hour", "min", "sec")
_MOST, _LEAST = 9_999, -6
"""No part is above the one, or has its first digit below a millionth: the rest of a number may not fit in memory."""


def spelt_out(node: exp.DateFromParts | exp.TimestampFromParts) -> exp.Cast:
    """The constant that a call of constants makes.

    Raises `QueryError` for parts that are not constants, and for a day or a time that there is none of.

    >>> spelt_out(exp.maybe_parse("MAKE_DATE(2024, 1, 31)", dialect="duckdb")).sql()
    "CAST('2024-01-31' AS DATE)"
    """
    wanted = _PARTS[:3] if isinstance(node, exp.DateFromParts) else _PARTS
    parts = [node.args.get(name) for name in wanted]
    if any(value for name, value in node.args.items() if name not in wanted) or not all(map(_is_number, parts)):
        raise refuse(f"{node.sql(dialect='duckdb')}, a date that is not made of constants,")
    try:
        numbers = [Decimal(part.name) for part in parts if part is not None]
        *whole, second = numbers if len(wanted) == 6 else [*numbers, Decimal(0)]
        if any(number and (number > _MOST or number.adjusted() < _LEAST) for number in numbers):
            raise ValueError
        micros = second * 10**6
        if any(number != int(number) for number in (*whole, micros)):
            raise ValueError
        if len(wanted) == 3:
            return _cast(dt.date(*map(int, whole)).isoformat(), "DATE")
        year, month, day, hour, minute = map(int, whole)
        made = dt.datetime(year, month, day, hour, minute, int(second), int(micros) % 10**6)  # noqa: DTZ001
        return _cast(made.isoformat(sep=" "), "TIMESTAMP")
    except (ValueError, TypeError, OverflowError, ArithmeticError):
        raise QueryError(f"{node.sql(dialect='duckdb')} is no date or time that there is") from None


def _is_number(part: exp.Expr | None) -> bool:
    return isinstance(part, exp.Literal) and not part.is_string


def _cast(text: str, kind: str) -> exp.Cast:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind))
