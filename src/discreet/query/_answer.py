"""From noisy sums to the columns that a query asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.policy import Column
from discreet.query._bounded import BoundedAggregate, Group
from discreet.query._conditions import keep_rows, row_limit, sort_rows
from discreet.query._confidence import check_level, linear_half_width, ratio_half_widths
from discreet.query._dual import Dual, Floats, evaluate
from discreet.query._measures import Aggregate
from discreet.query._noise import NoiseMechanism

if TYPE_CHECKING:
    from discreet.query._conditions import Leaf, Values

__all__ = ["QUANTILE", "Answer", "ErrorShape", "answer"]

_ARROW: Mapping[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
_INT64 = 2**63
QUANTILE = -1
"""In place of a measure: the answer hangs on a quantile, whose error in its own unit depends on the data."""


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """How one column hangs on the noises: its slope by each measure, row by row."""

    slopes: Mapping[int, Floats]
    linear: bool
    cap: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a result, and for each of its noisy columns what its error is made of."""

    table: pa.Table
    shapes: Mapping[str, ErrorShape]
    noises: Sequence[NoiseMechanism] = field(default=())

    def shape(self, column: str) -> ErrorShape:
        """The error of a column; raises `ParameterError` for a key or an unknown column."""
        if column in self.shapes:
            return self.shapes[column]
        if column in self.table.column_names:
            raise ParameterError(f"{column} is a key, released without noise; it has no error")
        raise ParameterError(f"the result has no column {column}; it has {', '.join(self.table.column_names)}")

    def error(self, column: str, level: float = 0.95) -> Floats:
        """Half-widths aligned with the rows: the answer's noise is within ± the half-width with probability `level`.

        NaN where the answer hangs on a quantile.
        """
        shape, level = self.shape(column), check_level(level)
        rows = self.table.num_rows
        indices = sorted(shape.slopes)
        if rows == 0 or not indices:
            return np.zeros(rows)
        if indices[0] == QUANTILE:
            return np.full(rows, np.nan)
        noises = [self.noises[i] for i in indices]
        slopes = np.array([shape.slopes[i] for i in indices])
        if shape.linear:  # the same for every row, unless a key is a factor
            distinct, which = np.unique(slopes, axis=1, return_inverse=True)
            half = np.array([linear_half_width(list(column), noises, level) for column in distinct.T])[which.ravel()]
        else:
            half = ratio_half_widths(list(slopes), noises, level)
        half = half if shape.cap is None else np.minimum(half, shape.cap)
        missing = np.asarray(pc.is_null(self.table.column(column)))
        return np.where(missing, np.nan, half)


def answer(
    select: exp.Select,
    bounded: BoundedAggregate,
    aggregates: Sequence[Aggregate],
    groups: Sequence[Group],
    noises: Sequence[NoiseMechanism] | None,
) -> Answer:
    """Read the aggregates off the noisy sums, compute the result's columns, then HAVING, ORDER BY and LIMIT.

    Raises `QueryError` for an expression that is not arithmetic over aggregates and keys.
    """
    rows = len(groups)
    keys = {key.name: _key_column(i, groups, bounded.columns[key.name]) for i, key in enumerate(bounded.keys)}
    sums = [[group.sums[i] for group in groups] for i in range(len(bounded.measures))]
    leaves = {f"a{i}": _read(aggregate, sums, groups) for i, aggregate in enumerate(aggregates)}
    whole = {f"a{i}": _whole(aggregate, sums) for i, aggregate in enumerate(aggregates)}
    for name, column in keys.items():
        if bounded.columns[name].type == "int":
            number = pc.cast(column, pa.float64(), safe=False)  # beyond 2**53 as the nearest double, not an error
            leaves[name] = Dual(np.asarray(number.to_numpy(zero_copy_only=False)), {})

    def leaf(node: exp.Expr) -> Values:
        inner = node.unnest()
        if isinstance(inner, exp.Column):
            return keys[inner.name] if inner.name in keys else _ungrouped(inner)
        exact = whole.get(inner.name) if isinstance(inner, exp.Placeholder) else None
        if exact is not None:
            return exact
        if isinstance(inner, exp.Literal) and inner.is_string:
            return pa.array([inner.name] * rows, pa.string())
        if isinstance(inner, exp.Boolean):
            return pa.array([bool(inner.this)] * rows, pa.bool_())
        value = _dual(inner, leaves, keys, rows).value
        return pa.array(value, mask=~np.isfinite(value))

    columns: dict[str, Values] = {}
    shapes: dict[str, ErrorShape] = {}
    for item in select.expressions:
        if item.alias in columns:
            raise QueryError(f"two columns of the result are called {item.alias}")
        columns[item.alias] = leaf(item.this)
        if not isinstance(item.this.unnest(), exp.Column):
            dual = _dual(item.this, leaves, keys, rows)
            shapes[item.alias] = ErrorShape(dual.slopes, dual.linear, dual.cap)
    kept = _arrange(select, leaf, rows)
    table = pa.table({name: pc.take(column, kept) for name, column in columns.items()})
    order = kept.to_numpy()
    taken = {
        name: ErrorShape({i: np.broadcast_to(s, rows)[order] for i, s in shape.slopes.items()}, shape.linear, shape.cap)
        for name, shape in shapes.items()
    }
    return Answer(table, taken, tuple(noises or ()))


def _arrange(select: exp.Select, leaf: Leaf, rows: int) -> Values:
    having, order, limit = (select.args.get(name) for name in ("having", "order", "limit"))
    positions = pa.array(range(rows), pa.int64())
    if order is not None:
        positions = sort_rows(order.expressions, leaf, rows)
    if having is not None:
        keep = keep_rows(having.this, leaf)
        positions = positions.filter(pc.take(keep, positions))
    count = row_limit(limit)
    return positions if count is None else positions.slice(0, count)


def _dual(node: exp.Expr, leaves: Mapping[str, Dual], keys: Mapping[str, pa.Array], rows: int) -> Dual:
    for column in node.find_all(exp.Column):
        if column.name in keys and column.name not in leaves:
            raise QueryError(f"{column.name} is not a number, so {node.sql()} cannot be computed")
        if column.name not in leaves:
            _ungrouped(column)
    return evaluate(node, leaves, rows)


def _ungrouped(column: exp.Column) -> Values:
    raise QueryError(
        f"{column.name} is neither in GROUP BY nor inside an aggregate, so it would release rows of people"
    )


def _read(aggregate: Aggregate, sums: Sequence[Sequence[int]], groups: Sequence[Group]) -> Dual:
    if aggregate.quantile is not None:
        histogram, place = aggregate.quantile
        values = np.array([group.quantiles[histogram][place] for group in groups], dtype=np.float64)
        return Dual(values, {QUANTILE: np.ones_like(values)}, linear=False)
    count = None if aggregate.count is None else np.array(sums[aggregate.count], dtype=np.float64)
    if aggregate.total is None:
        assert aggregate.count is not None
        assert count is not None
        return Dual(count, {aggregate.count: np.ones_like(count)})
    step, center = float(aggregate.step), aggregate.center
    total = np.array(sums[aggregate.total], dtype=np.float64)
    if count is None or aggregate.count is None:
        return Dual(step * total, {aggregate.total: np.full_like(total, step)})
    if aggregate.kind == "SUM":
        exact = [t + center * c for t, c in zip(sums[aggregate.total], sums[aggregate.count], strict=True)]
        slopes = {aggregate.total: np.full_like(total, step), aggregate.count: np.full_like(total, step * center)}
        return Dual(step * np.array(exact, dtype=np.float64), slopes)
    assert aggregate.bounds is not None
    lower, upper = float(aggregate.bounds.lower), float(aggregate.bounds.upper)
    rows = np.maximum(count, 1.0)
    mean = np.clip(step * (total / rows + center), lower, upper)
    slopes = {aggregate.total: step / rows, aggregate.count: (step * center - mean) / rows}
    return Dual(mean, slopes, linear=False, cap=upper - lower)


def _whole(aggregate: Aggregate, sums: Sequence[Sequence[int]]) -> Values | None:
    """COUNT, and SUM of whole numbers, as exact integers that stop at the ends of 64 bits."""
    if not aggregate.whole:
        return None
    if aggregate.total is None:
        assert aggregate.count is not None
        values = sums[aggregate.count]
    else:
        counts = [0] * len(sums[aggregate.total]) if aggregate.count is None else sums[aggregate.count]
        values = [
            int(aggregate.step) * (t + aggregate.center * c) for t, c in zip(sums[aggregate.total], counts, strict=True)
        ]
    return pa.array([max(-_INT64, min(value, _INT64 - 1)) for value in values], pa.int64())


def _key_column(position: int, groups: Sequence[Group], column: Column) -> Values:
    values = [group.key[position] for group in groups]
    if column.type == "timestamp":
        values = [value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value for value in values]
    return pa.array(values, _ARROW[column.type])
