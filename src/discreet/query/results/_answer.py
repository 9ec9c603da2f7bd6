"""From noisy sums to the columns that a query asked for."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.policy import ColumnType, Key
from discreet.query.budget._noise import Level, NoiseMechanism, keys_of
from discreet.query.measures._aggregates import Aggregate
from discreet.query.measures._bounded import Group
from discreet.query.passes._windows import RANKS
from discreet.query.results._conditions import ARROW, is_label, keep_rows, row_limit, sort_rows
from discreet.query.results._drawn import QUANTILE, read_drawn
from discreet.query.results._dual import Floats
from discreet.query.results._error_propagation import Basis, basis_of, points
from discreet.query.results._evaluate import Rows, leaves_of, rounding
from discreet.query.results._intervals import check_level, linear_half_width, ratio_half_widths
from discreet.query.results._row_noise import RowNoise, linear, row_noise
from discreet.query.results._statistics import exact_integers
from discreet.query.results._windows import is_number, with_windows
from discreet.recursion import with_room

if TYPE_CHECKING:
    from discreet.query.results._conditions import Values

__all__ = ["QUANTILE", "Answer", "ErrorShape", "answer", "is_steady"]

_IN_TAILS = 16
_CHOICES = (exp.Case, exp.Coalesce, exp.Nullif)


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """How one column hangs on the noises, one for each measure of each level: its slope by each, row by row.

    No error exceeds `cap`, where one is known, but for what rounding adds: at most `slack`. A window's column has the
    noises of several rows, which are `rows`; then the slopes say only which measures these are of.
    """

    slopes: Mapping[int, Floats]
    linear: bool
    cap: float | None
    slack: float = 0.0
    rows: RowNoise | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a result, and for each of its noisy columns what its error is made of.

    `basis` is what columns are computed from that are not linear in the noises. `picked` is the share of all rows that
    is shown, where rows were picked by their noisy values; None if they were not.
    """

    table: pa.Table
    shapes: Mapping[str, ErrorShape]
    noises: Sequence[NoiseMechanism] = field(default=())
    basis: Basis | None = field(default=None, compare=False)
    picked: float | None = None

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns with noise that are numbers, in order; others are dates, timestamps and the modes of texts."""
        return tuple(name for name in self.shapes if is_number(self.table.schema.field(name)))

    def shape(self, column: str) -> ErrorShape:
        """The error of a column; raises `ParameterError` for a key or an unknown column."""
        if column in self.shapes:
            return self.shapes[column]
        if column in self.table.column_names:
            raise ParameterError(f"{column} is a key, released without noise; it has no error")
        raise ParameterError(f"the result has no column {column}; it has {', '.join(self.table.column_names)}")

    def error(self, column: str, level: float = 0.95, first: int | None = None) -> Floats:
        """Half-widths aligned with the (first) rows: the noise is within ± the half-width with probability `level`.

        Of rows that were picked by their noisy values, 1 − `level` times the share that was picked takes the place of
        1 − `level`: so of all bars shown no larger a share is wrong on average. Source: Benjamini and Yekutieli 2005,
        Theorem 1.

        Infinite where so much noise leaves nothing known; NaN where the answer hangs on a quantile, and where it is a
        constant that noisy numbers chose.
        """
        shape, level = self.shape(column), check_level(level)
        level = level if self.picked is None else 1 - (1 - level) * self.picked
        rows = self.table.num_rows if first is None else min(first, self.table.num_rows)
        indices = sorted(shape.slopes)
        if rows == 0 or not indices:
            return np.zeros(rows)
        if shape.rows is None and indices[0] == QUANTILE:
            return np.full(rows, np.nan)
        with np.errstate(all="ignore"):
            half = (
                self._half_widths(column, indices, level, rows)
                if shape.rows is None
                else shape.rows.half_widths(self.noises, level, rows)
            )
        half = (half if shape.cap is None else np.fmin(half, shape.cap)) + shape.slack
        missing = np.asarray(pc.is_null(self.table.column(column).slice(0, rows)))
        return np.where(missing, np.nan, half)

    def with_intervals(self, level: float = 0.95) -> pa.Table:
        """The table with ``NAME_low`` and ``NAME_high`` behind each noisy column NAME: the value ± its half-width.

        Both are null where there is no half-width, and infinite where it is. Where either name is taken, in any case of
        its letters, both get the same number: ``NAME_low_2`` and ``NAME_high_2``.
        """
        taken = {name.casefold() for name in self.table.column_names}
        columns: dict[str, Any] = {}
        for name in self.table.column_names:
            columns[name] = self.table.column(name)
            if name in self.shapes:
                ends = _interval_names(name, taken)
                taken |= {end.casefold() for end in ends}
                if name not in self.numbers:
                    columns |= {end: pa.nulls(self.table.num_rows, self.table.column(name).type) for end in ends}
                    continue
                values = np.array(self.table.column(name).to_numpy(), dtype=np.float64)
                half = self.error(name, level)
                for end, limit in zip(ends, (values - half, values + half), strict=True):
                    columns[end] = pa.array(limit, pa.float64(), from_pandas=True)
        return pa.table(columns)

    def _half_widths(self, column: str, indices: Sequence[int], level: float, rows: int) -> Floats:
        """What the noise alone makes of the error, by its law or to first order or at the points of the basis."""
        shape = self.shapes[column]
        noises = [self.noises[i] for i in indices]
        slopes = np.array([shape.slopes[i][:rows] for i in indices])
        if shape.linear:  # the same for every row, unless a key is a factor
            distinct, which = np.unique(slopes, axis=1, return_inverse=True)
            half = np.array([linear_half_width(list(column), noises, level) for column in distinct.T])[which.ravel()]
        elif self.basis is None or column not in self.basis.items:
            half = ratio_half_widths(list(slopes), noises, level)
        else:
            within = min(level, 1 - _IN_TAILS / points(rows))
            half = self.basis.half_widths(column, self.noises, within, rows)
            if within < level:  # few points lie so far out; the tails are those of the first order
                first_order = [ratio_half_widths(list(slopes), noises, each) for each in (level, within)]
                half *= np.nan_to_num(first_order[0] / first_order[1], nan=1.0, posinf=1.0)
            if self.basis.items[column].find(*_CHOICES):
                half = np.where(np.isnan(slopes).any(axis=0), np.nan, half)
        return half


def _interval_names(name: str, taken: AbstractSet[str]) -> tuple[str, str]:
    suffixes = itertools.chain([""], (f"_{i}" for i in itertools.count(2)))
    names = ((f"{name}_low{suffix}", f"{name}_high{suffix}") for suffix in suffixes)
    return next(ends for ends in names if taken.isdisjoint(end.casefold() for end in ends))


@with_room
def answer(
    select: exp.Select,
    levels: Sequence[Level],
    aggregates: Sequence[Aggregate],
    groups: Sequence[Sequence[Group]],
    read: AbstractSet[str] | None = None,
) -> Answer:
    """Read the aggregates off the noisy sums, compute the result's columns, then HAVING, ORDER BY, OFFSET and LIMIT.

    Of the aggregates, those that are `read` do, by their names in the SELECT; by default all.
    `groups` has those of each level; their rows follow one another, with null for a key that their level does not have.
    Raises `QueryError` for an expression that is not one of aggregates and keys; see `evaluate`.
    """
    every = [group for here in groups for group in here]
    measures = len(levels[0].bounded.measures)
    level_of = np.repeat(np.arange(len(levels)), [len(here) for here in groups])
    keys = {key.name: _key_column(key.name, key.type, levels, groups) for key in keys_of(levels)}
    for name in levels[0].groupings:
        keys[name] = pa.array(np.array([level.groupings[name] for level in levels])[level_of], pa.int64())
    sums = [[group.sums[i] for group in every] for i in range(measures)]
    called = {f"a{i}": aggregate for i, aggregate in enumerate(aggregates) if read is None or f"a{i}" in read}
    leaves = leaves_of(called, sums, keys)
    exact = {name: numbers for name, each in called.items() if (numbers := exact_integers(each, sums)) is not None}
    drawn = read_drawn(called, levels[0].bounded.histograms, every)
    rows = Rows(len(every), {**leaves, **drawn.leaves}, keys, {**exact, **drawn.exact}, drawn=drawn.shown)
    columns: dict[str, Values] = {}
    shapes: dict[str, ErrorShape] = {}
    curved: dict[str, exp.Expr] = {}
    noises = [mechanism for level in levels if level.noise is not None for mechanism in level.noise.mechanisms]
    plain, rows, linear_windows = with_windows(select, rows)
    steady = is_steady(select, levels)
    for item, written in zip(plain.expressions, select.expressions, strict=True):
        if item.alias in columns:
            raise QueryError(f"two columns of the result are called {item.alias}")
        columns[item.alias] = rows.column(item.this)
        if written.find(exp.Window) is not None:
            numeric = is_number(columns[item.alias])
            if (written.find(exp.Placeholder) is not None and numeric) or _reads_quantile(written, called):
                shape = _unknown(written, called, len(levels), measures, rows.size)
                unrounded, digits = rounding(item.this)
                column = linear(unrounded, rows, linear_windows) if steady and numeric else None
                if column is not None:
                    noise = row_noise(column, level_of, measures, noises)
                    slack = 0.0 if digits is None else 0.5 * 10.0**-digits
                    shape = replace(shape, rows=noise, linear=noise.exact, slack=slack)
                shapes[item.alias] = shape
        elif not (isinstance(item.this.unnest(), exp.Column) or is_label(item.this, keys)):
            unrounded, digits = rounding(item.this)
            dual = rows.dual(unrounded)
            slack = 0.0 if digits is None else 0.5 * 10.0**-digits
            slopes = _by_level(dual.slopes, level_of, len(levels), measures)
            shapes[item.alias] = ErrorShape(slopes, dual.linear, dual.cap, slack)
            if not dual.linear and not _reads_quantile(unrounded, called):
                curved[item.alias] = unrounded
    indices = _arrange(plain, rows)
    table = pa.table({name: pc.take(column, indices) for name, column in columns.items()})
    order = indices.to_numpy()
    taken = {
        name: replace(
            shape,
            slopes={i: np.broadcast_to(s, rows.size)[order] for i, s in shape.slopes.items()},
            rows=None if shape.rows is None else shape.rows.take(order),
        )
        for name, shape in shapes.items()
    }
    basis = basis_of(curved, called, sums, keys, level_of, order) if curved else None
    picked = _picked(select, len(order), rows.size) if rows.size and _by_noise(select, levels) else None
    return Answer(table, taken, tuple(noises), basis, picked)


def is_steady(select: exp.Select, levels: Sequence[Level]) -> bool:
    """Whether noise decides neither which rows there are nor which are shown: what windows need for error bars."""
    return not _by_noise(select, levels) and all(key.values is not None for key in keys_of(levels))


def _picked(select: exp.Select, shown: int, rows: int) -> float:
    """The share of rows that is shown, or of one row where a window decides how many there are.

    Ranks pick as many rows whatever the noise of one of them is. Other windows do not, and then only bars that hold in
    all rows at once are safe for those that are shown.
    """
    qualify = select.args.get("qualify")
    windows = [] if qualify is None else qualify.find_all(exp.Window)
    return (shown if all(isinstance(window.this, RANKS) for window in windows) else 1) / rows


def _by_noise(select: exp.Select, levels: Sequence[Level]) -> bool:
    """Whether the query picks rows by what noise is part of, where they were not chosen before the noise was drawn."""
    having, qualify, order, limit, offset = map(select.args.get, ("having", "qualify", "order", "limit", "offset"))
    if any(clause is not None and clause.find(exp.Placeholder) for clause in (having, qualify)):
        return True
    if order is None or order.find(exp.Placeholder) is None:
        return False
    chosen = all(level.noise is not None and level.noise.top_keys is not None for level in levels)
    return offset is not None or (limit is not None and not chosen)


def _arrange(select: exp.Select, rows: Rows) -> Values:
    having, qualify, order, limit, offset = map(select.args.get, ("having", "qualify", "order", "limit", "offset"))
    positions = pa.array(range(rows.size), pa.int64())
    if order is not None:
        positions = sort_rows(order.expressions, rows.column, rows.size)
    for clause in (having, qualify):
        if clause is not None:
            keep = keep_rows(clause.this, rows.column)
            positions = positions.filter(pc.take(keep, positions))
    return positions.slice(min(row_limit(offset) or 0, len(positions)), row_limit(limit))


def _unknown(
    written: exp.Expr, aggregates: Mapping[str, Aggregate], levels: int, measures: int, rows: int
) -> ErrorShape:
    """The error of a column that hangs on the noise in a way that is not known."""
    read = [aggregates[leaf.name] for leaf in written.find_all(exp.Placeholder)]
    positions = {i + level * measures for each in read for i in each.measures for level in range(levels)}
    if any(each.quantile is not None for each in read):
        positions.add(QUANTILE)
    return ErrorShape({i: np.full(rows, np.nan) for i in positions}, linear=False, cap=None)


def _reads_quantile(node: exp.Expr, aggregates: Mapping[str, Aggregate]) -> bool:
    return any(aggregates[leaf.name].quantile is not None for leaf in node.find_all(exp.Placeholder))


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
