"""Merge cells that hold few rows, by noisy counts alone: what a joint distribution is estimated over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.marginals._cells import ColumnCells
from discreet.marginals._junction_tree import Numbers

__all__ = ["Merge", "merge", "on_simplex"]

_SPREADS = 3.0
"""A cell stands alone where its noisy count is this many standard deviations of its noise."""
_COARSE = 0.75
"""Neighbouring cells of numbers are merged until they hold this many times the geometric mean of the noise and the
rows: so a joint marginal of two such columns loses about as much by coarser cells as by its noise."""


@dataclass(frozen=True, eq=False)
class Merge:
    """For each public cell of a column the cell it is merged into, and its share of the rows there."""

    into: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def size(self) -> int:
        """How many cells are left."""
        return max(self.into) + 1

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """`into` as an array."""
        return np.array(self.into, np.int64)

    def summed(self, counts: Numbers) -> Numbers:
        """Counts of public cells as counts of merged ones."""
        return np.bincount(self.places, weights=counts, minlength=self.size).astype(np.float64)

    def spread(self, merged: NDArray[np.int64], places: Numbers) -> tuple[NDArray[np.int64], Numbers]:
        """A public cell for each merged one, by a place from 0 to 1 among their shares, and where in it that is."""
        order = np.argsort(self.places, kind="stable")
        shares = np.array(self.shares)[order]
        ends = np.cumsum(shares)
        below = (ends - shares)[np.searchsorted(self.places[order], merged, side="left")]
        target = below + places
        cell = np.minimum(np.searchsorted(ends, target, side="right"), len(ends) - 1)
        cell = np.where(
            self.places[order][cell] == merged, cell, np.searchsorted(self.places[order], merged, "right") - 1
        )
        within = (target - (ends - shares)[cell]) / np.maximum(shares[cell], 1e-300)
        return order[cell], np.clip(within, 0.0, 1 - 2**-53)


def on_simplex(counts: Numbers, total: float) -> Numbers:
    """The nearest counts that are not negative and add up to a total.

    Source: Duchi, Shalev-Shwartz, Singer and Chandra 2008, Figure 1.

    >>> on_simplex(np.array([5.0, -1.0, 2.0]), 6.0).tolist()
    [4.5, 0.0, 1.5]
    """
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.maximum(counts - excess[last], 0)


def merge(
    cells: ColumnCells, counts: Numbers, spread: float, total: float, apart: NDArray[np.int64] | None = None
) -> Merge:
    """How the cells of a column are merged, by their noisy counts, whose noise has the standard deviation `spread`.

    Null stays alone, and so does a spike of numbers. Numbers are merged with their neighbours, other values that are
    rare with one another; but none with a cell that has another number in `apart`.
    """
    valued = counts[: cells.valued]
    into = _neighbours(cells, valued, spread, total) if cells.is_ordered else _rare(valued, spread)
    if cells.nullable:
        into = [*into, max(into) + 1]
    places = np.array(into)
    if apart is not None:
        places = np.unique(np.stack([places, apart]), axis=1, return_inverse=True)[1].astype(np.int64).ravel()
    shares = np.zeros(len(into))
    for cell in range(int(places.max()) + 1):
        inside = np.flatnonzero(places == cell)
        held = float(counts[inside].sum())
        shares[inside] = on_simplex(counts[inside], held) / held if held > 0 else 1 / len(inside)
    return Merge(tuple(places.tolist()), tuple(shares.tolist()))


def _rare(counts: Numbers, spread: float) -> list[int]:
    alone = counts >= _SPREADS * spread
    if (~alone).sum() <= 1:
        return list(range(len(counts)))
    into = np.full(len(counts), int(alone.sum()))
    into[alone] = np.arange(int(alone.sum()))
    return into.tolist()


def _neighbours(cells: ColumnCells, counts: Numbers, spread: float, total: float) -> list[int]:
    spikes = set(cells.spikes)
    outside = max(total - float(counts[list(spikes)].sum()), 0.0)
    enough = max(_SPREADS * spread, _COARSE * math.sqrt(spread * outside))
    into: list[int] = []
    cell, held, open_cell = 0, 0.0, False
    for i, count in enumerate(counts.tolist()):
        if i in spikes:
            cell += open_cell
            into.append(cell)
            cell, held, open_cell = cell + 1, 0.0, False
            continue
        into.append(cell)
        held, open_cell = held + max(count, 0.0), True
        if held >= enough:
            cell, held, open_cell = cell + 1, 0.0, False
    if open_cell and held < enough / 2 and cell > 0 and cell - 1 not in {into[i] for i in spikes}:
        into = [min(each, cell - 1) for each in into]
    return into
