"""A grid distribution that dominates a pair: connect the dots."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._measure import Measure
from discreet.privacy._pld._pair import ROUNDING

if TYPE_CHECKING:
    from discreet.privacy._pld._pair import Floats, Pair


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
