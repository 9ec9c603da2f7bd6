"""The table at one place of the lattice of levels, as groups of equal rows, and what the place costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.anonymize.algorithms._problem import Problem
from discreet.anonymize.hierarchies import Hierarchy, two_levels

__all__ = ["GroupTable", "Lattice"]

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class GroupTable:
    """Groups of rows that are equal at some levels: a key in mixed radix, the number of rows, and sensitive counts."""

    keys: _Ints
    sizes: _Ints
    counts: tuple[sparse.csr_array, ...]

    def merged(self, keys: _Ints) -> tuple[GroupTable, _Ints]:
        """The groups with new keys, equal ones as one, and where each group went."""
        different, where = np.unique(keys, return_inverse=True)
        sizes = np.bincount(where, weights=self.sizes).astype(np.int64)
        return GroupTable(different, sizes, tuple(_summed(each, where, len(different)) for each in self.counts)), where


def _summed(counts: sparse.csr_array, where: _Ints, count: int) -> sparse.csr_array:
    rows = np.arange(len(where))
    adding = sparse.csr_array((np.ones(len(where)), (where, rows)), shape=(count, len(where)))
    return sparse.csr_array(adding @ counts)


@dataclass(frozen=True, repr=False, eq=False)
class Lattice:
    """All ways to show each column at one level of its hierarchy; a place is a level for each column.

    Attributes
    ----------
    problem
        What each group must satisfy; a column without a hierarchy is shown as it is or not at all.
    is_geometric
        Whether losses of columns are aggregated as ARX does, not by their mean.
    """

    problem: Problem
    is_geometric: bool = False

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """Of each column."""
        return tuple(
            tree or two_levels(each)
            for each, tree in zip(self.problem.quasi, self.problem.hierarchies, strict=True)
        )  # fmt: skip

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The highest level of each column."""
        return tuple(each.height for each in self.hierarchies)

    @cached_property
    def _maps(self) -> list[list[_Ints]]:
        """For each column and level, from a value's code to the code of its group: the least of the group's values."""
        maps: list[list[_Ints]] = []
        for column, tree in zip(self.problem.quasi, self.hierarchies, strict=True):
            levels: list[_Ints] = []
            for level in range(tree.height + 1):
                groups = tree.groups(column, level)
                first = np.unique(groups, return_index=True)[1]
                levels.append(first[groups])
            maps.append(levels)
        return maps

    @cached_property
    def shares(self) -> list[list[_Floats]]:
        """For each column and level what each value's cell costs."""
        return [
            [tree.shares(column, level) for level in range(tree.height + 1)]
            for column, tree in zip(self.problem.quasi, self.hierarchies, strict=True)
        ]

    @cached_property
    def _strides(self) -> list[int]:
        strides, stride = [], 1
        for each in self.problem.quasi:
            strides.append(stride)
            stride *= each.size
        if stride >= 1 << 62:
            raise OverflowError
        return strides

    @cached_property
    def bottom(self) -> GroupTable:
        """The table as it is."""
        distinct = self.problem.distinct
        keys = (distinct.codes * np.array(self._strides)).sum(axis=1)
        sizes = np.bincount(distinct.of_row, minlength=distinct.count)
        return GroupTable(keys, sizes, tuple(self.problem.tables_of_counts()))

    def codes(self, keys: _Ints, column: int) -> _Ints:
        """The code of a column in each key."""
        return keys // self._strides[column] % self.problem.quasi[column].size

    def raised(self, keys: _Ints, column: int, level: int) -> _Ints:
        """The keys with one column at a level, from a lower one."""
        codes = self.codes(keys, column)
        return keys + (self._maps[column][level][codes] - codes) * self._strides[column]

    def fails(self, table: GroupTable) -> NDArray[np.bool_]:
        """Which groups are too small or do not pass a check."""
        failing = table.sizes < self.problem.k
        for spread, counts in zip(self.problem.spreads, table.counts, strict=True):
            there = np.flatnonzero(~failing)
            for part in np.array_split(there, max(len(there) * spread.column.size >> 22, 1)):
                failing[part[~spread.check.holds(counts[part].toarray())]] = True
        return failing

    def loss(self, table: GroupTable, levels: tuple[int, ...], suppressed: NDArray[np.bool_]) -> float:
        """The loss of the table with some groups suppressed, from 0 to 1; columns beyond `levels` cost nothing else."""
        left_out = int(table.sizes[suppressed].sum())
        sizes, keys = table.sizes[~suppressed], table.keys[~suppressed]
        lost = np.full(len(self.heights), left_out / self.problem.rows)
        for column, level in enumerate(levels):
            if level:
                lost[column] += self.shares[column][level][self.codes(keys, column)] @ sizes / self.problem.rows
        return self.aggregated(lost)

    def aggregated(self, lost: _Floats) -> float:
        """One number for the losses of all columns."""
        if self.is_geometric:
            return float(np.exp(np.log1p(lost).mean()) - 1)
        weights = np.array(self.problem.weights)
        return float(lost @ weights / weights.sum())
