"""Error bars for nonlinear columns, by quasi-random re-evaluation.

Noisy sums are s = t + Z for the truth t and noise Z of a public distribution. So the error of an answer f(s) is
f(s) − f(s − Z). Its distribution is approximated at fixed points that are spread like Z: that costs nothing and draws
nothing at random. Linear columns are exact; nonlinear ones are approximate, since s is not t.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.query.budget._noise import NoiseMechanism
from discreet.query.measures._aggregates import Aggregate
from discreet.query.results._dual import Dual, Floats
from discreet.query.results._evaluate import Holds, Rows, evaluate, leaves_of
from discreet.query.results._intervals import inverse
from discreet.query.results._statistics import read

if TYPE_CHECKING:
    from discreet.query.results._conditions import Values

__all__ = ["Basis", "basis_of", "points"]

_NODES = 1 << 10
_FEWEST = 1 << 7
_AT_ONCE = 1 << 20
_MOST = 1 << 24
_ROUNDING = 1e-9
_CUT_OFF = 4
"""At a limit an answer has at least a quarter of the half-width that it would have without the limit: a rule of thumb.

With less, bars at a limit hold less often than others; with more they are wider than they need be. It was measured."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What the columns of a result that bend are computed from, row by row.

    `items` are those columns, over `aggregates` that are read off `sums`, by measure. `level` is the grouping set that
    a row is of: it met the noises from `level` · `measures` on.
    """

    items: Mapping[str, exp.Expr]
    aggregates: Mapping[str, Aggregate]
    sums: Mapping[int, Floats]
    keys: Mapping[str, Values]
    level: NDArray[np.int64]
    measures: int

    def half_widths(self, column: str, noises: Sequence[NoiseMechanism], level: float, rows: int) -> Floats:
        """For each of the first rows the least w that f(s) − f(s − Z) exceeds to neither side more often than it may.

        That is with a probability of (1 − `level`) / 2. Infinite where f has no value that often. A condition of CASE
        is taken as it was in the row.
        """
        item = self.items[column]
        half = np.zeros(rows)
        nodes = points(rows)
        used = {leaf.name: self.aggregates[leaf.name] for leaf in item.find_all(exp.Placeholder)}
        read_off = sorted({i for aggregate in used.values() for i in aggregate.measures})
        for which in np.unique(self.level[:rows]):
            spread = _points([noises[which * self.measures + i] for i in read_off], nodes)
            every = np.flatnonzero(self.level[:rows] == which)
            for part in np.array_split(every, -(-len(every) * nodes // _AT_ONCE)):
                half[part] = self._half_widths(item, used, part, dict(zip(read_off, spread, strict=True)), level)
        return half

    def _half_widths(
        self,
        item: exp.Expr,
        used: Mapping[str, Aggregate],
        part: NDArray[np.int64],
        points: Mapping[int, Floats],
        level: float,
    ) -> Floats:
        keys = {name: pc.take(column, pa.array(part, pa.int64())) for name, column in self.keys.items()}
        known = {i: self.sums[i][part] for i in points}
        half = _half_widths_at(item, used, keys, known, points, level, clamped=True)
        at_limit = _at_limit(used, known)
        if at_limit.any():
            here = pa.array(at_limit)
            few = {name: column.filter(here) for name, column in keys.items()}
            sums = {i: column[at_limit] for i, column in known.items()}
            beyond = _half_widths_at(_with_signed_roots(item), used, few, sums, points, level, clamped=False)
            known = np.isfinite(beyond)  # an expression may have no value there, as SQRT(10 - AVG(x))
            half[at_limit] = np.fmax(half[at_limit], np.where(known, beyond / _CUT_OFF, 0.0))
        return half


def _at_limit(used: Mapping[str, Aggregate], sums: Mapping[int, Floats]) -> NDArray[np.bool_]:
    """In which rows an aggregate lies beyond what its bounds allow, and is clamped.

    There the answer hardly moves with the noise, and says less about itself than what it would be without the clamp.
    """
    pairs = [(read(each, sums).value, read(each, sums, clamped=False).value) for each in used.values()]
    return np.any([(clamped != free) & ~np.isnan(free) for clamped, free in pairs], axis=0)


def _with_signed_roots(item: exp.Expr) -> exp.Expr:
    """An expression with −√−x for the root of an x below 0, as `read` has it for a deviation that is not clamped.

    >>> _with_signed_roots(exp.maybe_parse("SQRT(x) + 1")).sql()
    '(SQRT(GREATEST(x, 0)) - SQRT(GREATEST(-(x), 0))) + 1'
    """

    def root(inner: exp.Expr) -> exp.Expr:
        return exp.Sqrt(this=exp.Greatest(this=inner.copy(), expressions=[exp.Literal.number(0)]))

    def swap(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Sqrt):
            return node
        inner = node.this.transform(swap)
        return exp.Paren(this=exp.Sub(this=root(inner), expression=root(exp.Neg(this=exp.paren(inner.copy())))))

    return item.transform(swap)


def _half_widths_at(  # noqa: PLR0913, PLR0917
    item: exp.Expr,
    used: Mapping[str, Aggregate],
    keys: Mapping[str, Values],
    known: Mapping[int, Floats],
    points: Mapping[int, Floats],
    level: float,
    *,
    clamped: bool,
) -> Floats:
    """The half-widths of rows with the `known` sums, at points of the noise; for `clamped` see `read`."""
    nodes = len(next(iter(points.values())))
    rows = Rows(len(next(iter(known.values()))), _values(used, known, keys, clamped=True), keys)
    free = rows.leaves if clamped else _values(used, known, keys, clamped=False)
    released = evaluate(item, free, rows.size, rows.holds).value
    again = pa.array(np.repeat(np.arange(rows.size), nodes), pa.int64())
    many = {name: pc.take(column, again) for name, column in keys.items()}
    moved = {i: (known[i][:, None] - point).ravel() for i, point in points.items()}
    holds: Holds = lambda condition: np.repeat(rows.holds(condition), nodes)  # noqa: E731
    values = evaluate(item, _values(used, moved, many, clamped=clamped), len(again), holds).value
    off = values.reshape(-1, nodes) - released[:, None]
    place = int(np.ceil((1 + level) / 2 * nodes)) - 1
    both = [np.partition(np.where(np.isnan(off), np.inf, side * off), place, axis=1)[:, place] for side in (1, -1)]
    half = np.abs(both).max(axis=0)
    return half + _ROUNDING * (half + np.abs(released))


def points(rows: int) -> int:
    """At how many points a column of so many rows is computed again: 1,024, fewer above 16,384 rows, 128 at least."""
    return min(max(_MOST // max(rows, 1), _FEWEST), _NODES)


def basis_of(  # noqa: PLR0913, PLR0917
    items: Mapping[str, exp.Expr],
    aggregates: Mapping[str, Aggregate],
    sums: Sequence[Sequence[int]],
    keys: Mapping[str, Values],
    level: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> Basis:
    """The basis of some columns of a result, of whose groups it shows `rows`, in that order."""
    named = {leaf.name for item in items.values() for leaf in item.find_all(exp.Placeholder)}
    read = {name: aggregates[name] for name in sorted(named)}
    columns = {leaf.name for item in items.values() for leaf in item.find_all(exp.Column)}
    return Basis(
        items,
        read,
        {i: np.array(sums[i], dtype=np.float64)[rows] for each in read.values() for i in each.measures},
        {name: pc.take(keys[name], pa.array(rows, pa.int64())) for name in sorted(columns)},
        level[rows],
        len(sums),
    )


def _values(
    aggregates: Mapping[str, Aggregate], sums: Mapping[int, Floats], keys: Mapping[str, Values], *, clamped: bool
) -> dict[str, Dual]:
    leaves = leaves_of(aggregates, sums, keys, clamped=clamped)
    return {name: Dual(leaf.value, {}) for name, leaf in leaves.items()}


def _points(noises: Sequence[NoiseMechanism], nodes: int) -> list[Floats]:
    """Points spread evenly by the law of independent noises, a coordinate for each, and with each point its opposite.

    Their shares of the law are multiples of the powers of a generalised golden ratio, modulo 1: a Kronecker sequence.
    Source: Niederreiter, Random Number Generation and Quasi-Monte Carlo Methods, 1992, chapter 3.
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (len(noises) + 1))
    steps = np.arange(nodes // 2) + 0.5
    points: list[Floats] = []
    for i, noise in enumerate(noises):
        share: Floats = np.mod(0.5 + steps * ratio ** -(i + 1), 1.0)
        upper = inverse(share, noise)
        points.append(np.concatenate([upper, -upper]))
    return points
