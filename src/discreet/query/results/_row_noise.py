"""Error bars of what windows compute from several rows: running totals, and shares of a total.

The noises of different rows are independent. So the error of a value is a sum Σ cᵢ·Zᵢ over the rows that it is read
off, where the cᵢ are known: what a window adds up, and in which order, must not hang on the noise itself.

For a quotient r = A / B of such values, and its value ρ = a / b without the noises Z and W of A and B, A − ρB = Z − ρW.
So r − ρ = (Z − ρW) / B, and with r for ρ its error is a sum of that kind too. With q its half-width and w that of W,
r for ρ costs at most |r − ρ| · w / |B|: the bar is q / (1 − w / |B|), and infinite where B may be zero (Fieller 1954).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.mechanisms import DiscreteLaplace
from discreet.query.budget._noise import NoiseMechanism
from discreet.query.passes._windows import FIRST_ROWS, RANKS, SHIFTS
from discreet.query.results._dual import Floats
from discreet.query.results._evaluate import Rows, rounding
from discreet.query.results._frames import Frames, Integers
from discreet.query.results._intervals import linear_half_width

if TYPE_CHECKING:
    from discreet.query.results._conditions import Values

__all__ = ["Linear", "RowNoise", "linear", "of_window", "row_noise"]

_MOST_TERMS = 1_000_000
"""A column that rests on more noises, all rows together, has no error bar."""
_FEW = 32
"""So many noises are convolved; more are near enough to a normal law for its first correction."""
_DIGITS = 12
_FAR = 1e300


@dataclass(frozen=True, slots=True)
class Linear:
    """A column that is linear in the noises: `weight` by measure `measure` of row `source` in the value of row `row`.

    `value` is the column, with NaN for null. What it was divided by are the `divisors`.
    """

    value: Floats
    row: Integers
    source: Integers
    measure: Integers
    weight: Floats
    divisors: tuple[Linear, ...] = ()

    @property
    def noiseless(self) -> bool:
        """Whether no noise is in it."""
        return not len(self.row)

    def scaled(self, by: Floats, value: Floats) -> Linear:
        """Each row times a number without noise."""
        return replace(self, value=value, weight=self.weight * by[self.row])

    def plus(self, other: Linear, sign: float) -> Linear:
        """The sum with another column, or with its negative."""
        return Linear(
            self.value + sign * other.value,
            np.concatenate([self.row, other.row]),
            np.concatenate([self.source, other.source]),
            np.concatenate([self.measure, other.measure]),
            np.concatenate([self.weight, sign * other.weight]),
            (*self.divisors, *other.divisors),
        )


@dataclass(frozen=True, slots=True)
class RowNoise:
    """The independent noises in each row of a column: `times` of them have the law at `noise`, times `factor`.

    Those of row r stand from ``first[r]`` to before ``first[r + 1]``. `reach` is by how many standard deviations of its
    noise the least divisor of a row is away from zero; infinite where nothing with noise divides.
    """

    first: Integers
    noise: Integers
    factor: Floats
    times: Integers
    reach: Floats

    @property
    def quotient(self) -> bool:
        """Whether anything with noise divides."""
        return bool(np.isfinite(self.reach).any())

    @property
    def exact(self) -> bool:
        """Whether every row has few enough noises for their law to be convolved."""
        if self.quotient:
            return False
        return not len(self.times) or int(np.add.reduceat(np.append(self.times, 0), self.first[:-1]).max()) <= _FEW

    def take(self, rows: Integers) -> RowNoise:
        """Some of the rows, in an order."""
        sizes = self.first[rows + 1] - self.first[rows]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.repeat(self.first[rows] - first[:-1], sizes) + np.arange(first[-1])
        return RowNoise(first, self.noise[at], self.factor[at], self.times[at], self.reach[rows])

    def half_widths(self, noises: Sequence[NoiseMechanism], level: float, rows: int) -> Floats:
        """For each of the first rows the least w with Pr[|Σ cᵢ·Zᵢ| ≤ w] ≥ `level`; approximate for many noises."""
        known: dict[bytes, float] = {}
        half = np.zeros(rows)
        for row in range(rows):
            part = slice(int(self.first[row]), int(self.first[row + 1]))
            noise, factor, times = self.noise[part], self.factor[part], self.times[part]
            key = noise.tobytes() + factor.tobytes() + times.tobytes()
            if key not in known:
                laws = [noises[i] for i in noise.tolist()]
                known[key] = _half_width(laws, factor.tolist(), times.tolist(), level)
            half[row] = known[key]
        left = 1 - _deviations(level) / self.reach[:rows]
        with np.errstate(all="ignore"):
            return np.where(np.isnan(half), np.nan, np.where(left > 0, half / left, np.inf))


def _deviations(level: float) -> float:
    """How many standard deviations noise is within with a probability of `level`: normal or Laplace, what is more."""
    from scipy.special import ndtri

    return max(float(ndtri((1 + level) / 2)), -float(np.log1p(-level)) / 2**0.5)


def _half_width(laws: Sequence[NoiseMechanism], factors: Sequence[float], times: Sequence[int], level: float) -> float:
    if not np.isfinite(factors).all():
        return float("nan")
    if sum(times) <= _FEW:
        repeated = [(law, factor) for law, factor, n in zip(laws, factors, times, strict=True) for _ in range(n)]
        return linear_half_width([factor for _, factor in repeated], [law for law, _ in repeated], level)
    from scipy.special import ndtri

    parts = np.array([(factor * law.std) ** 2 for law, factor in zip(laws, factors, strict=True)])
    excess = np.array([3.0 if isinstance(law, DiscreteLaplace) else 0.0 for law in laws])
    variance = float(parts @ np.array(times))
    if variance == 0:
        return 0.0
    kurtosis = float((excess * parts**2) @ np.array(times)) / variance**2
    z = float(ndtri((1 + level) / 2))
    return variance**0.5 * (z + (z**3 - 3 * z) * kurtosis / 24) + min(factors) / 2


def linear(node: exp.Expr, rows: Rows, windows: Mapping[str, Linear | None]) -> Linear | None:
    """An expression with placeholders for its windows as a linear one; None where it is not linear in the noise."""
    if not any(leaf.name in windows for leaf in node.find_all(exp.Placeholder)):
        return _leaf(node, rows)
    match node:
        case exp.Placeholder():
            return windows[node.name]
        case exp.Paren():
            return linear(node.this, rows, windows)
        case exp.Cast() if node.to.is_type("double"):
            return linear(node.this, rows, windows)
        case exp.Neg():
            inner = linear(node.this, rows, windows)
            return None if inner is None else inner.scaled(np.full(rows.size, -1.0), -inner.value)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            left, right = linear(node.left, rows, windows), linear(node.right, rows, windows)
            return None if left is None or right is None else _combined(node, left, right)
        case _:
            return None


def _combined(node: exp.Expr, left: Linear, right: Linear) -> Linear | None:
    with np.errstate(all="ignore"):
        if isinstance(node, exp.Add | exp.Sub):
            return left.plus(right, 1.0 if isinstance(node, exp.Add) else -1.0)
        if isinstance(node, exp.Mul):
            if not (left.noiseless or right.noiseless):
                return None
            steady, moving = (left, right) if left.noiseless else (right, left)
            return moving.scaled(steady.value, left.value * right.value)
        divisor = np.where(right.value == 0, np.nan, right.value)
        quotient = left.value / divisor
        if right.noiseless:
            return left.scaled(1 / divisor, quotient)
        if left.divisors or right.divisors:
            return None
        error = left.scaled(1 / divisor, quotient).plus(right.scaled(quotient / divisor, quotient), -1.0)
        return replace(error, value=quotient, divisors=(right,))


def _leaf(node: exp.Expr, rows: Rows) -> Linear | None:
    if rounding(node)[1] is not None:
        return None
    dual = rows.dual(node)
    if not dual.linear:
        return None
    every = np.arange(rows.size, dtype=np.int64)
    measures = list(dual.slopes)
    return Linear(
        dual.value,
        np.tile(every, len(measures)),
        np.tile(every, len(measures)),
        np.repeat(np.array(measures, dtype=np.int64), rows.size),
        np.concatenate([np.broadcast_to(dual.slopes[i], rows.size) for i in measures] or [np.zeros(0)]),
    )


def of_window(window: exp.Window, rows: Rows, here: Frames, column: Values) -> Linear | None:
    """A window's numbers as linear ones; None where noise decides which rows it reads, or which of them it takes."""
    doubles = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    without = np.zeros(0, dtype=np.int64)
    steady = Linear(doubles, without, without, without, np.zeros(0))
    if window.find(exp.Placeholder) is None:
        return steady
    clauses = [*(window.args.get("partition_by") or ()), window.args.get("order")]
    function, counted = window.this, np.ones(rows.size, dtype=np.bool_)
    if isinstance(function, exp.Filter):
        clauses.append(function.expression)
        counted = rows.holds(function.expression.this) if function.expression.find(exp.Placeholder) is None else counted
        function = function.this
    if any(clause is not None and clause.find(exp.Placeholder) is not None for clause in clauses):
        return None
    argument = None if isinstance(function, RANKS) else _leaf(function.this, rows)
    if argument is None or isinstance(function, exp.Min | exp.Max | exp.Count):
        return None
    return _applied(argument, *_weights(function, here, counted & ~np.isnan(argument.value)), doubles)


def _weights(function: exp.Expr, here: Frames, counted: NDArray[np.bool_]) -> tuple[Integers, Integers, Floats]:
    """For each row that a window reads for another: the one that is computed, the one that is read, and its weight."""
    if isinstance(function, SHIFTS):
        offset = function.args.get("offset")
        by = (1 if offset is None else int(offset.name)) * (1 if isinstance(function, exp.Lead) else -1)
        at, inside = here.places + by, (here.places + by >= here.start) & (here.places + by < here.end)
        return here.rows[inside], here.rows[at[inside]], np.ones(int(inside.sum()))
    if isinstance(function, FIRST_ROWS):
        number = function.args.get("offset")
        ahead = here.low + (0 if number is None else int(number.name) - 1)
        at = here.high - 1 if isinstance(function, exp.LastValue) else ahead
        inside = (at >= here.low) & (at < here.high)
        return here.rows[inside], here.rows[at[inside]], np.ones(int(inside.sum()))
    sizes = here.high - here.low
    if int(sizes.sum()) > _MOST_TERMS:
        return here.rows, here.rows, np.full(len(here.rows), np.nan)
    starts = np.cumsum(sizes) - sizes
    at = np.repeat(here.low - starts, sizes) + np.arange(int(sizes.sum()))
    into, read = np.repeat(here.places, sizes), here.rows[at]
    weight = counted[read].astype(np.float64)
    if isinstance(function, exp.Avg):
        weight = weight / np.maximum(np.bincount(into, weight, len(here.rows)), 1.0)[into]
    taken = weight != 0
    return here.rows[into[taken]], read[taken], weight[taken]


def _applied(inner: Linear, into: Integers, read: Integers, weight: Floats, value: Floats) -> Linear | None:
    """The linear column that adds up rows of another by their weights."""
    order = np.argsort(inner.row, kind="stable")
    count = np.bincount(inner.row, minlength=len(inner.value))
    sizes = count[read]
    if int(sizes.sum()) > _MOST_TERMS or np.isnan(weight).any():
        return None
    first = np.cumsum(count) - count
    starts = np.cumsum(sizes) - sizes
    at = order[np.repeat(first[read] - starts, sizes) + np.arange(int(sizes.sum()))]
    return Linear(
        value,
        np.repeat(into, sizes),
        inner.source[at],
        inner.measure[at],
        np.repeat(weight, sizes) * inner.weight[at],
    )


def row_noise(column: Linear, level_of: Integers, measures: int, noises: Sequence[NoiseMechanism]) -> RowNoise:
    """The noises of each row: those of one source added up, then those of one law and one factor counted.

    Without `noises`, as before a spend is known, divisors count as far from zero.
    """
    size = len(column.value)
    row, noise, weight = _merged(column, level_of, measures)
    scale = 10.0 ** (_DIGITS - np.floor(np.log10(weight, where=np.isfinite(weight), out=np.zeros_like(weight))))
    weight = np.round(weight * scale) / scale
    order = np.lexsort((weight, noise, row))
    row, noise, weight = row[order], noise[order], weight[order]
    new = np.ones(len(row), dtype=np.bool_)
    new[1:] = (row[1:] != row[:-1]) | (noise[1:] != noise[:-1]) | (weight[1:] != weight[:-1])
    begins = np.flatnonzero(new)
    times = np.diff(np.append(begins, len(row)))
    first = np.searchsorted(row[begins], np.arange(size + 1)).astype(np.int64)
    reach = np.full(size, np.inf)
    for divisor in column.divisors:
        at, law, factor = _merged(divisor, level_of, measures)
        deviation = np.array([each.std for each in noises])[law] if noises else np.zeros(len(law))
        spread = np.sqrt(np.bincount(at, (factor * deviation) ** 2, size))
        with np.errstate(all="ignore"):
            reach = np.minimum(reach, np.where(spread > 0, np.abs(divisor.value) / spread, _FAR))
    return RowNoise(first, noise[begins], weight[begins], times.astype(np.int64), reach)


def _merged(column: Linear, level_of: Integers, measures: int) -> tuple[Integers, Integers, Floats]:
    """For each row and each noise in it, where its law stands and by what factor it counts."""
    size = len(column.value)
    keys, which = np.unique((column.row * size + column.source) * measures + column.measure, return_inverse=True)
    weight = np.abs(np.bincount(which.ravel(), column.weight, len(keys)).astype(np.float64))
    keys, weight = keys[weight != 0], weight[weight != 0]
    row, source = keys // measures // size, keys // measures % size
    return row, level_of[source] * measures + keys % measures, weight
