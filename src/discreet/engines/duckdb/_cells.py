"""Counts of the cells of a histogram by group, from packed rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.engines.duckdb._caps import Integers, Words
from discreet.engines.duckdb._layout import Layout, Place
from discreet.query import Cells

__all__ = ["CellCounts", "fits_counts"]

_DENSE_BITS = 24
"""Up to so many bits of keys and cell there is a count for each code: 128 MiB."""
_MOST_BITS = 63
_PENDING = 2**22
"""Codes that are sorted at once where there is not."""


def fits_counts(layout: Layout, place: Place) -> bool:
    """Whether the keys and a cell fit one whole number of 64 bits without its sign."""
    return _code_bits(layout, place) <= _MOST_BITS


def _code_bits(layout: Layout, place: Place) -> int:
    return layout.below_person - layout.below_group + place.bits


class CellCounts:
    """Counts by group and cell, added up over slices of the rows.

    `place` is where a row has its cell. Memory is bounded by the number of different cells, and by the rows that are
    added at once.
    """

    def __init__(self, layout: Layout, place: Place) -> None:
        self._layout = layout
        self._place = place
        self._bits = place.bits
        bits = _code_bits(layout, place)
        self._counts: _Dense | _Sparse = _Dense(bits) if bits <= _DENSE_BITS else _Sparse()

    def add(self, rows: Words) -> None:
        """Count the cells of rows; where the field is 0 there is none."""
        contents = (rows[self._place.word] >> self._place.shift) & ((1 << self._bits) - 1)
        groups = (rows[0] & ((1 << self._layout.below_person) - 1)) >> self._layout.below_group
        self._counts.add((groups << self._bits | contents)[contents > 0])

    def by_group(self) -> dict[int, Cells]:
        """By the packed keys of a group, the cells that hold rows, in rising order, and how many each of them holds."""
        codes, counts = self._counts.nonzero()
        groups, starts = np.unique(codes >> self._bits, return_index=True)
        cells = (codes & ((1 << self._bits) - 1)) - 1
        split = zip(np.split(cells, starts[1:]), np.split(counts, starts[1:]), strict=True)
        return dict(zip(groups.tolist(), split, strict=False))


class _Dense:
    """Counts of codes below a power of two."""

    def __init__(self, bits: int) -> None:
        self._counts: NDArray[np.int64] = np.zeros(1 << bits, np.int64)

    def add(self, codes: Integers) -> None:
        np.add.at(self._counts, codes, 1)

    def nonzero(self) -> tuple[Integers, Integers]:
        codes = np.flatnonzero(self._counts)
        return codes, self._counts[codes]


class _Sparse:
    """Counts of any codes, in order; those that were added last wait to be sorted together."""

    def __init__(self) -> None:
        self._codes: Integers = np.zeros(0, np.int64)
        self._counts: Integers = np.zeros(0, np.int64)
        self._pending: list[Integers] = []

    def add(self, codes: Integers) -> None:
        self._pending.append(codes)
        if sum(each.size for each in self._pending) >= _PENDING:
            self._merge()

    def nonzero(self) -> tuple[Integers, Integers]:
        self._merge()
        return self._codes, self._counts

    def _merge(self) -> None:
        codes, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *self._pending]), return_counts=True)
        every = np.concatenate([self._codes, codes])
        order = np.argsort(every, kind="stable")
        self._codes, starts = np.unique(every[order], return_index=True)
        counts = np.concatenate([self._counts, counts])[order]
        self._counts = np.add.reduceat(counts, starts) if starts.size else counts
        self._pending = []
