"""What each quasi-identifier adds to uniqueness, and the smallest sets of them that make somebody unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from discreet.anonymize.tables import Codes, Column, distinct_rows

__all__ = ["ColumnRisk", "UniqueSet", "column_risks", "unique_rows", "unique_sets"]

_MOST = 2_000


@dataclass(frozen=True)
class ColumnRisk:
    """One quasi-identifier.

    Attributes
    ----------
    column
        Its name.
    alone
        The share of people who are unique by it alone.
    without
        The share who are unique by all others.
    added
        What it adds to those: the share of people who would not be unique without it.
    """

    column: str
    alone: float
    without: float
    added: float


@dataclass(frozen=True)
class UniqueSet:
    """A smallest set of columns: it makes somebody unique, and none of its parts does.

    Attributes
    ----------
    columns
        Their names.
    people
        How many it makes unique.
    """

    columns: tuple[str, ...]
    people: int


def unique_rows(columns: Sequence[Column]) -> Codes:
    """Which rows are unlike all others; none of two or more, if there are no columns."""
    if not columns:
        return np.empty(0, np.int64)
    of_row = distinct_rows(columns).of_row
    return np.flatnonzero(np.bincount(of_row)[of_row] == 1)


def column_risks(columns: Sequence[Column]) -> tuple[ColumnRisk, ...]:
    """Each column with and without the others."""
    rows = len(columns[0].codes)
    everything = len(unique_rows(columns)) / rows
    risks: list[ColumnRisk] = []
    for each in columns:
        without = len(unique_rows([other for other in columns if other is not each])) / rows
        risks.append(ColumnRisk(each.name, len(unique_rows([each])) / rows, without, everything - without))
    return tuple(risks)


def unique_sets(columns: Sequence[Column]) -> tuple[tuple[UniqueSet, ...], int]:
    """The smallest sets, fewest columns first, and up to how many columns all sets were looked at.

    It looks at 2,000 sets at most, and ends before a number of columns that would need more.
    """
    smallest: list[UniqueSet] = []
    left = _MOST
    for size in range(1, len(columns) + 1):
        left -= comb(len(columns), size)
        if left < 0:
            return tuple(smallest), size - 1
        parts = [set(each.columns) for each in smallest]
        for chosen in combinations(columns, size):
            names = tuple(each.name for each in chosen)
            if any(part <= set(names) for part in parts):
                continue
            people = len(unique_rows(chosen))
            if people:
                smallest.append(UniqueSet(names, people))
    return tuple(smallest), len(columns)
