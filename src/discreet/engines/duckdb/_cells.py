"""Counts of the cells of a histogram by group, from packed rows."""

from __future__ import annotations

import numpy as np

from discreet.engines.duckdb._caps import Integers
from discreet.engines.duckdb._layout import Layout
from discreet.query import Cells

__all__ = ["CellCounts"]


class CellCounts:
    """Counts by group and cell, added up over parts of the rows; `value` is the place of the cells among the values.

    Memory is bounded by the number of different cells, and by the rows that are added at once.
    """

    def __init__(self, layout: Layout, value: int) -> None:
        self._layout = layout
        self._bits = layout.values[value].bits
        self._shift = sum(field.bits for field in layout.values[value + 1 :])
        self._codes = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)

    def add(self, rows: Integers) -> None:
        """Count the cells of rows; where the field is 0 there is none."""
        contents = (rows >> self._shift) & ((1 << self._bits) - 1)
        groups = (rows & ((1 << self._layout.below_person) - 1)) >> self._layout.below_group
        codes, counts = np.unique((groups << self._bits | contents)[contents > 0], return_counts=True)
        if self._codes.size:
            every = np.concatenate([self._codes, codes])
            counts = np.concatenate([self._counts, counts])[order := np.argsort(every, kind="stable")]
            codes, starts = np.unique(every[order], return_index=True)
            counts = np.add.reduceat(counts, starts)
        self._codes, self._counts = codes, counts

    def by_group(self) -> dict[int, Cells]:
        """By the packed keys of a group, the cells that hold rows, in rising order, and how many each of them holds."""
        groups, starts = np.unique(self._codes >> self._bits, return_index=True)
        cells = (self._codes & ((1 << self._bits) - 1)) - 1
        split = zip(np.split(cells, starts[1:]), np.split(self._counts, starts[1:]), strict=True)
        return dict(zip(groups.tolist(), split, strict=False))
