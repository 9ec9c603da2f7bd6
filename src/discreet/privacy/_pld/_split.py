"""Two meshes for one pair used many times: a fine one for the bulk of small losses, a coarse one for the rare tail.

With a small sampling rate q nearly all outcomes have losses of size q, far below the mesh that the sum needs, and
connecting dots h apart would add a variance of about q h to every copy. So the measure is cut at a loss c,
mu = beta B + tail with B of total one, and the bulk is composed by itself on a fine mesh, once, before it is put on
the coarse one. proofs/accounting.md, section 9.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, exp, floor, log, log1p
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._again import PURE, connected_again, merged_again
from discreet.privacy._pld._compose import Composition, compose
from discreet.privacy._pld._lower import lowered
from discreet.privacy._pld._measure import Measure
from discreet.privacy._pld._pair import Cells
from discreet.privacy._pld._upper import connected
from discreet.privacy._pld._window import LOG_OUTSIDE

if TYPE_CHECKING:
    from discreet.privacy._pld._pair import Pair

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
    composed = connected_again(compose([part], tilt, upper=True), part, split.step)
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
    composed = merged_again(_moved(c, most * excess, 16 * PURE * (most + 1)), split.step, tilt, 1.01 * exp(LOG_OUTSIDE))
    first = min(0, tail.first)
    mass = np.zeros(tail.first + len(tail.mass) - first)
    mass[tail.first - first :] += tail.mass
    mass[-first] += beta
    return [(composed, 1), (Measure(tail.origin, split.step, first, mass, tail.infinity), split.count)]


def _moved(c: Composition, shift: float, lost: float) -> Composition:
    """A lower composition at smaller losses, and a share `lost` smaller. Tilted masses change by the tilt's factor."""
    return replace(c, loss=c.loss - shift, log_scale=c.log_scale - c.tilt * shift + log1p(-lost), top=c.top - shift)


def _between(cells: Cells, start: int, stop: int) -> Cells:
    kept = slice(start, stop)
    return Cells(cells.p[kept], cells.q[kept], cells.p_error[kept], cells.q_error[kept])


def _poisson_reach(mean: float) -> int:
    """Return a with P(X > a) <= e^-m (e m / k)^k <= e^LOG_OUTSIDE, k = a + 1 > m, for any binomial X of that mean m."""
    a = ceil(mean)
    while (a + 1) * (1 + log(max(mean, 1e-300) / (a + 1))) - mean > LOG_OUTSIDE:
        a += 1 + a // 50
    return a
