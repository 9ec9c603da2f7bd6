"""Controlled rounding: whole numbers within 1 of a table, whose rows and columns have given whole sums."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.trees._non_negative import SparseCells
from discreet.marginals.trees._tree import Tree

__all__ = ["rounded_children", "rounded_totals"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_NOTHING = 1e-6
_NEVER = -9.0


def rounded_totals(tree: Tree, level: int, totals: Numbers, above: Places) -> Places:
    """Whole totals within 1 of those of a level that sum to those above: the largest fractions are rounded up.

    >>> tree = Tree.of_parents([[0, 0, 0]])
    >>> rounded_totals(tree, 1, np.array([1.2, 0.5, 2.3]), np.array([4]))
    array([1, 1, 2])
    """
    parents, starts = tree.parents[level - 1], tree.starts[level - 1]
    integers = np.floor(totals + _NOTHING).astype(np.int64)
    missing = above - tree.up(level - 1, integers)
    order = np.lexsort((integers - totals, parents))
    rank = np.empty(len(totals), np.int64)
    rank[order] = np.arange(len(totals)) - starts[parents]
    return integers + (rank < missing[parents])


def rounded_children(tree: Tree, level: int, near: SparseCells, above: Places, totals: Places) -> Places:
    """Whole cells within 1 of those of a level, whose sums over children and over cells are given.

    Column by column the areas that were given least so far are rounded up. What is then left over in an area is
    exchanged with another of the same parent, in the cell where it moves both least from where they were.
    """
    parents = tree.parents[level - 1]
    exact = np.zeros((len(totals), above.shape[1]), np.float32)
    exact[near.rows, near.columns] = near.values
    integers = np.zeros(exact.shape, np.int64)
    floors = np.floor(near.values + _NOTHING).astype(np.int64)
    integers[near.rows, near.columns] = floors
    missing = above - tree.up(level - 1, integers)
    _raise_fractions(integers, near, near.values - floors, missing, parents)
    _meet_columns(integers, exact, tree, level, above)
    _exchange(integers, exact, tree, level, totals)
    return integers


def _raise_fractions(integers: Places, near: SparseCells, fractions: Numbers, missing: Places, parents: Places) -> None:
    """In each column of each parent, round up as many cells as its sum asks for."""
    has = fractions > _NOTHING
    rows, columns, fractions = near.rows[has], near.columns[has], fractions[has]
    order = np.argsort(columns, kind="stable")
    rows, columns, fractions = rows[order], columns[order], fractions[order]
    ends = np.searchsorted(columns, np.arange(integers.shape[1] + 1))
    owed = np.zeros(len(integers))
    for column, (begin, end) in enumerate(pairwise(ends.tolist())):
        there = rows[begin:end]
        owed[there] += fractions[begin:end]
        order = np.lexsort((-owed[there], parents[there]))
        sorted_parents = parents[there][order]
        rank = np.arange(end - begin) - np.searchsorted(sorted_parents, sorted_parents)
        up = there[order][rank < missing[sorted_parents, column]]
        integers[up, column] += 1
        owed[up] -= 1


def _meet_columns(integers: Places, exact: NDArray[np.float32], tree: Tree, level: int, above: Places) -> None:
    """Give or take what rounding errors left in a column."""
    starts = tree.starts[level - 1]
    left = above - tree.up(level - 1, integers)
    ends = [*starts[1:].tolist(), len(integers)]
    for parent, column in np.argwhere(left).tolist():
        children = np.arange(starts[parent], ends[parent])
        for _ in range(abs(int(left[parent, column]))):
            room = exact[children, column] - integers[children, column]
            if left[parent, column] > 0:
                integers[children[room.argmax()], column] += 1
            else:
                room[integers[children, column] == 0] = np.inf
                integers[children[room.argmin()], column] -= 1


def _exchange(integers: Places, exact: NDArray[np.float32], tree: Tree, level: int, totals: Places) -> None:
    """Move one from the area with most too many to that with most too few, until every area has its total."""
    parents, starts = tree.parents[level - 1], tree.starts[level - 1]
    lasts = np.append(starts[1:], len(parents)) - 1
    beyond = integers.sum(axis=1) - totals
    while beyond.any():
        order = np.lexsort((beyond, parents))
        most, least = order[lasts], order[starts]
        some = beyond[most] > 0
        most, least = most[some], least[some]
        gain = (integers[most] - exact[most]) - (integers[least] - exact[least])
        gain[integers[most] == 0] = _NEVER
        gain[(exact[least] == 0) & (integers[most] > 0)] -= 1.0
        column = gain.argmax(axis=1)
        integers[most, column] -= 1
        integers[least, column] += 1
        beyond[most] -= 1
        beyond[least] += 1
