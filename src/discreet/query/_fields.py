"""What is publicly known of an expression, as of a column."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType
from discreet.query._columns import Columns
from discreet.query._field import Field
from discreet.query._intervals import Interval, divides_safely, interval
from discreet.query._scalars import check_scalar

__all__ = ["field_of"]


def field_of(node: exp.Expr, columns: Columns) -> Field:
    """The type, bounds, keys and nullability of an expression. Raises `QueryError` if it is not supported."""
    columns.check(node)
    inner = node.unnest()
    if isinstance(inner, exp.Column):
        return columns.fields[inner.name]
    kind = check_scalar(node, columns.fields)
    bounds = _bounds(node, columns) if kind == "number" else None
    whole = isinstance(inner, exp.Literal) and bounds is not None and bounds.whole
    types: dict[str, ColumnType] = {"number": "int" if whole else "float"}
    named = [columns.fields[column.name].nullable for column in node.find_all(exp.Column)]
    nullable = any(named) or not divides_safely(node, columns.fields)
    return Field(types.get(kind, kind), None if bounds is None else (bounds.lower, bounds.upper), None, nullable)  # pyright: ignore[reportArgumentType]


def _bounds(node: exp.Expr, columns: Columns) -> Interval | None:
    try:
        return interval(node, columns.fields, "")
    except QueryError:
        return None
