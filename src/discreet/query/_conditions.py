"""HAVING, ORDER BY and LIMIT on what was released: post-processing, which costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._parse import refuse

__all__ = ["keep_rows", "row_limit", "sort_rows"]

if TYPE_CHECKING:
    Values = pa.Array[Any]
    Leaf = Callable[[exp.Expr], Values]
    """Evaluates an expression that is not a condition to an Arrow array."""

_COMPARE: Mapping[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
}


def keep_rows(condition: exp.Expr, leaf: Leaf) -> Values:
    """Which rows satisfy HAVING; null counts as no, as in SQL."""
    try:
        return pc.equal(_condition(condition, leaf), pa.scalar(value=True)).fill_null(fill_value=False)
    except pa.ArrowException:
        raise QueryError(f"HAVING compares things of different kinds: {condition.sql()}") from None


def sort_rows(order: list[exp.Expr], leaf: Leaf, rows: int) -> Values:
    """The positions of the rows in the order that ORDER BY asks for; ties stay as they were."""
    positions = pa.array(range(rows), pa.int64())
    for item in reversed(order):
        direction = "descending" if item.args.get("desc") else "ascending"
        nulls = "at_start" if item.args.get("nulls_first") else "at_end"
        column = pc.take(leaf(item.this), positions)
        positions = pc.take(positions, pc.array_sort_indices(column, order=direction, null_placement=nulls))
    return positions


def row_limit(limit: exp.Expr | None) -> int | None:
    """The number after LIMIT; raises `QueryError` unless it is a whole number."""
    if limit is None:
        return None
    count = limit.expression
    if not isinstance(count, exp.Literal) or count.is_string or not count.name.isdigit():
        raise QueryError("LIMIT takes a whole number")
    return int(count.name)


def _condition(node: exp.Expr, leaf: Leaf) -> Values:
    match node:
        case exp.Paren():
            return _condition(node.this, leaf)
        case exp.And():
            return pc.and_kleene(_condition(node.left, leaf), _condition(node.right, leaf))
        case exp.Or():
            return pc.or_kleene(_condition(node.left, leaf), _condition(node.right, leaf))
        case exp.Not():
            return pc.invert(_condition(node.this, leaf))
        case exp.Is() if isinstance(node.expression, exp.Null):
            return pc.is_null(leaf(node.this))
        case exp.In() if node.expressions:
            return pc.is_in(
                leaf(node.this), value_set=pa.concat_arrays([leaf(e).slice(0, 1) for e in node.expressions])
            )
        case exp.Binary() if type(node) in _COMPARE:
            return _COMPARE[type(node)](leaf(node.left), leaf(node.right))
        case _:
            raise refuse(f"{node.sql()} in HAVING")
