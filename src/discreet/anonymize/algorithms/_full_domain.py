"""Full-domain generalisation: one level for each column, the best of all, and rows that fit nowhere suppressed.

The lattice of levels is searched to the end. Places are left out whose loss is proved to be no less: rows that are in
too small a group by some columns, all others starred, are suppressed wherever those columns have these levels.
Source: Samarati 2001; the search is our own, after El Emam et al. 2009 and Prasser et al. 2016 (ARX).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.algorithms._lattice import GroupTable, Lattice
from discreet.anonymize.algorithms._problem import Problem
from discreet.anonymize.tables import Codes

__all__ = ["datafly", "full_domain"]

_Ints = NDArray[np.int64]


def full_domain(problem: Problem, *, is_geometric: bool = False, recodes: bool = True) -> Codes:
    """The class of each row; −1 for a row that is suppressed.

    With `recodes` the rows that would be suppressed are divided again, by levels of their own, as long as there are
    enough of them.
    """
    classes = np.full(problem.rows, -1, np.int64)
    rows, numbered = np.arange(problem.rows), 0
    while len(rows) >= problem.k:
        part = problem if len(rows) == problem.rows else _part(problem, rows)
        own = _divided(Lattice(part, is_geometric))
        there = own >= 0
        if not there.any():
            break
        classes[rows[there]] = own[there] + numbered
        numbered += int(own.max()) + 1
        rows = rows[~there]
        if not recodes:
            break
    return classes


def _part(problem: Problem, rows: Codes) -> Problem:
    return replace(
        problem,
        quasi=tuple(each.taken(rows) for each in problem.quasi),
        spreads=tuple(each.taken(rows) for each in problem.spreads),
    )


def _divided(lattice: Lattice) -> Codes:
    levels = _Search(lattice).best()
    table, where = lattice.bottom, np.arange(len(lattice.bottom.keys))
    for column, level in enumerate(levels):
        if level:
            table, moved = table.merged(lattice.raised(table.keys, column, level))
            where = moved[where]
    fails = lattice.fails(table)
    numbers = np.cumsum(~fails) - 1
    numbers[fails] = -1
    return numbers[where][lattice.problem.distinct.of_row]


class _Search:
    """A depth-first search over the levels of one column after the other, with the best place so far."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._least = np.inf
        self._levels: tuple[int, ...] = lattice.heights

    def best(self) -> tuple[int, ...]:
        """The levels with the least loss."""
        self._climb_down()
        self._descend(self._lattice.bottom, ())
        return self._levels

    def _climb_down(self) -> None:
        """A good place to begin with: from the top down, one level at a time, while the loss falls."""
        levels = list(self._lattice.heights)
        self._try(tuple(levels))
        while True:
            before = self._least
            for column, level in enumerate(levels):
                if level:
                    self._try((*levels[:column], level - 1, *levels[column + 1 :]))
            if self._least >= before:
                return
            levels = list(self._levels)

    def _try(self, levels: tuple[int, ...]) -> None:
        table = self._lattice.bottom
        for column in sorted(range(len(levels)), key=lambda each: -levels[each]):
            if levels[column]:
                table, _ = table.merged(self._lattice.raised(table.keys, column, levels[column]))
        self._weigh(table, levels)

    def _weigh(self, table: GroupTable, levels: tuple[int, ...]) -> None:
        loss = self._lattice.loss(table, levels, self._lattice.fails(table))
        if loss < self._least:
            self._least, self._levels = loss, levels

    def _descend(self, table: GroupTable, levels: tuple[int, ...]) -> None:
        """Tries all levels of the columns that have none yet; the table has those of the others."""
        lattice = self._lattice
        column = len(levels)
        if column == len(lattice.heights):
            self._weigh(table, levels)
            return
        for level in range(lattice.heights[column] + 1):
            raised = table if not level else table.merged(lattice.raised(table.keys, column, level))[0]
            chosen = (*levels, level)
            if self._bound(raised, chosen) < self._least:
                self._descend(raised, chosen)

    def _bound(self, table: GroupTable, levels: tuple[int, ...]) -> float:
        """No place with these levels of the first columns has a smaller loss."""
        lattice = self._lattice
        if len(levels) == len(lattice.heights):
            return -np.inf
        keys = table.keys
        for column in range(len(levels), len(lattice.heights)):
            keys = lattice.raised(keys, column, lattice.heights[column])
        grouped, where = np.unique(keys, return_inverse=True)
        small = np.bincount(where, weights=table.sizes, minlength=len(grouped)) < lattice.problem.k
        return lattice.loss(table, levels, small[where])


def datafly(problem: Problem) -> Codes:
    """The class of each row by Datafly; −1 for a row that is suppressed, at most k of them.

    The column with most different values goes up a level until few rows are left in small groups: a baseline that is
    better nowhere. Source: Sweeney 1998.
    """
    lattice = Lattice(problem)
    table, where = lattice.bottom, np.arange(len(lattice.bottom.keys))
    levels = [0] * len(lattice.heights)
    while True:
        fails = lattice.fails(table)
        if table.sizes[fails].sum() <= problem.k or levels == list(lattice.heights):
            numbers = np.cumsum(~fails) - 1
            numbers[fails] = -1
            return numbers[where][problem.distinct.of_row]
        different = [
            len(np.unique(lattice.codes(table.keys, column))) if level < height else 0
            for column, (level, height) in enumerate(zip(levels, lattice.heights, strict=True))
        ]
        column = int(np.argmax(different))
        levels[column] += 1
        table, moved = table.merged(lattice.raised(table.keys, column, levels[column]))
        where = moved[where]
