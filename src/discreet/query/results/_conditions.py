"""HAVING, ORDER BY and LIMIT on what was released: post-processing, which costs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._types import check_scalar, is_moment
from discreet.query.parse._parse import refuse

if TYPE_CHECKING:
    Values = pa.Array[Any]
    Leaf = Callable[[exp.Expr], Values]
    "Evaluates an expression that is not a condition to an Arrow array."
    from numpy import bool_

__all__ = ["ARROW", "constant_value", "is_label", "keep_rows", "label", "row_limit", "sort_rows"]


_MAX_DIGITS = 18  # what Arrow counts to

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
    """The number after LIMIT, or after OFFSET; raises `QueryError` unless it is a whole number."""
    if limit is None:
        return None
    count = limit.expression
    integer = isinstance(count, exp.Literal) and not count.is_string and count.name.isdigit()
    if not integer or limit.args.get("limit_options"):
        name = "OFFSET" if isinstance(limit, exp.Offset) else "LIMIT"
        raise QueryError(f"{name} takes a whole number of rows")
    return int(count.name) if len(count.name) <= _MAX_DIGITS else 10**_MAX_DIGITS


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
            tested = leaf(node.this)
            pairs = (
                _read_as(node.this, item, lambda each: tested if each is node.this else leaf(each))
                for item in node.expressions
            )
            return reduce(pc.or_kleene, (_compare(pc.equal, left, right) for left, right in pairs))
        case exp.Like() | exp.ILike():
            return _like(node, leaf)
        case exp.Binary() if type(node) in _COMPARE:
            left, right = _read_as(node.left, node.right, leaf)
            return _compare(_COMPARE[type(node)], left, right)
        case _:
            raise refuse(f"{node.sql()} in HAVING", node)


def _read_as(one: exp.Expr, other: exp.Expr, leaf: Leaf) -> tuple[Values, Values]:
    """Two sides of a comparison; a text that the query spells out beside a date or a timestamp is read as one."""
    left, right = leaf(one), leaf(other)
    if _is_text(one) and pa.types.is_temporal(right.type):
        left = pc.cast(left, right.type)
    if _is_text(other) and pa.types.is_temporal(left.type):
        right = pc.cast(right, left.type)
    return left, right


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node.unnest(), exp.Literal) and node.unnest().is_string


def _like(node: exp.Like | exp.ILike, leaf: Leaf) -> Values:
    pattern = node.expression.unnest()
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise QueryError(f"{node.sql()} needs a constant pattern, such as 'a%'")
    texts, wanted = leaf(node.this), pattern.name
    if isinstance(node, exp.ILike):
        texts, wanted = pc.utf8_lower(texts), pc.utf8_lower(pa.scalar(wanted)).as_py()
    signs = {"%": ".*", "_": "."}
    regex = "".join(signs.get(sign) or re.escape(sign) for sign in wanted)
    return pc.match_substring_regex(texts, f"(?s)\\A{regex}\\z")


def _compare(comparison: Callable[[Any, Any], Any], left: Values, right: Values) -> Values:
    """Compare two columns; whole numbers beside doubles as the nearest doubles, since Arrow refuses large ones.

    Texts beside dates are refused whatever they hold.
    """
    texts = pa.types.is_string(left.type), pa.types.is_string(right.type)
    if texts[0] != texts[1]:
        raise pa.ArrowInvalid
    if left.type != right.type and pa.types.is_integer(left.type) and pa.types.is_floating(right.type):
        left = pc.cast(left, pa.float64(), safe=False)
    if left.type != right.type and pa.types.is_integer(right.type) and pa.types.is_floating(left.type):
        right = pc.cast(right, pa.float64(), safe=False)
    return comparison(left, right)


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
    return any(_is_text_type(part, keys) for part in _parts(inner))


def label(node: exp.Expr, leaf: Leaf, holds: Callable[[exp.Expr], NDArray[bool_]], rows: int) -> Values:
    """What a label is in each row. Raises `QueryError` where it is a text in some rows and not in others."""
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
        raise QueryError(
            f"{inner.sql()} is a text in some rows and not in others; give it values of one kind"
        ) from None
    return value


def _parts(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Case) and node.this is None:
        default = node.args.get("default")
        return [branch.args["true"] for branch in node.args["ifs"]] + ([] if default is None else [default])
    return []


def _is_text_type(node: exp.Expr, keys: Mapping[str, Values]) -> bool:
    inner = node.unnest()
    if isinstance(inner, exp.Column):
        return inner.name in keys and not pa.types.is_integer(keys[inner.name].type)
    return is_label(inner, keys)
