"""Row-level expressions: which are allowed, and of what kind they are.

Everything allowed is total: no row can make the engine raise. Arithmetic is on doubles, where overflow is an
infinity, not an error; comparisons are between values of one kind.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Literal

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.query._field import Field as Column
from discreet.query._parse import refuse
from discreet.rational import rational

__all__ = ["Kind", "check_predicate", "check_scalar", "literal_value"]

Kind = Literal["number", "string", "bool", "date", "timestamp"]

_KINDS: dict[str, Kind] = {
    "bool": "bool",
    "int": "number",
    "float": "number",
    "decimal": "number",
    "string": "string",
    "date": "date",
    "timestamp": "timestamp",
}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_DATES = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMPNTZ": "timestamp"}


def check_predicate(tree: exp.Expr, columns: Mapping[str, Column]) -> None:
    """Raise `QueryError` unless the expression is a condition on one row.

    A string compared with a date or a timestamp is read as one, in place.

    >>> check_predicate(exp.maybe_parse("age >= 18 AND sex IS NOT NULL"),
    ...                 {"age": Column(type="int"), "sex": Column(type="string")})
    """
    kind = check_scalar(tree, columns)
    if kind != "bool":
        raise QueryError(f"WHERE needs a condition, but {tree.sql()} is a {kind}")


def check_scalar(node: exp.Expr, columns: Mapping[str, Column]) -> Kind:
    """The kind of an expression over the columns of one row; raises `QueryError` if it is not supported."""
    match node:
        case exp.Paren():
            return check_scalar(node.this, columns)
        case exp.Column():
            return _column_kind(node, columns)
        case exp.Boolean():
            return "bool"
        case exp.Literal():
            if not node.is_string:
                literal_value(node)
            return "string" if node.is_string else "number"
        case exp.Cast():
            return _check_date_literal(node)
        case exp.Neg():
            _require(node.this, "number", columns)
            return "number"
        case exp.Not():
            _require(node.this, "bool", columns)
            return "bool"
        case exp.And() | exp.Or():
            _require(node.left, "bool", columns)
            _require(node.right, "bool", columns)
            return "bool"
        case exp.Is() if isinstance(node.expression, exp.Null):
            check_scalar(node.this, columns)
            return "bool"
        case exp.Like() if isinstance(node.expression, exp.Literal) and node.expression.is_string:
            _require(node.this, "string", columns)
            return "bool"
        case exp.In() if node.expressions and not node.args.get("query") and not node.args.get("unnest"):
            for item in list(node.expressions):
                if isinstance(item, exp.Column):
                    raise refuse("IN with anything but constants")
                _check_same(node.this, item, columns)
            return "bool"
        case _:
            return _check_binary(node, columns)


def _column_kind(node: exp.Column, columns: Mapping[str, Column]) -> Kind:
    if isinstance(node.this, exp.Star):
        raise refuse(f"{node.sql()} in a row-level expression")
    return _KINDS[columns[node.name].type]


def literal_value(node: exp.Literal) -> float:
    """The number of a numeric literal; raises `QueryError` if it is too large for a double."""
    try:
        value = float(rational(node.name, "a number in the query"))
    except (ParameterError, OverflowError):
        raise QueryError(f"{node.sql()} is not a number that a query can use") from None
    return value


def _check_binary(node: exp.Expr, columns: Mapping[str, Column]) -> Kind:
    if isinstance(node, _ARITHMETIC):
        _require(node.left, "number", columns)
        _require(node.right, "number", columns)
        return "number"
    if isinstance(node, _COMPARISONS):
        _check_same(node.left, node.right, columns)
        return "bool"
    if isinstance(node, exp.AggFunc):
        raise QueryError(f"{node.sql()} is an aggregate, which cannot stand here")
    raise refuse(f"{node.sql()} in a row-level expression")


def _check_same(left: exp.Expr, right: exp.Expr, columns: Mapping[str, Column]) -> None:
    kinds = check_scalar(left, columns), check_scalar(right, columns)
    for side, kind, other in ((left, kinds[0], kinds[1]), (right, kinds[1], kinds[0])):
        if other in ("date", "timestamp") and kind == "string" and isinstance(side, exp.Literal):
            cast = exp.cast(side.copy(), other.upper())
            _check_date_literal(cast)
            side.replace(cast)
            return
    if kinds[0] != kinds[1] and set(kinds) != {"date", "timestamp"}:
        raise QueryError(f"{left.sql()} is a {kinds[0]} and {right.sql()} a {kinds[1]}; they cannot be compared")


def _check_date_literal(node: exp.Cast) -> Kind:
    """Check a date or a timestamp, and write it in place as every engine reads it."""
    kind = _DATES.get(node.to.sql())
    if kind is None or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        raise refuse(f"{node.sql()} (CAST)")
    try:
        moment = (dt.date if kind == "date" else dt.datetime).fromisoformat(node.this.name)
    except ValueError:
        example = "2026-01-31" if kind == "date" else "2026-01-31 12:00:00"
        raise QueryError(f"{node.this.sql()} is not a {kind}; write it as {example}") from None
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        raise QueryError(f"{node.this.sql()} has a time zone, and timestamps here have none; write it without, in UTC")
    node.this.replace(exp.Literal.string(str(moment)))
    node.set("to", exp.DataType.build(kind.upper()))
    return "date" if kind == "date" else "timestamp"


def _require(node: exp.Expr, kind: Kind, columns: Mapping[str, Column]) -> None:
    found = check_scalar(node, columns)
    if found != kind:
        raise QueryError(f"{node.sql()} is a {found}, where a {kind} is needed")
