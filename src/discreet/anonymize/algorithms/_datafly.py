"""Datafly: the column with most different values goes up a level until few rows are left in small groups.

A baseline that is better nowhere. Source: Sweeney 1998.
"""

from __future__ import annotations

import numpy as np

from discreet.anonymize.algorithms._lattice import Lattice
from discreet.anonymize.algorithms._problem import Problem
from discreet.anonymize.tables import Codes

__all__ = ["datafly"]


def datafly(problem: Problem) -> Codes:
    """The class of each row; −1 for a row that is suppressed. At most k rows are."""
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
