"""Texts, dates and truth values that a result says of its rows: constants, and CASE and COALESCE of keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._scalars import check_scalar, is_moment

__all__ = ["ARROW", "constant_value", "is_label", "label"]

if TYPE_CHECKING:
    from numpy import bool_

    from discreet.query._conditions import Leaf, Values

ARROW: Mapping[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""The type of a column of the result, by the type of a key."""


def constant_value(node: exp.Expr) -> pa.Scalar[Any] | None:
    """A text, a truth value, a date or a timestamp that the query spells out; None for anything else."""
    if isinstance(node, exp.Literal) and node.is_string:
        return pa.scalar(node.name, pa.string())
    if isinstance(node, exp.Boolean):
        return pa.scalar(bool(node.this))
    if is_moment(node):
        kind = check_scalar(node, {})
        return pc.cast(pa.scalar(node.this.name), ARROW[kind])
    return None


def is_label(node: exp.Expr, keys: Mapping[str, Values]) -> bool:
    """Whether an expression is a constant or a choice between texts, dates or truth values that has no noise in it."""
    inner = node.unnest()
    if constant_value(inner) is not None:
        return True
    if inner.find(exp.Placeholder):
        return False
    return any(_is_text(part, keys) for part in _parts(inner))


def label(node: exp.Expr, leaf: Leaf, holds: Callable[[exp.Expr], NDArray[bool_]], rows: int) -> Values:
    """What a label is in each row. Raises `QueryError` where it would be now a text and now something else."""
    inner = node.unnest()
    same = constant_value(inner)
    if same is not None:
        return pa.array([same.as_py()] * rows, same.type)

    def part(each: exp.Expr | None) -> Values:
        return pa.nulls(rows) if each is None or isinstance(each.unnest(), exp.Null) else leaf(each)

    try:
        if isinstance(inner, exp.Coalesce):
            return pc.coalesce(*map(part, _parts(inner)))
        value = part(inner.args.get("default"))
        for branch in reversed(inner.args["ifs"]):
            value = pc.if_else(pa.array(holds(branch.this)), part(branch.args["true"]), value)
    except pa.ArrowException:
        raise QueryError(f"{inner.sql()} is now a text and now something else; give it values of one kind") from None
    return value


def _parts(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Case) and node.this is None:
        default = node.args.get("default")
        return [branch.args["true"] for branch in node.args["ifs"]] + ([] if default is None else [default])
    return []


def _is_text(node: exp.Expr, keys: Mapping[str, Values]) -> bool:
    inner = node.unnest()
    if isinstance(inner, exp.Column):
        return inner.name in keys and not pa.types.is_integer(keys[inner.name].type)
    return is_label(inner, keys)
