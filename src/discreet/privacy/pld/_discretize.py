"""A grid distribution that dominates a pair: connect the dots."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import ROUNDING, Cells, Measure

if TYPE_CHECKING:
    from discreet.privacy.pld._pairs import Floats, Pair


def upper_measure(pair: Pair, step: float, low: float, high: float) -> Measure:
    """Return a measure whose hockey-stick curve lies above that of `pair`, also after any composition.

    The mass (p, q) of a cell g <= L <= g + h becomes b at g + h and a = p - b at g, with the same p and q
    (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, Section 3): b = (p - q e^g) / (1 - e^-h), a spread of the
    likelihood ratio that keeps its mean. Rounding only ever adds mass or moves it up: proofs/accounting.md, section 2.
    What lies below `low` is moved up to it, what lies above `high` to infinity.
    """
    lattice = pair.lattice
    origin = lattice.origin if lattice else 0.0
    first, last = floor((low - origin) / step) - 1, ceil((high - origin) / step) + 1
    mass, below, above, shift = connected(pair, origin, step, first, last)
    mass[0] += below
    return Measure(origin + shift, step, first, mass, min(above, 1.0)).trimmed()


def connected(pair: Pair, origin: float, step: float, first: int, last: int) -> tuple[Floats, float, float, float]:
    """Connect the dots between grid points `first` and `last`.

    Returns the masses at the grid points, the P-masses below and above (with what is infinite), and how far to move the
    grid up.
    """
    grid = origin + step * np.arange(first, last + 1)
    cells = pair.cells(grid)
    p, q = cells.p[1:-1], cells.q[1:-1]
    edge_error = cells.edge_error + 4 * ROUNDING * (abs(origin) + float(np.max(np.abs(grid))))
    most = (p + cells.p_error[1:-1]) * (1 + 4 * ROUNDING)
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = q * np.exp(grid[:-1])
        slack = (
            cells.p_error[1:-1]
            + weighted * (edge_error * 4 + ROUNDING * (8 + 2 * np.abs(grid[:-1])))
            + cells.q_error[1:-1] * np.exp(grid[:-1])
            + 4 * ROUNDING * p
        )
        up = (p - weighted + slack) / -np.expm1(-step) * (1 + 8 * ROUNDING)
    up = np.clip(np.where(np.isfinite(up), up, most), 0.0, most)
    mass = np.zeros(len(grid))
    mass[1:] += up
    mass[:-1] += most - up
    mass *= 1 + 8 * ROUNDING
    below = float(cells.p[0] + cells.p_error[0]) * (1 + 8 * ROUNDING)
    above = float(cells.p[-1] + cells.p_error[-1] + pair.infinity[1]) * (1 + 8 * ROUNDING)
    return mass, below, above, 2 * edge_error


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
    remaining = np.ones(len(p))
    below, above = from_below, from_above
    for _ in range(ROUNDS):
        below = np.minimum(remaining * from_below, SHARE)
        above = np.minimum(remaining * from_above, SHARE)
        before, remaining = remaining, np.ones(len(p))
        remaining[:-1] -= below[1:]
        remaining[1:] -= above[:-1]
        if np.max(np.abs(remaining - before)) < 1e-15:
            break

    def spread(mass: Floats) -> Floats:
        out = remaining * mass
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
    positive = (p > 0) & (q > 0) & np.isfinite(q)
    p, q = p[positive], q[positive]
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
