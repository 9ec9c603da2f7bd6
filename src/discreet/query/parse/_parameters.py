"""Constants in the places of a query's parameters."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from discreet.errors import ParameterError, QueryError
from discreet.query.parse._parse import parsed
from discreet.query.parse._parser import tokenize
from discreet.query.parse._trees import put

__all__ = ["Constant", "bind"]

Constant = bool | int | float | Decimal | str | dt.date | dt.datetime | None
"""What may stand for a parameter."""


def bind(query: str, *values: Constant, **named: Constant) -> str:
    """A query with constants in the places of its parameters, as text that a session answers or plans.

    `?` and `$1`, `$2`, … stand for `values` in order, `:name` and `$name` for `named` ones. A value becomes a constant
    of the query, whatever it holds: it is never read as SQL. Costs nothing. Constants are public: never look them up
    in private rows.

    Raises `ParameterError` for a parameter without a value, a value without a parameter, and one that SQL has no
    constant for: an infinity, a moment in a time zone; `QueryError` for what is no query.

    >>> bind("SELECT COUNT(*) FROM visits WHERE city = :city AND cost > :least", city="Cork's", least=10)
    "SELECT COUNT(*) FROM visits WHERE city = 'Cork''s' AND cost > 10"
    """
    select = parsed(_numbered(query), parameters=True)
    used: set[int | str] = set()
    for node in list(select.find_all(exp.Placeholder)):
        place = int(node.name) if node.name.isdigit() else node.name
        if isinstance(place, int) and not 1 <= place <= len(values):
            raise ParameterError(f"the query has a parameter {place} and {len(values)} values are given")
        if isinstance(place, str) and place not in named:
            raise ParameterError(f"the query has a parameter {place}, which has no value: give {place}=…")
        used.add(place)
        put(node, _constant(values[place - 1] if isinstance(place, int) else named[place], place))
    unused = [place for place in (*range(1, len(values) + 1), *named) if place not in used]
    if unused:
        raise ParameterError(f"the query has no parameter {unused[0]}, for which a value is given")
    try:
        return select.sql(dialect="duckdb")
    except SqlglotError as error:
        raise QueryError(f"the query is not valid SQL: {error}") from None


def _numbered(query: str) -> str:
    """The query with a number for each question mark, in the order of the text."""
    if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"parameters are those of SQL text, got {type(query).__name__}")
    try:
        tokens = tokenize(query)
    except SqlglotError:
        return query
    marks = [token for token in tokens if token.token_type == TokenType.PLACEHOLDER]
    if marks and any(token.token_type == TokenType.PARAMETER for token in tokens):
        raise ParameterError("the query has parameters of both kinds, ? and $1: number all of them")
    ends = [0, *(token.end + 1 for token in marks)]
    parts = [query[end : token.start] for end, token in zip(ends, marks, strict=False)]
    return "".join(f"{part}${i} " for i, part in enumerate(parts, 1)) + query[ends[-1] :]


def _constant(value: object, place: int | str) -> exp.Expr:
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return _number(str(value))
        case float() if math.isfinite(value):
            return _number(repr(value))
        case Decimal() if value.is_finite():
            return _number(f"{value:f}")
        case str():
            return exp.Literal.string(value)
        case dt.datetime() if value.tzinfo is None:
            return _moment(value.isoformat(sep=" "), "TIMESTAMP")
        case dt.date() if not isinstance(value, dt.datetime):
            return _moment(value.isoformat(), "DATE")
        case _:
            raise ParameterError(
                f"the value of parameter {place} is {type(value).__name__}, for which a query has no constant: give a "
                "text, a finite number, a truth value, a date, or a datetime without a time zone"
            )


def _number(text: str) -> exp.Expr:
    return exp.Paren(this=exp.Neg(this=exp.Literal.number(text[1:]))) if text[0] == "-" else exp.Literal.number(text)


def _moment(text: str, kind: str) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind))
