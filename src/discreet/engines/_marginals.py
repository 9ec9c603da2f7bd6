"""Marginals counted with NumPy, from a small number for each row and key.

Counting one marginal costs as much as counting another whose counts fit the processor's cache. So a few larger ones are
counted, which together cover those that were asked for, and these are sums of their cells: 33 of three columns cover
the 91 pairs of 14 columns.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.release import check_cancelled

__all__ = ["Counts", "MarginalCounts", "as_number", "cover", "marginals_of"]

Counts = tuple[NDArray[np.int64], ...]
"""An array for each marginal."""

_CACHED = 2**16
"""Up to this many cells fit the cache, and a number of 16 bits each."""
_MOST_HELD = 2**24
"""128 MiB: up to this many cells are counted beyond those that were asked for."""
_CHUNK = 2**17
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - times here have no zone
_MICROSECOND = dt.timedelta(microseconds=1)


def cover(sets: Sequence[tuple[int, ...]], sizes: Sequence[int], limit: int = _CACHED) -> list[tuple[int, ...]]:
    """Sets of columns such that each set asked for is within one, with cells that are few enough to count fast.

    Those with more than `limit` cells are asked for as they are. All is a function of public numbers, as is the time
    that counting takes for a row.

    >>> cover([(0,), (0, 1), (0, 2), (1, 2), (2, 3)], [4, 4, 4, 4])
    [(0, 1, 2, 3)]
    """
    cells = sum(math.prod(sizes[i] for i in each) for each in sets)
    while True:
        blocks = _cover(sets, sizes, limit)
        held = sum(math.prod(sizes[i] for i in block) for block in blocks)
        if held <= max(cells, _MOST_HELD) or limit <= 1:
            return blocks
        limit //= 2


def _cover(sets: Sequence[tuple[int, ...]], sizes: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Grow each block by the column that completes most sets, as long as its cells are within the limit."""
    member = _members(sets, len(sizes))
    width = member.sum(axis=1)
    left = width > 0
    order = np.argsort(-width, kind="stable")
    blocks: list[tuple[int, ...]] = []
    for start in order.tolist():
        if not left[start]:
            continue
        inside = member[start].copy()
        missing = width - member[:, inside].sum(axis=1)
        cells = math.prod(sizes[i] for i in np.flatnonzero(inside).tolist())
        while True:
            completed = member[left & (missing == 1)].sum(axis=0)
            completed[inside] = 0
            fits = np.array([cells * size <= limit for size in sizes])
            completed[~fits] = 0
            if not completed.any():
                break
            best = int(np.lexsort((np.array(sizes), -completed))[0])
            inside[best] = True
            cells *= sizes[best]
            missing -= member[:, best]
        left &= missing > 0
        blocks.append(tuple(np.flatnonzero(inside).tolist()))
    return blocks


def _members(sets: Sequence[tuple[int, ...]], columns: int) -> NDArray[np.bool_]:
    """Which columns are in each set."""
    member = np.zeros((len(sets), columns), np.bool_)
    for i, each in enumerate(sets):
        member[i, list(each)] = True
    return member


def marginals_of(
    sets: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
    blocks: Sequence[tuple[int, ...]],
    counts: Sequence[NDArray[np.int64]],
) -> Counts:
    """The counts by each set, from those by blocks: of those that a set is within, the one with the fewest cells."""
    order = np.argsort([some.size for some in counts], kind="stable")
    outside = ~_members([blocks[i] for i in order], len(sizes))
    within = _members(sets, len(sizes)).astype(np.float32) @ outside.T.astype(np.float32) == 0
    return tuple(
        _summed(each, blocks[at], counts[at].reshape([sizes[i] for i in blocks[at]]))
        for each, at in zip(sets, order[within.argmax(axis=1)].tolist(), strict=True)
    )


def _summed(each: tuple[int, ...], block: tuple[int, ...], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    others = tuple(i for i, column in enumerate(block) if column not in each)
    return np.ascontiguousarray(counts.sum(axis=others, dtype=np.int64)) if others else counts.copy()


def as_number(value: object) -> int:
    """A key that is no text as a whole number: days or microseconds since 1970, of a bool 0 or 1."""
    match value:
        case dt.datetime():
            return (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
        case dt.date():
            return value.toordinal() - _EPOCH.toordinal()
        case int():
            return int(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no type of keys")


class MarginalCounts:
    """Counts rows by each of several sets of columns, which have so many cells."""

    def __init__(self, sets: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> None:
        self._sets, self._sizes = tuple(sets), tuple(sizes)
        self._blocks = cover(sets, sizes)
        self._counts = [np.zeros(math.prod(self._shape(block)), np.int64) for block in self._blocks]
        kind = np.uint16 if max(sizes, default=0) <= _CACHED else np.uint32
        self._buffer = np.empty((len(sizes), _CHUNK), kind)
        self._short = np.empty(_CHUNK, np.uint16)
        self._long = np.empty(_CHUNK, np.intp)
        self._held = 0
        self._rows = 0

    def add(self, cells: Sequence[NDArray[np.integer]], rows: int) -> None:
        """Count so many rows: for each column, the cell of each of them."""
        begin = 0
        while begin < rows:
            taken = min(rows - begin, _CHUNK - self._held)
            for column, some in zip(self._buffer, cells, strict=True):
                column[self._held : self._held + taken] = some[begin : begin + taken]
            begin += taken
            self._held += taken
            if self._held == _CHUNK:
                self._count()

    def counts(self) -> Counts:
        """The marginals of all rows so far, in the order of the sets."""
        self._count()
        blocks = [(), *self._blocks]
        return marginals_of(self._sets, self._sizes, blocks, [np.array(self._rows, np.int64), *self._counts])

    def _count(self) -> None:
        check_cancelled()
        n = self._held
        for block, counts in zip(self._blocks, self._counts, strict=True):
            small = counts.size <= _CACHED
            combined, codes = (self._short if small else self._long)[:n], self._long[:n]
            combined[:] = self._buffer[block[0], :n]
            for column in block[1:]:
                np.multiply(combined, self._sizes[column], out=combined, casting="unsafe")
                np.add(combined, self._buffer[column, :n], out=combined, casting="unsafe")
            if small:
                codes[:] = combined
                np.add(counts, np.bincount(codes, minlength=counts.size), out=counts)
            else:  # in place: an array of all cells for each chunk of rows would take longer than the rows
                np.add.at(counts, codes, 1)
        self._rows += n
        self._held = 0

    def _shape(self, columns: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._sizes[column] for column in columns)
