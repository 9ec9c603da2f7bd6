"""Mondrian whose cuts save the most: every cut of every column is weighed by the loss that it leaves in all columns.

A number is cut between any two of its values. A category is cut anywhere in the order of how frequent its values are in
the class, so that a frequent value may be split off alone. All classes of one
depth are cut at once. After LeFevre, DeWitt and Ramakrishnan 2006 (strict multidimensional partitioning).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.anonymize.algorithms._groups import Groups
from discreet.anonymize.algorithms._problem import Problem
from discreet.anonymize.tables import Codes

__all__ = ["best_mondrian"]

_BLOCK = 1 << 22
_Ints = NDArray[np.int64]
_Bools = NDArray[np.bool_]


def best_mondrian(problem: Problem) -> Codes:
    """The class of each row. The table as one class must satisfy the problem."""
    return _BestMondrian(problem).classes()[problem.distinct.of_row]


class _BestMondrian:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._codes = problem.distinct.codes
        self._weights = np.bincount(problem.distinct.of_row, minlength=problem.distinct.count)
        self._counts = problem.tables_of_counts()

    def classes(self) -> Codes:
        """The class of each different row."""
        classes = np.zeros(len(self._codes), np.int64)
        rows, of_row, ended = np.arange(len(self._codes)), np.zeros(len(self._codes), np.int64), 0
        while len(rows):
            groups = Groups.from_sorted(of_row)
            side, is_cut = self._cut(rows, groups)
            goes_on = is_cut[of_row]
            _, numbered = np.unique(of_row[~goes_on], return_inverse=True)
            classes[rows[~goes_on]] = ended + numbered
            ended += int((~is_cut).sum())
            halves = of_row[goes_on] * 2 + side[goes_on]
            order = np.argsort(halves, kind="stable")
            rows = rows[goes_on][order]
            of_row = np.unique(halves[order], return_inverse=True)[1].astype(np.int64)
        return classes

    def _cut(self, rows: _Ints, groups: Groups) -> tuple[_Bools, _Bools]:
        """Of each row on which side of its class's best cut it lies, and of each class whether it has one."""
        codes, weights = self._codes[rows], self._weights[rows]
        least = np.full(groups.count, np.inf)
        side = np.zeros(len(rows), bool)
        for column in range(codes.shape[1]):
            ranks = self._problem.extents[column].cut_ranks(groups, codes[:, column], weights)
            order = np.argsort(groups.of_row * (int(ranks.max()) + 1) + ranks, kind="stable")
            running, losses = self._losses(groups, codes[order], weights[order])
            ranked = ranks[order]
            allowed = np.r_[(ranked[1:] != ranked[:-1]) & (groups.of_row[1:] == groups.of_row[:-1]), False]
            totals = running[groups.ends - 1][groups.of_row]
            allowed &= (running >= self._problem.k) & (totals - running >= self._problem.k)
            losses[~allowed] = np.inf
            losses[losses >= least[groups.of_row]] = np.inf
            self._refuse(losses, rows[order], groups)
            lowest = np.minimum.reduceat(losses, groups.starts)
            better = lowest < least
            if not better.any():
                continue
            candidates = np.flatnonzero((losses == lowest[groups.of_row]) & better[groups.of_row])
            cut, first = np.unique(groups.of_row[candidates], return_index=True)
            last_on_left = np.full(groups.count, -1)
            last_on_left[cut] = candidates[first]
            renewed = better[groups.of_row]
            side[order[renewed]] = np.flatnonzero(renewed) > last_on_left[groups.of_row[renewed]]
            least = np.minimum(least, lowest)
        return side, np.isfinite(least)

    def _losses(self, groups: Groups, codes: _Ints, weights: _Ints) -> tuple[_Ints, NDArray[np.float64]]:
        """The weight of each class up to each row, and the loss of the class if it is cut after that row."""
        before, after = np.zeros(len(codes)), np.zeros(len(codes))
        for i, (extent, weight) in enumerate(zip(self._problem.extents, self._problem.weights, strict=True)):
            left, right = extent.on_both_sides(groups, codes[:, i])
            before += weight * left
            after += weight * right
        running = groups.running(weights)
        totals = running[groups.ends - 1]
        return running, running * before + (totals[groups.of_row] - running) * after

    def _refuse(self, losses: NDArray[np.float64], rows: _Ints, groups: Groups) -> None:
        """Set to infinity the losses of cuts with a half that does not pass the checks."""
        for spread, counts in zip(self._problem.spreads, self._counts, strict=True):
            for first, last in self._blocks(groups, spread.column.size):
                part = slice(int(groups.starts[first]), int(groups.ends[last - 1]))
                there = np.flatnonzero(np.isfinite(losses[part]))
                if not len(there):
                    continue
                sums = np.cumsum(_dense(counts, rows[part]), axis=0)
                starts = groups.starts[first:last] - part.start
                before = np.zeros((last - first, sums.shape[1]))
                before[1:] = sums[starts[1:] - 1]
                of_row = groups.of_row[part][there] - first
                left = sums[there] - before[of_row]
                totals = sums[groups.ends[first:last] - part.start - 1] - before
                right = totals[of_row] - left
                passed = spread.check.holds(left) & spread.check.holds(right)
                losses[part.start + there[~passed]] = np.inf

    @staticmethod
    def _blocks(groups: Groups, size: int) -> list[tuple[int, int]]:
        """Runs of classes whose tables of counts are small together; a class is never divided."""
        blocks: list[tuple[int, int]] = []
        first = 0
        while first < groups.count:
            room = groups.starts[first] + max(_BLOCK // size, 1)
            last = max(int(np.searchsorted(groups.ends, room, side="right")), first + 1)
            blocks.append((first, last))
            first = last
        return blocks


def _dense(counts: sparse.csr_array, rows: _Ints) -> NDArray[np.float64]:
    return np.asarray(counts[rows].toarray())
