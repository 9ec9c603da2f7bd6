"""A grid distribution that a pair dominates: cells merged and mixed, then rounded down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._measure import Measure
from discreet.privacy._pld._pair import ROUNDING, Cells

if TYPE_CHECKING:
    from discreet.privacy._pld._pair import Floats, Pair

SHARE = 0.45  # the most of a cell that each neighbour may take
ROUNDS = 12
LONGEST = 1 << 21  # grid points of a measure
AIM = 1e-4  # of a step


def _mixed(cells: Cells, origin: float, step: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Send part of each cell to a neighbour, so that merged losses come to lie on the grid: post-processing.

    Cell i has loss l_i near the grid point c_i. If l_i > c_i it takes a share y_i of cell i - 1, whose loss is lower,
    such that (P_i k_i + y_i P_{i-1}) / (Q_i k_i + y_i Q_{i-1}) = e^{c_i}, where k_i is what cell i itself keeps; if
    l_i < c_i, it takes from cell i + 1. The shares depend on one another through k, and are found by iteration. They
    need not be exact: whatever they are, the masses below are those of a true post-processing.
    """
    p, q = cells.p, cells.q
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        loss = np.log(p) - np.log(q)
        target = origin + step * np.round((loss - origin) / step)
        excess = p * -np.expm1(target - loss)  # P - Q e^c: what must be balanced
        down = p[:-1] * np.expm1(target[1:] - loss[:-1])  # what cell i - 1 brings for each unit share
        up = p[1:] * -np.expm1(target[:-1] - loss[1:])
        from_below = np.concatenate(([0.0], np.where((excess[1:] > 0) & (down > 0), excess[1:] / down, 0.0)))
        from_above = np.concatenate((np.where((excess[:-1] < 0) & (up > 0), -excess[:-1] / up, 0.0), [0.0]))
    from_below, from_above = (np.where(np.isfinite(each), each, 0.0) for each in (from_below, from_above))
    kept = np.ones(len(p))
    below, above = from_below, from_above
    for _ in range(ROUNDS):
        below = np.minimum(kept * from_below, SHARE)
        above = np.minimum(kept * from_above, SHARE)
        before, kept = kept, np.ones(len(p))
        kept[:-1] -= below[1:]
        kept[1:] -= above[:-1]
        if np.max(np.abs(kept - before)) < 1e-15:
            break

    def spread(mass: Floats) -> Floats:
        out = kept * mass
        out[1:] += below[1:] * mass[:-1]
        out[:-1] += above[:-1] * mass[1:]
        return out

    return spread(p), spread(q), spread(cells.p_error), spread(cells.q_error)


def lower_measure(pair: Pair, step: float, low: float, high: float, tilt: float) -> Measure:
    """Return a measure whose hockey-stick curve lies below that of `pair`, also after any composition.

    Every mass sits at a grid point at or below its certified loss; the grid is moved down by the amount that wastes
    least under the tilt e^{tilt * loss}. Cells without P- or Q-mass are dropped. proofs/accounting.md, section 3.
    """
    partition = pair.partition(step, low, high)
    cells = pair.cells(partition.edges)
    return lowered(cells, partition.origin, step, tilt, pair.infinity[0])


def lowered(cells: Cells, origin: float, step: float, tilt: float | None, infinity: float = 0.0) -> Measure:
    """Mix the cells, take their masses and losses at their certified worst, and round down to the grid.

    Without a tilt the grid stays where it is, and losses are aimed a little above it.
    """
    aim = origin if tilt is not None else origin + AIM * step
    p, q, p_error, q_error = _mixed(cells, aim, step)
    p = (p - p_error) * (1 - 16 * ROUNDING)
    q = (q + q_error) * (1 + 16 * ROUNDING)
    kept = (p > 0) & (q > 0) & np.isfinite(q)
    p, q = p[kept], q[kept]
    if len(p) == 0:
        return Measure(origin, step, 0, np.zeros(1), infinity)
    ratio = np.log(p) - np.log(q)
    ratio -= 8 * ROUNDING * (1 + np.abs(np.log(p)) + np.abs(np.log(q)))
    nearest = np.round((ratio - origin) / step)
    near = nearest > np.max(nearest) - LONGEST  # a loss that far below brings nothing
    p, ratio, nearest = p[near], ratio[near], nearest[near]
    excess = ratio - (origin + step * nearest)
    excess -= 4 * ROUNDING * (abs(origin) + np.abs(ratio) + step)
    shift = 0.0
    if tilt is not None:
        weight = np.log(p) + tilt * ratio
        weight = np.exp(weight - np.max(weight))
        shift = _least_waste(excess, weight / np.sum(weight), step)
    where = nearest + np.floor((excess + shift) / step)
    first = int(where.min())
    mass = np.bincount((where - first).astype(np.int64), p) * (1 - len(p) * ROUNDING)
    return Measure(origin - shift, step, first, mass, infinity)


def _least_waste(excess: Floats, weight: Floats, step: float) -> float:
    """The shift tau of least tau + step * (weight with excess < -tau)."""
    candidates = np.concatenate(([0.0], step * np.exp2(np.arange(-100, 1) / 2)))
    order = np.argsort(-excess)
    missed = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    cost = candidates + step * missed[np.searchsorted(-excess[order], candidates, side="right")]
    return float(candidates[int(np.argmin(cost))])
