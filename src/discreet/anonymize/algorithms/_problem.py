"""What an algorithm is given: quasi-identifiers, a smallest class, and conditions on sensitive columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.anonymize.algorithms._extents import Extent, extent_of
from discreet.anonymize.conditions import Check, Condition
from discreet.anonymize.hierarchies import Hierarchy
from discreet.anonymize.tables import Codes, Column, DistinctRows, distinct_rows

__all__ = ["Problem", "Spread", "classes_in_order", "settled"]

_BLOCK = 1 << 22


@dataclass(frozen=True, repr=False, eq=False)
class Spread:
    """A sensitive column with a condition, and the check of it that each class must pass."""

    column: Column
    condition: Condition
    check: Check

    @classmethod
    def of_condition(cls, condition: Condition, column: Column) -> Spread:
        """The check for all rows of a column."""
        return cls(column, condition, condition.check(column))

    def taken(self, rows: Codes) -> Spread:
        """The same check, of some of the rows."""
        return replace(self, column=self.column.taken(rows))

    def holds_of(self, classes: Codes, count: int) -> NDArray[np.bool_]:
        """For each class whether it passes, given the class of each row."""
        passed = np.empty(count, bool)
        order = np.argsort(classes, kind="stable")
        ends = np.searchsorted(classes[order], np.arange(count + 1))
        size = self.column.size
        step = max(_BLOCK // size, 1)
        for first in range(0, count, step):
            last = min(first + step, count)
            rows = order[ends[first] : ends[last]]
            keys = (classes[rows] - first) * size + self.column.codes[rows]
            counts = np.bincount(keys, minlength=(last - first) * size).reshape(-1, size).astype(np.float64)
            passed[first:last] = self.check.holds(counts)
        return passed


@dataclass(frozen=True, repr=False, eq=False)
class Problem:
    """A table to be divided into classes.

    Attributes
    ----------
    quasi
        The quasi-identifiers.
    k
        The smallest class.
    spreads
        Sensitive columns with their checks.
    weights
        How much a loss in each quasi-identifier counts.
    hierarchies
        Of each quasi-identifier, or None: its cells are ancestors in it.
    """

    quasi: tuple[Column, ...]
    k: int
    spreads: tuple[Spread, ...]
    weights: tuple[float, ...]
    hierarchies: tuple[Hierarchy | None, ...]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.quasi[0].codes)

    @cached_property
    def distinct(self) -> DistinctRows:
        """The different rows of quasi-identifiers."""
        return distinct_rows(self.quasi)

    @cached_property
    def extents(self) -> tuple[Extent, ...]:
        """How wide the cells of each quasi-identifier are."""
        return tuple(extent_of(each, tree) for each, tree in zip(self.quasi, self.hierarchies, strict=True))

    def holds(self, classes: Codes) -> NDArray[np.bool_]:
        """For each class whether it is large enough and passes all checks."""
        count = int(classes.max()) + 1
        passed = np.bincount(classes, minlength=count) >= self.k
        for each in self.spreads:
            passed &= each.holds_of(classes, count)
        return passed

    def tables_of_counts(self) -> list[sparse.csr_array]:
        """For each check: how many rows with each sensitive value there are among equal rows."""
        of_row, count = self.distinct.of_row, self.distinct.count
        ones = np.ones(self.rows)
        return [
            sparse.csr_array((ones, (of_row, each.column.codes)), shape=(count, each.column.size))
            for each in self.spreads
        ]


def settled(problem: Problem, classes: Codes) -> Codes:
    """The classes that still pass when others are suppressed, in order; −1 for a row of any other.

    A class that is near to the table's values may be far from those that are published.
    """
    while (classes < 0).any() and (classes >= 0).any():
        rows = np.flatnonzero(classes >= 0)
        own = classes_in_order(classes[rows])
        passed = np.ones(int(own.max()) + 1, bool)
        for each in problem.spreads:
            if each.condition.is_relative:
                published = Spread.of_condition(each.condition, each.column.taken(rows).without_unused())
                passed &= published.holds_of(own, len(passed))
        classes = np.full(problem.rows, -1, np.int64)
        classes[rows[passed[own]]] = classes_in_order(own[passed[own]])
        if passed.all():
            break
    return classes


def classes_in_order(classes: Codes) -> Codes:
    """The same classes, numbered from 0 without holes."""
    return np.unique(classes, return_inverse=True)[1].astype(np.int64)
