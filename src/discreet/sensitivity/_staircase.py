"""The search for the best gap between two order statistics when what it costs is a sum of two terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.sensitivity._exact import difference_up

__all__ = ["Staircase"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Blocks = tuple[Ints, Ints, Ints, Ints]
"""First row, last row, first column, last column of each block."""

_CHUNK = 1 << 21


@dataclass(frozen=True, slots=True)
class Staircase:
    """Row i and column s, 0 <= s <= limit[i], stand for the gap values[top[i]] - values[s] at a cost, in steps.

    The cost is base[i] - rate * s. `values` and `base` do not decrease, `top` increases by one, `limit` does not
    increase. Source: ``proofs/local_sensitivity.md``, Quantiles; the search follows Nissim, Raskhodnikova and Smith
    2007 (full version, section 3.1), with rows that end early and blocks that cannot win left out.
    """

    values: Floats
    top: Ints
    base: Ints
    limit: Ints
    rate: int

    def widest(self, k: int) -> float:
        """The largest gap that costs at most k; 0 if there is none. O(rows)."""
        column = np.maximum(0, -((k - self.base) // self.rate))
        rows = np.flatnonzero(column <= self.limit)
        if not rows.size:
            return 0.0
        return max(0.0, float(difference_up(self.values[self.top[rows]], self.values[column[rows]]).max()))

    def greatest(self, beta: float, best: float) -> float:
        """The larger of `best` and the maximum of exp(-beta cost) gap.

        O(n log² n) at worst, O(n log n) if no row ends early.
        """
        for k in {int(each) for each in np.geomspace(1, len(self.values) + 1, 12)}:
            best = max(best, np.exp(-beta * k) * self.widest(k))
        first, last, column = np.array([0]), np.array([len(self.top) - 1]), np.array([0])
        while first.size:
            keep = (first <= last) & (column <= self.limit[np.minimum(first, len(self.top) - 1)])
            first, last, column = first[keep], last[keep], column[keep]
            keep = self._bound(beta, (first, last, column, self.limit[first])) > best
            first, last, column = first[keep], last[keep], column[keep]
            middle = (first + last) // 2
            end = self.limit[middle]
            inside = column <= end
            best = self._rectangles(beta, best, (first[inside], middle[inside], column[inside], end[inside]))
            first, last, column = (
                np.concatenate([middle + 1, first]),
                np.concatenate([last, middle - 1]),
                np.concatenate([column, np.maximum(column, end + 1)]),
            )
        return best

    def _bound(self, beta: float, blocks: Blocks) -> Floats:
        """No entry of a block is larger: its largest gap at its least cost."""
        first, last, left, right = blocks
        gap = self.values[self.top[last]] - self.values[left]
        return gap * np.exp(-beta * np.maximum(0, self.base[first] - self.rate * right))

    def _rectangles(self, beta: float, best: float, blocks: Blocks) -> float:
        """The best entry of blocks whose rows all end together: there the best column never goes down with the row."""
        first, last, left, right = blocks
        while first.size:
            first, last, left, right = _select(first <= last, (first, last, left, right))
            first, last, left, right = _select(
                self._bound(beta, (first, last, left, right)) > best, (first, last, left, right)
            )
            if not first.size:
                break
            middle = (first + last) // 2
            column, value = self._rows(beta, middle, left, right)
            best = max(best, float(value.max()))
            first, last = np.concatenate([first, middle + 1]), np.concatenate([middle - 1, last])
            left, right = np.concatenate([left, column]), np.concatenate([column, right])
        return best

    def _rows(self, beta: float, row: Ints, left: Ints, right: Ints) -> tuple[Ints, Floats]:
        """The first best column of each row between `left` and `right`, and its value."""
        ends = np.cumsum(right - left + 1)
        columns, values = np.empty_like(row), np.empty(len(row))
        start, done = 0, 0
        while start < len(row):
            stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK)))
            part = slice(start, stop)
            columns[part], values[part] = self._rows_at_once(beta, row[part], left[part], right[part])
            start, done = stop, int(ends[stop - 1])
        return columns, values

    def _rows_at_once(self, beta: float, row: Ints, left: Ints, right: Ints) -> tuple[Ints, Floats]:
        lengths = right - left + 1
        starts = np.cumsum(lengths) - lengths
        column = np.arange(int(lengths.sum())) + np.repeat(left - starts, lengths)
        gap = np.repeat(self.values[self.top[row]], lengths) - self.values[column]
        cost = np.maximum(0, np.repeat(self.base[row], lengths) - self.rate * column)
        value = gap * np.exp(-beta * cost)
        largest = np.maximum.reduceat(value, starts)
        hits = np.flatnonzero(value == np.repeat(largest, lengths))
        return column[hits[np.searchsorted(hits, starts)]], largest


def _select(keep: NDArray[np.bool_], blocks: Blocks) -> Blocks:
    first, last, left, right = blocks
    return first[keep], last[keep], left[keep], right[keep]
