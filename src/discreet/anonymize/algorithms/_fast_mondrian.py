"""Mondrian with median cuts of the widest column. Source: LeFevre, DeWitt and Ramakrishnan 2006."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.algorithms._problem import Problem
from discreet.anonymize.tables import Codes

__all__ = ["fast_mondrian"]


def fast_mondrian(problem: Problem) -> Codes:
    """The class of each row. The table as one class must satisfy the problem.

    A class is cut at the median of its widest column; of the next widest one, if a half would be too small or fail a
    check; and is left as it is, if no column can be cut.
    """
    codes = np.stack([each.codes for each in problem.quasi])
    rows = np.arange(problem.rows)
    weighed = zip(problem.quasi, problem.weights, strict=True)
    costs = np.array([weight / each.extent if each.extent else 0.0 for each, weight in weighed])
    classes = np.zeros(problem.rows, np.int64)
    waiting, ended = [(0, problem.rows)], 0
    while waiting:
        first, last = waiting.pop()
        part = codes[:, first:last]
        cut = _cut(problem, part, rows[first:last], costs) if last - first >= 2 * problem.k else None
        if cut is None:
            classes[rows[first:last]] = ended
            ended += 1
            continue
        order = np.concatenate([np.flatnonzero(cut), np.flatnonzero(~cut)])
        codes[:, first:last] = part[:, order]
        rows[first:last] = rows[first:last][order]
        middle = first + int(cut.sum())
        waiting += [(first, middle), (middle, last)]
    return classes


def _cut(
    problem: Problem, part: NDArray[np.int64], rows: NDArray[np.int64], costs: NDArray[np.float64]
) -> NDArray[np.bool_] | None:
    """Which rows of a class come first, in the widest column that can be cut."""
    lowest, highest = part.min(axis=1), part.max(axis=1)
    widths = [
        cost * float(each.places[high] - each.places[low])
        for cost, each, low, high in zip(costs, problem.quasi, lowest, highest, strict=True)
    ]
    size = part.shape[1]
    for i in sorted(range(len(widths)), key=widths.__getitem__, reverse=True):
        if lowest[i] == highest[i]:
            continue
        middle = np.partition(part[i], size // 2)[size // 2]
        for left in (part[i] < middle, part[i] <= middle):
            count = int(np.count_nonzero(left))
            if count >= problem.k and size - count >= problem.k and _passes(problem, left, rows):
                return left
    return None


def _passes(problem: Problem, left: NDArray[np.bool_], rows: NDArray[np.int64]) -> bool:
    for spread in problem.spreads:
        counts = np.zeros((2, spread.column.size))
        np.add.at(counts, (left.astype(np.int64), spread.column.codes[rows]), 1)
        if not spread.check.holds(counts).all():
            return False
    return True
