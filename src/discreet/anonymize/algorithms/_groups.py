"""Rows that lie together by class, and what is summed along them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups"]

_ROOM = 1 << 22
_Ints = NDArray[np.int64]


@dataclass(frozen=True, repr=False, eq=False)
class Groups:
    """The class of each row, ascending and without holes, and where each class starts and ends."""

    of_row: _Ints
    starts: _Ints
    ends: _Ints

    @classmethod
    def from_sorted(cls, of_row: _Ints) -> Groups:
        """From the classes of rows, ascending and without holes."""
        starts = np.flatnonzero(np.r_[True, of_row[1:] != of_row[:-1]])
        return cls(of_row, starts, np.r_[starts[1:], len(of_row)])

    @property
    def count(self) -> int:
        """How many classes there are."""
        return len(self.starts)

    def running(self, values: _Ints) -> _Ints:
        """Sums from the start of the row's class up to the row.

        >>> Groups.from_sorted(np.array([0, 0, 1])).running(np.array([1, 2, 5]))
        array([1, 3, 5])
        """
        sums = np.cumsum(values)
        before = sums[self.starts] - values[self.starts]
        return sums - before[self.of_row]

    def pairs(self, codes: _Ints, size: int) -> tuple[_Ints, int]:
        """A number for each pair of a class and a code below `size`, and a bound on them for arrays of all pairs."""
        keys, count = self.of_row * size + codes, self.count * size
        if count <= max(_ROOM, 8 * len(codes)):
            return keys, count
        different, numbered = np.unique(keys, return_inverse=True)
        return numbered.astype(np.int64), len(different)

    def distinct_on_both_sides(self, codes: _Ints, size: int) -> tuple[_Ints, _Ints]:
        """How many different codes the class has up to each row, and after it; codes are below `size`."""
        rows = np.arange(len(codes))
        keys, count = self.pairs(codes, size)
        firsts = np.empty(count, np.int64)
        lasts = np.empty(count, np.int64)
        firsts[keys[::-1]] = rows[::-1]
        lasts[keys] = rows
        ended = self.running((lasts[keys] == rows).astype(np.int64))
        return self.running((firsts[keys] == rows).astype(np.int64)), ended[self.ends - 1][self.of_row] - ended

    def ends_on_both_sides(self, codes: _Ints, size: int) -> tuple[tuple[_Ints, _Ints], tuple[_Ints, _Ints]]:
        """The least and greatest code that the class has up to each row, and after it; after the last row, its own."""
        left = _running_ends(self.of_row, codes, size)
        lowest, highest = _running_ends(self.count - 1 - self.of_row[::-1], codes[::-1], size)
        after = np.minimum(np.arange(1, len(codes) + 1), self.ends[self.of_row] - 1)
        return left, (lowest[::-1][after], highest[::-1][after])


def _running_ends(classes: _Ints, codes: _Ints, size: int) -> tuple[_Ints, _Ints]:
    """Least and greatest from the start of the class: as classes ascend, each one's shifted codes exceed all before."""
    shift = classes * size
    highest = np.maximum.accumulate(shift + codes) - shift
    return size - 1 - (np.maximum.accumulate(shift + (size - 1 - codes)) - shift), highest
