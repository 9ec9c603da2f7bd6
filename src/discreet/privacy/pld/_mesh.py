"""A composition put on a coarser mesh, as an upper or a lower measure that can be composed again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil, exp, floor, isqrt, log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._compose import Composition, compose
from discreet.privacy.pld._discretize import connected, lower_measure, lowered, upper_measure
from discreet.privacy.pld._pairs import ROUNDING, Cells, Measure
from discreet.privacy.pld._tilting import LOG_OUTSIDE, REACHES, Cumulants, full_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy.pld._pairs import Floats, Pair


PURE = 1e-12  # margin for totals of one and their logarithms: sums of at most 2^17 terms, pairwise


def coarsen_upper(c: Composition, part: tuple[Measure, int], step: float) -> Measure:
    """Spread every atom of an upper composition of `part` over its neighbours on a coarser mesh: section 2."""
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(c.mass + c.error) + (c.log_scale - c.tilt * c.loss)
    size = abs(c.log_scale) + c.tilt * np.abs(c.loss) + 100
    fine = np.exp(np.minimum(logs + c.log_error + c.tilt * c.loss_error + 8 * ROUNDING * size, 700.0))
    fine[0] += _below(part, float(c.loss[0])) if c.below else 0.0
    first = floor(float(c.loss[0]) / step) - 1
    where = np.floor(c.loss / step).astype(np.int64)
    beyond = np.maximum(c.loss - step * where, 0.0) + 2 * c.loss_error + 8 * ROUNDING * np.abs(c.loss)
    share = np.clip(np.expm1(-beyond) / np.expm1(-step) * (1 + 8 * ROUNDING), 0.0, 1.0)
    mass = np.zeros(int(where[-1]) - first + 2)
    np.add.at(mass, where - first, fine * (1 - share))
    np.add.at(mass, where - first + 1, fine * share)
    infinity = c.infinity + c.beyond * exp(min(700.0, c.log_scale - c.tilt * c.top)) * (1 + 1e-9)
    return Measure(4 * ROUNDING * (1 + abs(first) * step), step, first, mass * (1 + PURE), min(1.0, infinity)).trimmed()


def _below(part: tuple[Measure, int], loss: float) -> float:
    """A bound on the mass (not tilted) of the sum below `loss`: e^{K(-u) + u loss} for any u >= 0."""
    cumulants = Cumulants.from_measures([part])
    _, _, variance = cumulants.moments(0.0)
    unit = 1 / max(variance**0.5, part[0].step)
    exponents = [cumulants.total(-reach * unit) + reach * unit * loss for reach in (0.0, *REACHES)]
    return 1.01 * exp(min(0.0, *exponents))


def coarsen_lower(c: Composition, step: float, tilt: float, lost: float = 0.0) -> Measure:
    """Merge a lower composition on a coarser mesh: section 3.

    Tilted mass that was folded into the window, or is `lost` besides, is charged in units of the new tilted total:
    merging never increases it.
    """
    loss = c.loss - c.loss_error
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(c.mass - c.error, 0.0)) + (c.log_scale - c.tilt * c.loss)
    size = abs(c.log_scale) + c.tilt * np.abs(c.loss) + 100
    p = np.exp(np.minimum(logs - c.log_error - c.tilt * c.loss_error - 8 * ROUNDING * size, 0.0))
    where = np.round(loss / step).astype(np.int64)
    where -= where[0]
    p_coarse: Floats = np.bincount(where, p).astype(np.float64)
    q = p * np.exp(-loss) * (1 + 8 * ROUNDING * (1 + np.abs(loss)))
    q_coarse: Floats = np.bincount(where, q).astype(np.float64)
    error = len(p) * ROUNDING
    measure = lowered(Cells(p_coarse, q_coarse, error * p_coarse, error * q_coarse), 0.0, step, tilt, c.infinity)
    total = float(np.sum(measure.mass * np.exp(np.minimum(tilt * measure.losses() - c.log_scale, 700.0))))
    return replace(measure, folded=min(1.0, 1.01 * (c.below + c.beyond + c.folded + lost) / max(total, 1e-300)))


FINE_CELLS = 1 << 17
COARSE_CELLS = 1 << 20


@dataclass(frozen=True)
class Split:
    """`pair` used `count` times, cut at loss `cut` * `step`; the bulk on a mesh of step / 2^`finer`."""

    pair: Pair
    count: int
    step: float
    low: float
    high: float
    cut: int
    finer: int

    @property
    def fine(self) -> float:
        """The mesh of the bulk: an exact division."""
        return self.step / 2**self.finer


def split_at(part: tuple[Pair, int], step: float, span: tuple[float, float], tolerance: float) -> Split | None:
    """Return where to cut so that all copies together lose less than half of `tolerance`, if cutting helps.

    It helps where the loss is typically much smaller than the mesh.
    """
    (pair, count), (low, high) = part, span
    if count < 1000 or pair.lattice is not None or tolerance <= 0:
        return None
    last = ceil(max(high, 0.0) / step)
    if last < 8 or last > COARSE_CELLS:
        return None
    tails = np.cumsum(pair.cells(step * np.arange(1, last + 1)).p[::-1])[::-1][1:]  # P(L > step * k), k = 1, ...
    typical = float(np.sort(np.abs(pair.quantiles(-2.0, 5)))[2])
    if typical > 4 * step:
        return None
    enough = np.flatnonzero(count * tails < tolerance / 4)
    cut = int(enough[0]) + 1 if len(enough) else last
    finer = max(0, ceil(log(8 * step / max(typical, 1e-12)) / log(2)))
    while finer > 0 and (cut * step - low) / step * 2**finer > FINE_CELLS:
        finer -= 1
    return Split(pair, count, step, low, high, cut, finer) if finer > 0 and cut < last else None


def split_upper(split: Split, tilt: float) -> list[tuple[Measure, int]]:
    """The bulk composed and connected on the coarse mesh, and the tail with an atom at zero for the bulk."""
    first = floor(split.low / split.fine) - 1
    mass, below, _, shift = connected(split.pair, 0.0, split.fine, first, split.cut << split.finer)
    mass[0] += below
    beta = float(np.sum(mass)) * (1 + PURE)
    bulk = mass / beta * (1 + 4 * PURE)  # of total at least one
    loss = shift + split.fine * (first + np.arange(len(bulk)))
    excess = max(0.0, log(float(np.sum(bulk * np.exp(-loss))))) + 4 * PURE  # now the mean of e^-L is below the total
    part = (Measure(shift + excess, split.fine, first, bulk, 0.0).trimmed(), split.count)
    composed = coarsen_upper(compose([part], tilt, upper=True), part, split.step)
    mass, _, above, shift = connected(split.pair, 0.0, split.step, split.cut, ceil(split.high / split.step) + 1)
    tail = np.concatenate(([beta], np.zeros(split.cut - 1), mass))
    return [(composed, 1), (Measure(shift, split.step, 0, tail, above), split.count)]


def split_lower(split: Split, tilt: float) -> list[tuple[Measure, int]]:
    """As above, downward: with at most J copies in the tail, at least count - J are in the bulk."""
    partition = split.pair.partition(split.fine, split.low, split.cut * split.step)
    cells = split.pair.cells(partition.edges)
    low = lowered(_between(cells, 0, len(partition.edges)), partition.origin, split.fine, tilt)
    top = float(partition.edges[-1])
    coarse = split.step * (np.arange(ceil(top / split.step), ceil(split.high / split.step) + 1) + 0.5)
    outer = split.pair.cells(np.concatenate(([top], coarse)))
    tail = lowered(_between(outer, 1, len(coarse) + 1), 0.0, split.step, None, split.pair.infinity[0])
    beta = float(np.sum(low.mass)) * (1 - PURE)
    bulk = low.mass / beta * (1 - 4 * PURE)  # of total at most one, and at least 1 - 8 PURE
    excess = max(0.0, log(float(np.sum(bulk * np.exp(-low.losses()))))) + 16 * PURE
    away = float(np.sum(tail.mass * np.exp(tilt * tail.losses())))
    most = _poisson_reach(split.count * away / (beta + away) * 1.001)
    if most >= split.count:
        return [(Measure(low.origin, split.step, 0, np.zeros(1), 0.0), 1)]
    part = (Measure(low.origin, split.fine, low.first, bulk, 0.0), split.count - most)
    c = compose([part], tilt, upper=False)
    composed = coarsen_lower(
        _moved(c, most * excess, 16 * PURE * (most + 1)), split.step, tilt, 1.01 * exp(LOG_OUTSIDE)
    )
    first = min(0, tail.first)
    mass = np.zeros(tail.first + len(tail.mass) - first)
    mass[tail.first - first :] += tail.mass
    mass[-first] += beta
    return [(composed, 1), (Measure(tail.origin, split.step, first, mass, tail.infinity), split.count)]


def _moved(c: Composition, shift: float, lost: float) -> Composition:
    """A lower composition at smaller losses, and a share `lost` smaller. Tilted masses change by the tilt's factor."""
    return replace(c, loss=c.loss - shift, log_scale=c.log_scale - c.tilt * shift + log1p(-lost), top=c.top - shift)


def _between(cells: Cells, start: int, stop: int) -> Cells:
    chosen = slice(start, stop)
    return Cells(cells.p[chosen], cells.q[chosen], cells.p_error[chosen], cells.q_error[chosen])


def _poisson_reach(mean: float) -> int:
    """Return a with P(X > a) <= e^-m (e m / k)^k <= e^LOG_OUTSIDE, k = a + 1 > m, for any binomial X of that mean m."""
    a = ceil(mean)
    while (a + 1) * (1 + log(max(mean, 1e-300) / (a + 1))) - mean > LOG_OUTSIDE:
        a += 1 + a // 50
    return a


LEAST_COUNT = 256
LEAST_WINDOW = 1 << 15  # cells of the window in one stage, below which a second stage costs more than it saves
BLOCK_TAIL = 16.0  # all blocks together may lose e^-16 of delta beyond their windows


@dataclass(frozen=True)
class Stages:
    """The mesh inside the blocks, the mesh of all else, and how many copies of each part a block holds (1: none)."""

    fine: float
    coarse: float
    sizes: tuple[int, ...]


def stages_for(
    parts: Sequence[tuple[Pair, int]], spans: Sequence[tuple[float, float]], width: float, step: float
) -> Stages | None:
    """Return stages that cost as much accuracy as one mesh of `step` would, if they save work.

    `width` is the standard deviation of the sum. Blocks of losses that may be larger have windows as wide as the sum's.
    """
    if any(pair.lattice is not None for pair, _ in parts) or 16 * width < LEAST_WINDOW * step:
        return None
    sizes = tuple(
        _size(count) if high - low < width else 1 for (_, count), (low, high) in zip(parts, spans, strict=True)
    )
    total = sum(count for _, count in parts)
    outside = sum(count // size + count % size for (_, count), size in zip(parts, sizes, strict=True))
    finer = ceil(sqrt(total / outside))
    coarse = step * sqrt(total / (2 * outside))
    return Stages(coarse / finer, coarse, sizes) if finer > 2 else None


def _size(count: int) -> int:
    """About the root of `count`, and about a divisor of it."""
    if count < LEAST_COUNT:
        return 1
    root = isqrt(count)
    return min(range(root - root // 4, root + root // 4 + 1), key=lambda size: count // size + count % size)


@dataclass(frozen=True)
class Staged:
    """`count` copies of a pair in blocks of `size`; only losses from `low` to `high` matter."""

    pair: Pair
    count: int
    size: int
    low: float
    high: float

    @property
    def _blocks(self) -> int:
        return self.count // self.size if self.size > 1 else 0

    @property
    def _alone(self) -> int:
        return self.count - self._blocks * self.size

    def upper(self, stages: Stages, tilt: float, log_delta: float) -> list[tuple[Measure, int]]:
        """Return measures on the coarse mesh that dominate all copies; `log_delta` is that of the delta wanted."""
        measures: list[tuple[Measure, int]] = []
        if self._alone:
            measures.append((upper_measure(self.pair, stages.coarse, self.low, self.high), self._alone))
        if self._blocks:
            inside = upper_measure(self.pair, stages.fine, self.low, self.high), self.size
            # What lies above a block's window becomes infinite, which must stay far below delta.
            tail = min(LOG_OUTSIDE, log_delta - log(self._blocks) - BLOCK_TAIL)
            block = compose([inside], tilt, upper=True, shape=partial(full_window, log_outside=tail))
            measures.append((coarsen_upper(block, inside, stages.coarse), self._blocks))
        return measures

    def lower(self, stages: Stages, tilt: float) -> list[tuple[Measure, int]]:
        """Return measures on the coarse mesh that all copies dominate."""
        measures: list[tuple[Measure, int]] = []
        if self._alone:
            measures.append((lower_measure(self.pair, stages.coarse, self.low, self.high, tilt), self._alone))
        if self._blocks:
            inside = lower_measure(self.pair, stages.fine, self.low, self.high, tilt), self.size
            measures.append((coarsen_lower(compose([inside], tilt, upper=False), stages.coarse, tilt), self._blocks))
        return measures
