"""Prices and means of forests that bring the bounds together: by steps against the load, then by linear programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, vstack

from discreet.graphs.node.forests._bounds import ONE, ForestMix, as_integers, forest_degrees, priced, split_by_block
from discreet.graphs.node.forests._growth import GrownForest, grow_forest
from discreet.graphs.node.forests._pieces import CappedGraph

__all__ = ["attempts", "grown_attempt"]

_DESCENT = 600
_PATIENCE = 15
_SHORTER = 0.7
_SHORTEST = 0.02
_SMOOTHING = 0.7
_RECENT = 30
_ROUNDS = 400
_ENTRIES = 1 << 26
_BOX = 0.02

Attempt = tuple[NDArray[np.float64], ForestMix]
"""Prices of the vertices, and a mean of forests."""


def grown_attempt(capped: CappedGraph) -> Attempt:
    """A forest that was grown under the caps, with a price of 1 for each vertex that blocks it. SENSITIVE.

    A spanning forest within the caps needs no prices.
    """
    degrees = capped.graph.degrees()
    grown = grow_forest(capped, np.maximum(degrees - capped.caps, 0) / np.maximum(degrees, 1))
    return (grown.blocking & capped.over).astype(np.float64), _single(grown)


def attempts(capped: CappedGraph, forest: NDArray[np.int64], goal: float) -> Iterator[Attempt]:
    """What is tried in turn where a grown forest does not do; the exact method comes after. SENSITIVE.

    First prices by steps against the edges that are too many, until they are within the goal of a forest that is known
    to be under the caps, and a forest that is grown by them; then the best mean of many forests, with more and more of
    them.
    """
    descent = _descend(capped, forest, goal)
    grown = _single(grow_forest(capped, descent.prices))
    largest = max(forest, *grown.forests, key=len)
    yield descent.prices, ForestMix([largest], np.ones(1))
    yield from _mixed(capped, [largest, *descent.recent], descent.prices)


def _single(grown: GrownForest) -> ForestMix:
    return ForestMix([grown.edges], np.ones(1))


@dataclass(frozen=True, slots=True, eq=False)
class _Descent:
    """The best prices of a descent, and the forests of its last steps."""

    prices: NDArray[np.float64]
    recent: list[NDArray[np.int64]]


def _descend(capped: CappedGraph, forest: NDArray[np.int64], goal: float) -> _Descent:
    """Lower the bound by steps: a vertex is dearer the more edges the best forest has there beyond the cap.

    Source: Held and Karp 1971; Polyak 1969 for the length of a step, by the size of a forest within the cap.
    """
    graph = capped.graph
    liked = np.zeros(graph.edges, np.bool_)
    liked[forest] = True
    y = best_y = np.zeros(graph.vertices)
    best, smooth, length, idle = math.inf, np.zeros(graph.vertices), 1.0, 0
    recent: list[NDArray[np.int64]] = []
    for _ in range(_DESCENT):
        bound, heaviest = priced(capped, as_integers(y), liked)
        value = bound / ONE
        recent = [*recent[1 - _RECENT :], heaviest]
        if value < best - 1e-6:
            best, best_y, idle = value, y, 0
        else:
            idle += 1
            if idle == _PATIENCE:
                length, idle, y = length * _SHORTER, 0, best_y
        room = (capped.caps - forest_degrees(graph, heaviest)) * capped.over
        smooth = _SMOOTHING * smooth + (1 - _SMOOTHING) * room
        step = np.where((y <= 0) & (smooth > 0), 0, smooth)
        square = float((step**2).sum())
        if square == 0 or best - len(forest) < goal or length < _SHORTEST:
            break
        y = np.clip(y - length * max(value - len(forest), 0.05) / square * step, 0, 1)
    return _Descent(best_y, recent)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A forest of one block, and at which rows of the program it has how many edges."""

    forest: NDArray[np.int64]
    rows: NDArray[np.int64]
    entries: NDArray[np.int64]


class _Pool:
    """The forests of the program so far, those of a block apart from those of others."""

    def __init__(self, capped: CappedGraph, over: NDArray[np.int64]) -> None:
        self._capped, self.caps = capped, len(over)
        self.blocks = int(capped.blocks.max(initial=-1)) + 1
        self._row = np.full(capped.graph.vertices, -1, np.int64)
        self._row[over] = np.arange(len(over))
        self._columns: dict[bytes, _Column] = {}

    @property
    def forests(self) -> list[NDArray[np.int64]]:
        return [column.forest for column in self._columns.values()]

    def add(self, forest: NDArray[np.int64]) -> bool:
        """Put in the parts of a forest in each block; whether one of them is new."""
        before = len(self._columns)
        for part in split_by_block(self._capped, forest):
            if part.tobytes() not in self._columns:
                at = self._row[self._capped.graph.ends[part].ravel()]
                rows, entries = np.unique(at[at >= 0], return_counts=True)
                block = self.caps + self._capped.blocks[part[:1]]
                self._columns[part.tobytes()] = _Column(part, np.append(rows, block), np.append(entries, 1))
        return len(self._columns) > before

    def matrix(self) -> csr_array:
        """A column for each forest; a row for each vertex over its cap, then one for each block."""
        columns = list(self._columns.values())
        rows = np.concatenate([column.rows for column in columns])
        entries = np.concatenate([column.entries for column in columns]).astype(np.float64)
        places = np.repeat(np.arange(len(columns)), [len(column.rows) for column in columns])
        return csr_array((entries, (rows, places)), shape=(self.caps + self.blocks, len(columns)))


def _mixed(capped: CappedGraph, forests: Sequence[NDArray[np.int64]], prices: NDArray[np.float64]) -> Iterator[Attempt]:
    """The best mean of the forests so far within the caps, and those of each block that better it most, in turn.

    Prices stay in a box around the best ones so far, beyond which the program pays for a breach instead; the box is
    widened where its middle is best. Ends with no more to add, or after so many rounds. Source: Dantzig and Wolfe
    1960; Marsten, Hogan and Blankenship 1975.
    """
    over = np.flatnonzero(capped.over)
    pool = _Pool(capped, over)
    for forest in forests:
        pool.add(forest)
    liked = np.zeros(capped.graph.edges, np.bool_)
    liked[forests[0]] = True
    best, box = priced(capped, as_integers(prices))[0], _BOX
    breach = vstack([identity(len(over)), csr_array((pool.blocks, len(over)))])
    limits = np.concatenate([capped.caps[over], np.ones(pool.blocks)]).astype(np.float64)
    for _ in range(_ROUNDS):
        members = pool.forests
        low, high = np.maximum(prices[over] - box, 0), np.minimum(prices[over] + box, 1)
        answer: Any = linprog(
            -np.concatenate([[len(forest) for forest in members], -high, low]),
            A_ub=hstack([pool.matrix(), -breach, breach]),
            b_ub=limits,
            bounds=(0, None),
            method="highs",
        )
        if answer.x is None:
            return
        shares = np.asarray(answer.x, np.float64)[: len(members)]
        y = np.zeros(capped.graph.vertices)
        duals = -np.asarray(answer.ineqlin.marginals, np.float64)[: len(over)]
        y[over] = np.clip(np.nan_to_num(duals), 0, 1)
        bound, heaviest = priced(capped, as_integers(y), liked)
        if bound < best:
            best, prices = bound, y
        yield prices, ForestMix(members, shares)
        if not pool.add(heaviest):
            if box >= 1:
                return
            box *= 4
        if len(pool.forests) * len(over) > _ENTRIES:
            return
