"""Cells of all columns where nothing measures all of them together: as the measured tables have it, none below 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.census.estimates import Columns, Estimate, Layout

__all__ = ["Fitting"]

Numbers = NDArray[np.float64]
_TURNS, _CLOSE = 50, 0.05
_FAR = 1 / 20
"""Of the variance of a sum of cells of all columns, below which another table knows it far better."""


@dataclass(frozen=True, eq=False)
class Fitting:
    """Fits cells of all columns to the sums that are measured of them, where those are not measured as well themselves.

    The least estimate spreads what nothing measures over all cells alike. Where many people are in few cells it has
    cells far below 0, and to lift these to 0 would move the measured tables by far more than their noise. So the cells
    are taken that have these tables, and beside them what the area above has: those nearest to its cells in relative
    entropy, by iterative proportional fitting (Deming and Stephan 1940; Csiszár 1975).

    Attributes
    ----------
    estimate
        What is measured.
    """

    estimate: Estimate

    @property
    def _layout(self) -> Layout:
        return self.estimate.layout

    def cells(self, level: int, estimates: Numbers, above: Numbers) -> Numbers:
        """The cells of some areas of a level: the estimates, if these are about as good as those of any sums of them.

        Where they are much worse, only areas that have more people in a cell than its standard error keep their own
        cells to begin with; others begin with those of the area above.

        Parameters
        ----------
        estimates
            Areas by cells, with the totals of the areas as sums.
        above
            For each of these areas the cells of the area that it lies in; those that are 0 there stay 0.
        """
        detail, sizes = self._layout.detail, self._layout.sizes
        tables = self._tables(level)
        if detail not in tables:
            return fitted(estimates, above, sizes, tables)
        within = self._tables(level, but=detail)
        error = self._far_better(level, within)
        if error is None:
            return estimates
        is_nobody = ~(above > 0).any(axis=1, keepdims=True)
        own = nearest(np.where((above > 0) | is_nobody, estimates, -np.inf), estimates.sum(axis=1))
        is_seen = estimates.sum(axis=1) > error * (above > 0).sum(axis=1)
        return fitted(estimates, np.where(is_seen[:, None], own, above), sizes, within)

    def _far_better(self, level: int, tables: Sequence[Columns]) -> float | None:
        """The standard error of a cell of all columns, if sums of them are known far better than these alone tell."""
        errors, layout = self.estimate.errors, self._layout
        detail = float(errors.cell_variance(level, layout.detail).max())
        known = [float(errors.cell_variance(level, each).max()) for each in tables if each]
        sums = [detail * layout.components.scale(layout.detail, each) for each in tables if each]
        is_better = any(one < _FAR * other for one, other in zip(known, sums, strict=True))
        return detail**0.5 if is_better else None

    def _tables(self, level: int, but: Columns | None = None) -> list[Columns]:
        """The tables that are measured at a level or below, and lie in no other such table."""
        errors = self.estimate.errors
        every = [each for each in dict.fromkeys(self._layout.tables.values()) if each != but]
        there = [each for each in every if errors.is_published(level, each)]
        return [each for each in there if not any(set(each) < set(other) for other in there)]


def nearest(cells: Numbers, totals: Numbers) -> Numbers:
    """The cells from 0 nearest to those of each area that sum to its total."""
    falling = -np.sort(-cells, axis=1)
    many = np.arange(1, cells.shape[1] + 1)
    shifts = (np.cumsum(falling, axis=1) - np.maximum(totals, 0)[:, None]) / many
    last = np.maximum((falling > shifts).sum(axis=1) - 1, 0)
    return np.maximum(cells - shifts[np.arange(len(cells)), last][:, None], 0.0)


def fitted(estimates: Numbers, start: Numbers, sizes: tuple[int, ...], tables: Sequence[Columns]) -> Numbers:
    """The cells nearest to `start` whose sums over tables are those of the estimates, as far as these are not below 0.

    >>> estimate = np.array([[5.0, 1.0, 1.0, -1.0]])  # sums of 6, 0 and of 6, 0
    >>> fitted(estimate, np.ones((1, 4)), (2, 2), [(0,), (1,)]).round(2)
    array([[6., 0., 0., 0.]])
    """
    areas = len(estimates)
    totals = np.maximum(estimates.sum(axis=1), 0.0)
    cells = start.astype(np.float64).reshape(areas, *sizes)
    wanted: list[tuple[tuple[int, ...], Numbers]] = []
    for table in tables:
        axes = tuple(1 + column for column in range(len(sizes)) if column not in table)
        sums = np.maximum(estimates.reshape(areas, *sizes).sum(axis=axes, keepdims=True), 0.0)
        all_of_them = sums.reshape(areas, -1).sum(axis=1)
        scale = np.divide(totals, all_of_them, out=np.zeros(areas), where=all_of_them > 0)
        wanted.append((axes, sums * scale.reshape(areas, *[1] * len(sizes))))
    for _ in range(_TURNS):
        off = 0.0
        for axes, sums in wanted:
            now = cells.sum(axis=axes, keepdims=True)
            off = max(off, float(np.abs(now - sums)[now > 0].max(initial=0.0)))
            cells *= np.divide(sums, now, out=np.ones_like(now), where=now > 0)
        if off < _CLOSE:
            break
    flat = cells.reshape(areas, -1)
    now = flat.sum(axis=1)
    return flat * np.divide(totals, now, out=np.zeros(areas), where=now > 0)[:, None]
