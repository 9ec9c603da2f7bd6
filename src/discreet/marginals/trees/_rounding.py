"""Controlled rounding: whole numbers beside those of a table, whose rows and columns have given whole sums.

Each cell of a table whose sums are whole can be rounded down or up so that all sums stay as they are: such a rounding
is an integral flow, and a fractional one is given (Cox, "A Constructive Procedure for Unbiased Controlled Rounding",
Journal of the American Statistical Association 82, 1987). Most parents need no more than exchanges between two of
their areas; a maximum flow settles the rest.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from discreet.marginals.trees._non_negative import SparseCells
from discreet.marginals.trees._tree import Tree

__all__ = ["rounded_children", "rounded_totals"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Moves = NDArray[np.int8]
"""For each cell whether it may be raised, may be lowered, or neither."""
_FIXED, _DOWN, _UP = 0, 1, 2
_NOTHING = 1e-6
_NEVER = -np.inf


def rounded_totals(tree: Tree, level: int, totals: Numbers, above: Places) -> Places:
    """Whole totals within 1 of those of a level that sum to those above: the largest fractions are rounded up.

    >>> tree = Tree.of_parents([[0, 0, 0]])
    >>> rounded_totals(tree, 1, np.array([1.2, 0.5, 2.3]), np.array([4]))
    array([1, 1, 2])
    """
    parents, starts = tree.parents[level - 1], tree.starts[level - 1]
    floors = np.floor(totals + _NOTHING).astype(np.int64)
    missing = above - tree.up(level - 1, floors)
    order = np.lexsort((floors - totals, parents))
    rank = np.empty(len(totals), np.int64)
    rank[order] = np.arange(len(totals)) - starts[parents]
    return floors + (rank < missing[parents])


def rounded_children(tree: Tree, level: int, near: SparseCells, above: Places, totals: Places) -> Places:
    """Whole cells beside those of a level, whose sums over children and over cells are given.

    Each cell is rounded down or up, and one that is whole stays, if the sums of `near` are the given ones; where they
    are only close to them and no such rounding has them, a cell may be off by somewhat more than 1.

    Column by column the areas that were given least so far are rounded up. What is then left over in an area is
    exchanged with another of the same parent, in the cell where it moves both least from where they were, or handed on
    over several areas.
    """
    parents = tree.parents[level - 1]
    exact = np.zeros((len(totals), above.shape[1]), np.float32)
    exact[near.rows, near.columns] = near.values
    integer = np.zeros(exact.shape, np.int64)
    floors = np.floor(near.values + _NOTHING).astype(np.int64)
    integer[near.rows, near.columns] = floors
    moves = np.zeros(exact.shape, np.int8)
    _raise_fractions(integer, moves, near, near.values - floors, above - tree.up(level - 1, integer), parents)
    _meet_columns(integer, moves, exact, tree, level, above)
    _exchange_within(integer, moves, exact, tree, level, totals)
    _hand_on(integer, moves, near, parents, totals)
    _exchange(integer, exact, tree, level, totals)
    return integer


def _raise_fractions(  # noqa: PLR0913, PLR0917
    integer: Places, moves: Moves, near: SparseCells, fractions: Numbers, missing: Places, parents: Places
) -> None:
    """In each column of each parent, round up as many cells as its sum asks for."""
    has = fractions > _NOTHING
    rows, columns, fractions = near.rows[has], near.columns[has], fractions[has]
    moves[rows, columns] = _DOWN
    order = np.argsort(columns, kind="stable")
    rows, columns, fractions = rows[order], columns[order], fractions[order]
    ends = np.searchsorted(columns, np.arange(integer.shape[1] + 1))
    owed = np.zeros(len(integer))
    for column, (begin, end) in enumerate(pairwise(ends.tolist())):
        there = rows[begin:end]
        owed[there] += fractions[begin:end]
        order = np.lexsort((-owed[there], parents[there]))
        sorted_parents = parents[there][order]
        rank = np.arange(end - begin) - np.searchsorted(sorted_parents, sorted_parents)
        up = there[order][rank < missing[sorted_parents, column]]
        integer[up, column] += 1
        moves[up, column] = _UP
        owed[up] -= 1


def _meet_columns(  # noqa: PLR0913, PLR0917
    integer: Places, moves: Moves, exact: NDArray[np.float32], tree: Tree, level: int, above: Places
) -> None:
    """Give or take what rounding errors left in a column."""
    starts = tree.starts[level - 1]
    left = above - tree.up(level - 1, integer)
    ends = [*starts[1:].tolist(), len(integer)]
    for parent, column in np.argwhere(left).tolist():
        children = np.arange(starts[parent], ends[parent])
        moves[children, column] = _FIXED
        for _ in range(abs(int(left[parent, column]))):
            room = exact[children, column] - integer[children, column]
            if left[parent, column] > 0:
                integer[children[room.argmax()], column] += 1
            else:
                room[integer[children, column] == 0] = np.inf
                integer[children[room.argmin()], column] -= 1


def _exchange_within(  # noqa: PLR0913, PLR0917
    integer: Places, moves: Moves, exact: NDArray[np.float32], tree: Tree, level: int, totals: Places
) -> None:
    """As `_exchange`, but only in cells that one area has rounded up and the other down, while there are such."""
    parents, starts = tree.parents[level - 1], tree.starts[level - 1]
    lasts = np.append(starts[1:], len(parents)) - 1
    beyond = integer.sum(axis=1) - totals
    busy = np.ones(len(starts), bool)
    while True:
        order = np.lexsort((beyond, parents))
        most, least = order[lasts], order[starts]
        busy &= (beyond[most] > 0) & (beyond[least] < 0)
        most, least = most[busy], least[busy]
        if not len(most):
            break
        gain = (integer[most] - exact[most]) - (integer[least] - exact[least])
        gain[(moves[most] != _UP) | (moves[least] != _DOWN)] = _NEVER
        column = gain.argmax(axis=1)
        can = gain[np.arange(len(column)), column] > _NEVER
        busy[parents[most[~can]]] = False
        most, least, column = most[can], least[can], column[can]
        integer[most, column] -= 1
        integer[least, column] += 1
        moves[most, column], moves[least, column] = _DOWN, _UP
        beyond[most] -= 1
        beyond[least] += 1


def _hand_on(integer: Places, moves: Moves, near: SparseCells, parents: Places, totals: Places) -> None:
    """Bring what areas have too many to those with too few, by cells rounded up and down on the way: a maximum flow.

    It runs from areas to columns through cells that may be lowered, and from columns to areas through those that may
    be raised.
    """
    beyond = integer.sum(axis=1) - totals
    off = np.zeros(int(parents[-1]) + 1, bool)
    off[parents[beyond != 0]] = True
    some = off[parents[near.rows]]
    rows, columns = near.rows[some], near.columns[some]
    some = moves[rows, columns] != _FIXED
    rows, columns = rows[some], columns[some]
    if not len(rows):
        return
    areas, tails = np.unique(rows, return_inverse=True)
    keys, heads = np.unique(parents[rows] * integer.shape[1] + columns, return_inverse=True)
    tails, heads = tails + 2, heads + 2 + len(areas)
    lower = moves[rows, columns] == _UP
    many, few = np.flatnonzero(beyond[areas] > 0), np.flatnonzero(beyond[areas] < 0)
    start = np.concatenate([np.zeros_like(many), few + 2, np.where(lower, tails, heads)])
    end = np.concatenate([many + 2, np.ones_like(few), np.where(lower, heads, tails)])
    room = np.concatenate([beyond[areas][many], -beyond[areas][few], np.ones_like(rows)]).astype(np.int32)
    nodes = 2 + len(areas) + len(keys)
    flow = csr_array(maximum_flow(csr_array((room, (start, end)), shape=(nodes, nodes)), 0, 1).flow)
    change = -np.asarray(flow[tails, heads]).ravel()
    integer[rows, columns] += change
    moves[rows, columns] += change.astype(np.int8)


def _exchange(integer: Places, exact: NDArray[np.float32], tree: Tree, level: int, totals: Places) -> None:
    """Move one from the area with most too many to that with most too few, until every area has its total.

    More than one at once where many are left over, so that this ends soon.
    """
    parents, starts = tree.parents[level - 1], tree.starts[level - 1]
    lasts = np.append(starts[1:], len(parents)) - 1
    beyond = integer.sum(axis=1) - totals
    while beyond.any():
        order = np.lexsort((beyond, parents))
        most, least = order[lasts], order[starts]
        some = beyond[most] > 0
        most, least = most[some], least[some]
        gain = (integer[most] - exact[most]) - (integer[least] - exact[least])
        gain[integer[most] == 0] = _NEVER
        gain[(exact[least] == 0) & (integer[most] > 0)] -= 1.0
        column = gain.argmax(axis=1)
        at_most = np.minimum(np.minimum(beyond[most], -beyond[least]), integer[most, column])
        moved = np.maximum(at_most // (2 * integer.shape[1]), 1)
        integer[most, column] -= moved
        integer[least, column] += moved
        beyond[most] -= moved
        beyond[least] += moved
