"""From noisy sums to the columns that a query asked for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.policy import ColumnType, Key
from discreet.query._aggregates import Aggregate
from discreet.query._arithmetic import evaluate, is_whole, rounding
from discreet.query._bounded import Group
from discreet.query._conditions import keep_rows, row_limit, sort_rows
from discreet.query._confidence import check_level, linear_half_width, ratio_half_widths
from discreet.query._dual import Dual, Floats
from discreet.query._labels import ARROW, is_label, label
from discreet.query._levels import Level, keys_of
from discreet.query._moments import read, whole
from discreet.query._noise import NoiseMechanism

if TYPE_CHECKING:
    from discreet.query._conditions import Leaf, Values

__all__ = ["QUANTILE", "Answer", "ErrorShape", "answer"]

_INT64 = 2**63
QUANTILE = -1
"""In place of a measure: the answer hangs on a quantile, whose error in its own unit depends on the data."""


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """How one column hangs on the noises, one for each measure of each level: its slope by each, row by row.

    No error exceeds `cap`, where one is known, but for what rounding adds: at most `slack`.
    """

    slopes: Mapping[int, Floats]
    linear: bool
    cap: float | None
    slack: float = 0.0


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
        half = (half if shape.cap is None else np.fmin(half, shape.cap)) + shape.slack
        missing = np.asarray(pc.is_null(self.table.column(column)))
        return np.where(missing, np.nan, half)


def answer(
    select: exp.Select, levels: Sequence[Level], aggregates: Sequence[Aggregate], groups: Sequence[Sequence[Group]]
) -> Answer:
    """Read the aggregates off the noisy sums, compute the result's columns, then HAVING, ORDER BY and LIMIT.

    `groups` has those of each level; their rows follow one another, with null for a key that their level does not have.
    Raises `QueryError` for an expression that is not one of aggregates and keys; see `evaluate`.
    """
    every = [group for here in groups for group in here]
    rows, measures = len(every), len(levels[0].bounded.measures)
    level_of = np.repeat(np.arange(len(levels)), [len(here) for here in groups])
    keys = {key.name: _key_column(key.name, key.type, levels, groups) for key in keys_of(levels)}
    for name in levels[0].groupings:
        keys[name] = pa.array(np.array([level.groupings[name] for level in levels])[level_of], pa.int64())
    sums = [[group.sums[i] for group in every] for i in range(measures)]
    leaves = {f"a{i}": _leaf(aggregate, sums, every) for i, aggregate in enumerate(aggregates)}
    exact = {f"a{i}": whole(aggregate, sums) for i, aggregate in enumerate(aggregates)}
    for name, column in keys.items():
        if pa.types.is_integer(column.type):
            number = pc.cast(column, pa.float64(), safe=False)  # beyond 2**53 as the nearest double, not an error
            leaves[name] = Dual(np.asarray(number.to_numpy(zero_copy_only=False)), {})

    def leaf(node: exp.Expr) -> Values:
        inner = node.unnest()
        if isinstance(inner, exp.Column):
            return keys[inner.name] if inner.name in keys else _ungrouped(inner)
        numbers = exact.get(inner.name) if isinstance(inner, exp.Placeholder) else None
        if numbers is not None:
            return pa.array([max(-_INT64, min(number, _INT64 - 1)) for number in numbers], pa.int64())
        if is_label(inner, keys):
            return label(inner, leaf, holds, rows)
        of, digits = rounding(inner)
        value = dual(of).value
        with np.errstate(all="ignore"):
            value = value if digits is None else np.round(value, digits)
        if is_whole(inner):
            whole_numbers = np.clip(np.nan_to_num(value), -_INT64, np.nextafter(_INT64, 0)).astype(np.int64)
            return pa.array(whole_numbers, mask=~np.isfinite(value))
        return pa.array(value, mask=~np.isfinite(value))

    def holds(condition: exp.Expr) -> NDArray[np.bool_]:
        return keep_rows(condition, leaf).to_numpy(zero_copy_only=False)

    def dual(node: exp.Expr) -> Dual:
        _check_names(node, leaves, keys)
        return evaluate(node, leaves, rows, holds)

    columns: dict[str, Values] = {}
    shapes: dict[str, ErrorShape] = {}
    for item in select.expressions:
        if item.alias in columns:
            raise QueryError(f"two columns of the result are called {item.alias}")
        columns[item.alias] = leaf(item.this)
        if not (isinstance(item.this.unnest(), exp.Column) or is_label(item.this, keys)):
            of, digits = rounding(item.this)
            made = dual(of)
            slack = 0.0 if digits is None else 0.5 * 10.0**-digits
            slopes = _by_level(made.slopes, level_of, len(levels), measures)
            shapes[item.alias] = ErrorShape(slopes, made.linear, made.cap, slack)
    kept = _arrange(select, leaf, rows)
    table = pa.table({name: pc.take(column, kept) for name, column in columns.items()})
    order = kept.to_numpy()
    taken = {
        name: replace(shape, slopes={i: np.broadcast_to(s, rows)[order] for i, s in shape.slopes.items()})
        for name, shape in shapes.items()
    }
    noises = [mechanism for level in levels if level.noise is not None for mechanism in level.noise.mechanisms]
    return Answer(table, taken, tuple(noises))


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


def _check_names(node: exp.Expr, leaves: Mapping[str, Dual], keys: Mapping[str, pa.Array]) -> None:
    for column in node.find_all(exp.Column):
        if column.name in keys and column.name not in leaves and not column.find_ancestor(exp.If):
            raise QueryError(f"{column.name} is not a number, so {node.sql()} cannot be computed")
        if column.name not in keys:
            _ungrouped(column)


def _ungrouped(column: exp.Column) -> Values:
    raise QueryError(
        f"{column.name} is neither in GROUP BY nor inside an aggregate, so it would release rows of people"
    )


def _leaf(aggregate: Aggregate, sums: Sequence[Sequence[int]], groups: Sequence[Group]) -> Dual:
    if aggregate.quantile is None:
        return read(aggregate, sums)
    histogram, place = aggregate.quantile
    values = np.array([group.quantiles[histogram][place] for group in groups], dtype=np.float64)
    return Dual(values, {QUANTILE: np.ones_like(values)}, linear=False)


def _by_level(
    slopes: Mapping[int, Floats], level_of: NDArray[np.int64], levels: int, measures: int
) -> Mapping[int, Floats]:
    """Slopes by each measure as slopes by its noise in each level: a row meets the noises of its own level alone."""
    if levels == 1:
        return slopes
    apart = {QUANTILE: slopes[QUANTILE]} if QUANTILE in slopes else dict[int, Floats]()
    for i, slope in slopes.items():
        if i != QUANTILE:
            for level in range(levels):
                apart[level * measures + i] = np.where(level_of == level, slope, 0.0)
    return apart


def _key_column(name: str, kind: ColumnType, levels: Sequence[Level], groups: Sequence[Sequence[Group]]) -> Values:
    values: list[Key | None] = []
    for level, here in zip(levels, groups, strict=True):
        at = next((i for i, key in enumerate(level.bounded.keys) if key.name == name), None)
        values += [None if at is None else group.key[at] for group in here]
    if kind == "timestamp":
        values = [value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value for value in values]
    return pa.array(values, ARROW[kind])
