"""What is publicly known of an expression, as of a column."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._columns import Columns
from discreet.query._domains import domain, key_type
from discreet.query._field import Field
from discreet.query._intervals import interval
from discreet.query._scalars import check_scalar, nullable

__all__ = ["field_of"]


def field_of(node: exp.Expr, columns: Columns) -> Field:
    """The type, bounds, keys and nullability of an expression. Raises `QueryError` if it is not supported."""
    columns.check(node)
    inner = node.unnest()
    if isinstance(inner, exp.Column):
        return columns.fields[inner.name]
    kind = check_scalar(node, columns.fields)
    if kind == "null":
        raise QueryError(f"{node.sql()} is always null; leave it out")
    may_be_null = nullable(node, columns.fields)
    if kind != "number":
        return Field(kind, None, domain(node, columns.fields, columns.work), may_be_null)
    try:
        limits = interval(node, columns.fields, columns.table_of(node))
        bounds = (limits.lower, limits.upper)
    except QueryError:
        bounds = None
    try:
        key_type(node, columns.fields)
    except QueryError:
        return Field("float", bounds, None, may_be_null)
    return Field("int", bounds, domain(node, columns.fields, columns.work), may_be_null)
