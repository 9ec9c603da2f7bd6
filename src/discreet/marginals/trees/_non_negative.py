"""The non-negative table nearest to an estimate with given sums, for the children of many areas at once.

With row sums and column sums given, the nearest non-negative table to v is max(v − a − b, 0), with one number a for
each row and one number b for each column of each parent: the multipliers of the sums. They are found by turns, each by
a step of Newton's method on sums that are piecewise linear in it. Most cells of small areas are 0 in the end, and soon
seen to be: only those that may be positive are looked at again, and where that was too soon all of them are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.trees._tree import Tree

__all__ = ["SparseCells", "cells_near", "children_near", "totals_near"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_FIRST, _TURNS, _MORE = 6, 12, 400
_PRUNED, _MARGIN = (2, 5), 2.0
"""After which turns cells that lie so far below 0 are left out."""
_CLOSE, _EXACT = 1e-2, 1e-7
_STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class SparseCells:
    """The positive cells of a table of areas by cells: which, and what they hold."""

    rows: Places
    columns: Places
    values: Numbers


def totals_near(tree: Tree, level: int, totals: Numbers, above: Places) -> Numbers:
    """The non-negative totals of the areas of a level nearest to an estimate that sum to those of the areas above."""
    wanted = above.astype(np.float64)
    shift = np.maximum.reduceat(totals, tree.starts[level - 1]) - wanted  # from here Newton's steps go up, and end
    for _ in range(_STEPS):
        near = np.maximum(totals - tree.down(level, shift), 0.0)
        missed = tree.up(level - 1, near) - wanted
        if np.abs(missed).max() <= _EXACT:
            break
        shift += missed / np.maximum(tree.up(level - 1, (near > 0).astype(np.float64)), 1.0)
    return np.maximum(totals - tree.down(level, shift), 0.0)


def cells_near(cells: Numbers, total: int) -> Numbers:
    """The non-negative cells nearest to an estimate that sum to a total.

    >>> cells_near(np.array([3.0, 1.0, -2.0]), 6)
    array([4., 2., 0.])
    """
    tree = Tree((np.zeros(len(cells), np.int64),))
    return totals_near(tree, 1, cells, np.array([total]))


def children_near(tree: Tree, level: int, cells: Numbers, above: Places, totals: Places) -> SparseCells:
    """The non-negative cells of the areas of a level nearest to an estimate, with the cells above and totals as sums.

    `above` has the parents' cells, and `totals` a total for each area: whole numbers of which both sum to the parents'
    totals. Only cells that their parent has may be positive.
    """
    parents = tree.parents[level - 1]
    rows, columns = np.nonzero((above > 0)[parents])
    table = _Table(rows, columns, cells[rows, columns], parents, above.astype(np.float64), totals.astype(np.float64))
    start = (np.maximum.reduceat(cells, tree.starts[level - 1], axis=0) - above.astype(np.float64)).ravel()
    table.columns_alone(start)
    table.turns(_TURNS, prune=True)
    late = np.unique(parents[np.abs(table.missed_rows()) > _CLOSE])
    if not len(late):
        table.finish_columns()
        return table.positive()
    is_late = np.zeros(len(above), bool)
    is_late[late] = True
    table.keep(~is_late[parents[table.rows]])
    again = is_late[parents[rows]]
    rest = _Table(
        rows[again], columns[again], cells[rows[again], columns[again]], parents, table.above, table.totals,
        is_late[parents], is_late,
    )  # fmt: skip
    rest.columns_alone(start)
    rest.turns(_MORE, prune=False)
    parts: list[SparseCells] = []
    for each in (table, rest):
        each.finish_columns()
        parts.append(each.positive())
    first, second = parts
    return SparseCells(
        np.concatenate([first.rows, second.rows]),
        np.concatenate([first.columns, second.columns]),
        np.concatenate([first.values, second.values]),
    )


class _Table:
    """Cells that may be positive, and the multipliers of their sums."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        rows: Places,
        columns: Places,
        values: Numbers,
        parents: Places,
        above: Numbers,
        totals: Numbers,
        in_rows: NDArray[np.bool_] | None = None,
        in_parents: NDArray[np.bool_] | None = None,
    ) -> None:
        self.rows, self.columns, self._values = rows, columns, values
        self.above, self.totals = above, totals
        self._keys = parents[rows] * above.shape[1] + columns
        self._by_key = above.ravel() if in_parents is None else np.where(in_parents[:, None], above, 0.0).ravel()
        self._by_row = totals if in_rows is None else np.where(in_rows, totals, 0.0)
        self._a, self._b = np.zeros(len(totals)), np.zeros(above.size)

    def _cells(self) -> Numbers:
        return self._values - self._a[self.rows] - self._b[self._keys]

    def _step(self, places: Places, wanted: Numbers, shift: Numbers, cells: Numbers) -> float:
        """One step of Newton's method for the sums by rows, or by columns of parents; how far the sums were off."""
        positive = cells > 0
        missed = np.bincount(places, np.where(positive, cells, 0.0), len(wanted)) - wanted
        shift += missed / np.maximum(np.bincount(places, positive, len(wanted)), 1)
        return float(np.abs(missed).max(initial=0.0))

    def _step_rows(self) -> float:
        return self._step(self.rows, self._by_row, self._a, self._cells())

    def _step_columns(self) -> float:
        return self._step(self._keys, self._by_key, self._b, self._cells())

    def columns_alone(self, start: Numbers) -> None:
        """Meet the sums of columns, from multipliers with which no sum is too small."""
        self._b[:] = start
        for _ in range(_FIRST):
            self._step_columns()

    def turns(self, most: int, *, prune: bool) -> None:
        """Meet the sums of rows and of columns by turns, until both are near."""
        for turn in range(most):
            off = self._step_rows()
            self._step_rows()
            self._step_columns()
            self._step_columns()
            if prune and turn in _PRUNED:
                self.keep(self._cells() > -_MARGIN)
            if off < _CLOSE / 10:
                break

    def missed_rows(self) -> Numbers:
        """How far the sums of rows are off."""
        sums = np.bincount(self.rows, np.maximum(self._cells(), 0.0), len(self.totals))
        return np.asarray(sums - self._by_row, np.float64)

    def finish_columns(self) -> None:
        """Meet the sums of columns as nearly as floats do."""
        for _ in range(_STEPS):
            if self._step_columns() < _EXACT:
                break

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Leave out all other cells, and what they summed to."""
        self.rows, self.columns, self._values = self.rows[which], self.columns[which], self._values[which]
        self._keys = self._keys[which]

    def positive(self) -> SparseCells:
        """The cells above 0."""
        cells = self._cells()
        above = cells > 0
        return SparseCells(self.rows[above], self.columns[above], cells[above])
