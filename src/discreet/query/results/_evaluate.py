"""Arithmetic and functions over the aggregates and numeric keys of a result: post-processing, which costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._types import literal_value
from discreet.query.measures._aggregates import Aggregate
from discreet.query.parse._parse import refuse
from discreet.query.results._conditions import is_label, keep_rows, label
from discreet.query.results._dual import Dual, add, choose, constant, div, mul, sqrt, sub
from discreet.query.results._statistics import Sums, read

if TYPE_CHECKING:
    from discreet.query.results._conditions import Values

__all__ = ["Holds", "Rows", "evaluate", "is_whole", "leaves_of", "rounding"]


Holds = Callable[[exp.Expr], NDArray[np.bool_]]
"""In which rows a condition on the result holds."""

_OPERATORS: Mapping[type[exp.Expr], Callable[[Dual, Dual], Dual]] = {
    exp.Add: add,
    exp.Sub: sub,
    exp.Mul: mul,
    exp.Div: div,
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Is, exp.Like, exp.ILike)
_MOST_DIGITS = 15


def evaluate(node: exp.Expr, leaves: Mapping[str, Dual], rows: int, holds: Holds) -> Dual:
    """Evaluate an expression over the leaves (aggregates ``a0``, ``a1``, … and numeric keys by name).

    Division by zero and the root of less than zero give NaN, which the release shows as null. Raises `QueryError` for
    anything but + - * /, ABS, SQRT, COALESCE, NULLIF, GREATEST, LEAST, CASE and a cast to DOUBLE, which every number
    here is already. Errors follow the derivative. That of GREATEST and LEAST is that of the value taken, or of the
    other where that is a constant. CASE and COALESCE have the error of the branch taken, and where that is a constant
    chosen by noisy numbers it is not known: NaN.
    """

    def visit(inner: exp.Expr) -> Dual:
        return evaluate(inner, leaves, rows, holds)

    def branch(inner: exp.Expr | None) -> Dual:
        return constant(np.nan, rows) if inner is None or isinstance(inner, exp.Null) else visit(inner)

    with np.errstate(all="ignore"):
        match node:
            case exp.Paren():
                return visit(node.this)
            case exp.Placeholder() | exp.Column() if node.name in leaves:
                return leaves[node.name]
            case exp.Literal() if not node.is_string:
                return constant(literal_value(node), rows)
            case exp.Neg():
                inner = visit(node.this)
                return Dual(-inner.value, {i: -s for i, s in inner.slopes.items()}, inner.linear, inner.cap)
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
                return _OPERATORS[type(node)](visit(node.left), visit(node.right))
            case exp.Abs():
                inner = visit(node.this)
                sign = np.where(inner.value < 0, -1.0, 1.0)
                return Dual(
                    np.abs(inner.value), {i: s * sign for i, s in inner.slopes.items()}, cap=inner.cap, linear=False
                )
            case exp.Sqrt():
                return sqrt(visit(node.this))
            case exp.Greatest() | exp.Least():
                larger = isinstance(node, exp.Greatest)
                return reduce(lambda a, b: _extreme(a, b, larger=larger), map(visit, [node.this, *node.expressions]))
            case exp.Coalesce():
                return reduce(_first_known, map(visit, [node.this, *node.expressions]))
            case exp.Nullif():
                left, right = visit(node.this), visit(node.expression)
                return choose(left.value != right.value, left, constant(np.nan, rows))
            case exp.Cast() if node.to.is_type("double"):
                return visit(node.this)
            case exp.Case() if node.this is None:
                return _case(node, branch, holds, leaves)
            case _:
                raise refuse(f"{node.sql()} in the result", node)


def rounding(node: exp.Expr) -> tuple[exp.Expr, int | None]:
    """What ROUND around a whole item rounds, and to how many digits; the node itself and None without it.

    A cast to DOUBLE around ROUND is looked through, and one to BIGINT where it rounds to a whole number. Raises
    `QueryError` unless the digits are a whole number from −15 to 15.
    """
    inner = node.unnest()
    if isinstance(inner, exp.Cast) and (inner.to.is_type("double") or is_whole(inner)):
        return rounding(inner.this)
    if not isinstance(inner, exp.Round):
        return node, None
    digits = inner.args.get("decimals")
    sign = -1 if isinstance(digits, exp.Neg) else 1
    number = digits.this.unnest() if isinstance(digits, exp.Neg) else digits
    if number is None:
        return inner.this, 0
    if not isinstance(number, exp.Literal) or number.is_string or not number.name.isdigit():
        raise QueryError(f"{inner.sql()} needs a whole number of digits, such as ROUND(AVG(x), 2)")
    if len(number.name) > 2 or int(number.name) > _MOST_DIGITS:
        raise QueryError(f"{inner.sql()} rounds to more than {_MOST_DIGITS} digits")
    return inner.this, sign * int(number.name)


def is_whole(node: exp.Expr) -> bool:
    """Whether an item is a number rounded and then cast to a whole number: ``CAST(ROUND(x) AS BIGINT)``."""
    inner = node.unnest()
    if not isinstance(inner, exp.Cast) or not inner.to.is_type("bigint"):
        return False
    rounded = inner.this.unnest()
    return isinstance(rounded, exp.Round) and (rounding(rounded)[1] or 0) <= 0


def _extreme(left: Dual, right: Dual, *, larger: bool) -> Dual:
    """As in DuckDB null does not count. Neither moves the result by more than it moves itself."""
    a, b = left.value, right.value
    first = np.isnan(b) | ((a >= b) if larger else (a <= b))
    taken = choose(first, left, right)
    steady = first if not left.slopes else ~first if not right.slopes else np.zeros_like(first)
    moving = right if not left.slopes else left
    slopes = {i: np.where(steady, moving.slopes.get(i, 0.0), s) for i, s in taken.slopes.items()}
    return Dual(taken.value, slopes, linear=False)


def _first_known(left: Dual, right: Dual) -> Dual:
    known = ~np.isnan(left.value)
    return _unknown(~known, choose(known, left, right), right, set(left.slopes))


def _case(node: exp.Case, branch: Callable[[exp.Expr | None], Dual], holds: Holds, leaves: Mapping[str, Dual]) -> Dual:
    result = branch(node.args.get("default"))
    read = [leaf.name for case in node.args["ifs"] for leaf in case.this.find_all(exp.Placeholder)]
    noisy = bool(read)
    branches = [(holds(case.this), branch(case.args["true"])) for case in node.args["ifs"]]
    every = {i for dual in (result, *(dual for _, dual in branches)) for i in dual.slopes}
    every = every or {i for name in read if name in leaves for i in leaves[name].slopes} or {0}
    taken = result if not noisy else _unknown(np.ones_like(result.value, dtype=bool), result, result, every)
    for chosen, dual in reversed(branches):
        taken = choose(chosen, dual, taken)
        taken = _unknown(chosen, taken, dual, every) if noisy else taken
    return taken


def _unknown(rows: NDArray[np.bool_], taken: Dual, part: Dual, measures: set[int]) -> Dual:
    """No known error in the rows where a part that has no noise itself was taken because of noise."""
    if part.slopes or not measures:
        return taken
    zero = np.zeros_like(taken.value)
    slopes = dict(taken.slopes)
    for i in measures:
        slopes[i] = np.where(rows, np.nan, slopes.get(i, zero))
    return Dual(taken.value, slopes, linear=False)


_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Rows:
    """`leaves` are the aggregates ``a0``, ``a1``, … and the numeric keys; `exact` those that are whole numbers.

    `shown` are the windows ``w0``, ``w1``, … as the result shows them.
    `drawn` are the aggregates that are no numbers: see `discreet.query.results._drawn.Drawn.shown`.
    """

    size: int
    leaves: Mapping[str, Dual]
    keys: Mapping[str, Values]
    exact: Mapping[str, list[int]] = field(default_factory=dict[str, list[int]])
    shown: Mapping[str, Values] = field(default_factory=dict[str, "Values"])
    drawn: Mapping[str, Values] = field(default_factory=dict[str, "Values"])

    def column(self, node: exp.Expr) -> Values:
        """An item as the result shows it, or any part of a condition."""
        inner = node.unnest()
        if isinstance(inner, exp.Column):
            return self.keys[inner.name] if inner.name in self.keys else _ungrouped(inner)
        if isinstance(inner, exp.Placeholder) and inner.name in self.shown:
            return self.shown[inner.name]
        if isinstance(inner, exp.Placeholder) and inner.name in self.drawn:
            return self.drawn[inner.name]
        numbers = self.exact.get(inner.name) if isinstance(inner, exp.Placeholder) else None
        if numbers is not None:
            return pa.array([max(-_INT64, min(number, _INT64 - 1)) for number in numbers], pa.int64())
        if is_label(inner, self.keys):
            return label(inner, self.column, self.holds, self.size)
        unrounded, digits = rounding(inner)
        leaf = unrounded.unnest()
        if isinstance(leaf, exp.Placeholder) and leaf.name in self.drawn:
            raise _not_a_number(leaf, inner)
        value = self.dual(unrounded).value
        with np.errstate(all="ignore"):
            value = value if digits is None else np.round(value, digits)
        if is_whole(inner):
            whole_numbers = np.clip(np.nan_to_num(value), -_INT64, np.nextafter(_INT64, 0)).astype(np.int64)
            return pa.array(whole_numbers, mask=~np.isfinite(value))
        return pa.array(value, mask=~np.isfinite(value))

    def holds(self, condition: exp.Expr) -> NDArray[np.bool_]:
        """In which rows a condition on the result holds."""
        return keep_rows(condition, self.column).to_numpy(zero_copy_only=False)

    def dual(self, node: exp.Expr) -> Dual:
        """An expression of aggregates and numeric keys, with its slopes by each measure."""
        for column in node.find_all(exp.Column):
            if column.name in self.keys and column.name not in self.leaves and not column.find_ancestor(exp.If):
                raise QueryError(f"{column.name} is not a number, so {node.sql()} cannot be computed")
            if column.name not in self.keys:
                _ungrouped(column)
        for leaf in node.find_all(exp.Placeholder):
            if leaf.name in self.drawn and leaf is not node.unnest() and not self._is_compared(leaf):
                raise _not_a_number(leaf, node)
        return evaluate(node, self.leaves, self.size, self.holds)

    def _is_compared(self, leaf: exp.Expr) -> bool:
        """Whether what is no number is a side of a comparison, or of the difference of two dates."""
        above = leaf.parent
        while isinstance(above, exp.Paren):
            above = above.parent
        if isinstance(above, exp.Sub):
            sides = [self.drawn.get(side.unnest().name) for side in (above.this, above.expression)]
            return all(side is not None and pa.types.is_date(side.type) for side in sides)
        return isinstance(above, _COMPARISONS)


def leaves_of(
    aggregates: Mapping[str, Aggregate], sums: Sums, keys: Mapping[str, Values], *, clamped: bool = True
) -> dict[str, Dual]:
    """The aggregates that are read off sums, by name, and the keys that are numbers. For `clamped` see `read`."""
    leaves = {
        name: read(aggregate, sums, clamped=clamped)
        for name, aggregate in aggregates.items()
        if aggregate.quantile is None
    }
    for name, column in keys.items():
        if pa.types.is_integer(column.type):
            number = pc.cast(column, pa.float64(), safe=False)  # beyond 2**53 as the nearest double, not an error
            leaves[name] = Dual(np.asarray(number.to_numpy(zero_copy_only=False)), {})
    return leaves


def _not_a_number(leaf: exp.Expr, node: exp.Expr) -> QueryError:
    return QueryError(
        f"{leaf.sql()} is not a number: it is shown, compared, or, as a date, subtracted from another; to compute with "
        f"it in {node.sql()}, write the same statistic of a number, such as DATE_DIFF('day', DATE '2020-01-01', d), or "
        "a CASE that compares it"
    )


def _ungrouped(column: exp.Column) -> Values:
    raise QueryError(
        f"{column.name} is neither in GROUP BY nor inside an aggregate, so it would release rows of people"
    )
