"""Bounds of the largest forest under caps, in integers: by prices from above, by means of forests from below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from discreet.graphs._graph import Graph
from discreet.graphs.node._simplex import Tableau
from discreet.graphs.node.forests._growth import Parts, size_of_forest
from discreet.graphs.node.forests._pieces import CappedGraph

__all__ = [
    "ONE",
    "Bounds",
    "ForestMix",
    "as_integers",
    "bounds",
    "exact_forests",
    "forest_degrees",
    "priced",
    "split_by_block",
]

ONE = 1 << 30
"""A price, a share or an edge of 1, in integers."""


@dataclass(frozen=True, slots=True, eq=False)
class ForestMix:
    """A mean of forests in each block, without any claim that it is within the caps. SENSITIVE.

    `forests` have the positions of their edges in the graph's `ends`; `shares`, shape (forests,), are 0 or more. A
    forest counts in the blocks that it has edges in, and there the shares are 1 together, or less.
    """

    forests: Sequence[NDArray[np.int64]]
    shares: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """F is between these two, in units of 1/2**30. SENSITIVE."""

    lower: int | Fraction
    upper: int | Fraction

    @property
    def gap(self) -> int | Fraction:
        return self.upper - self.lower

    def within(self, other: Bounds) -> Bounds:
        """The better ones of two."""
        return Bounds(max(self.lower, other.lower), min(self.upper, other.upper))


def bounds(capped: CappedGraph, prices: NDArray[np.float64], mix: ForestMix) -> Bounds:
    """Of F, whatever the prices of the vertices and the forests are. SENSITIVE.

    For any prices y ≥ 0, F is at most Σ caps · y + the largest Σ (1 − y_a − y_b) of a forest; and at least the size of
    a mean of forests in each block, of which edges at vertices with too many are lowered.
    """
    graph = capped.graph
    upper = min(priced(capped, as_integers(prices))[0], ONE * size_of_forest(graph.vertices, graph.ends))
    return Bounds(_feasible_size(capped, mix), upper)


def priced(
    capped: CappedGraph, prices: NDArray[np.int64], favoured: NDArray[np.bool_] | None = None
) -> tuple[int, NDArray[np.int64]]:
    """What F is at most by prices, in units of 1/2**30, and the forest that shows it; favoured edges come first."""
    ends = capped.graph.ends
    forest = _heaviest(capped.graph, prices, ONE, favoured)
    return int((capped.caps * prices).sum()) + int((ONE - prices[ends[forest]].sum(axis=1)).sum()), forest


def exact_forests(capped: CappedGraph, forests: Sequence[NDArray[np.int64]] = ()) -> Fraction:
    """F itself in fractions: forests of a block are added to a mean of them while one betters it. SENSITIVE.

    Some forests to begin with can be given. Source: Dantzig and Wolfe 1960; each forest comes once, so it ends.
    """
    graph, blocks, over = capped.graph, capped.blocks, np.flatnonzero(capped.over)
    row = {v: i for i, v in enumerate(over.tolist())}
    rooms = [Fraction(cap) for cap in capped.caps[over].tolist()]
    table = Tableau([*rooms, *[Fraction(1)] * (int(blocks.max(initial=-1)) + 1)])

    def add(forest: NDArray[np.int64]) -> None:
        column = {len(over) + int(blocks[forest[0]]): Fraction(1)}
        for v in graph.ends[forest].ravel().tolist():
            if v in row:
                column[row[v]] = column.get(row[v], Fraction(0)) + 1
        table.add(Fraction(len(forest)), column)

    known = {part.tobytes(): part for forest in forests for part in split_by_block(capped, forest)}
    for part in known.values():
        add(part)
    while True:
        table.maximise()
        prices = table.prices()
        one = math.lcm(*(price.denominator for price in prices))
        dear = np.zeros(graph.vertices, object)
        dear[over] = [int(price * one) for price in prices[: len(over)]]
        better = False
        for part in split_by_block(capped, _heaviest_by_sorting(graph, dear, one)):
            gain = one * len(part) - sum(dear[graph.ends[part]].ravel().tolist())
            if gain > prices[len(over) + int(blocks[part[0]])] * one:
                add(part)
                better = True
        if not better:
            return table.value


def split_by_block(capped: CappedGraph, forest: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The edges of a forest in each block where it has some, in their order."""
    labels = capped.blocks[forest]
    order = np.argsort(labels, kind="stable")
    return [part for part in np.split(forest[order], np.flatnonzero(np.diff(labels[order])) + 1) if len(part)]


def as_integers(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Prices in units of 1/2**30, between 0 and 1, whatever they are."""
    finite = np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0)
    return np.rint(np.clip(finite, 0, 1) * ONE).astype(np.int64)


def forest_degrees(graph: Graph, forest: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many edges of a forest each vertex has."""
    return np.bincount(graph.ends[forest].ravel(), minlength=graph.vertices)


def _heaviest(
    graph: Graph, prices: NDArray[np.int64], one: int, favoured: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """The edges of a forest of largest Σ (one − y_a − y_b), positions in `ends`; favoured ones first among equals.

    Prices are integers below 2**50, so that they are exact as floats, of which the library makes them.
    """
    ends, n = graph.ends, graph.vertices
    dear = prices[ends].sum(axis=1)
    liked = np.zeros(len(ends), np.bool_) if favoured is None else favoured
    worth = np.flatnonzero((dear < one) | ((dear == one) & liked))
    keys = (2 * dear[worth] + 2 - liked[worth]).astype(np.float64)
    tree: Any = minimum_spanning_tree(csr_array((keys, (ends[worth, 0], ends[worth, 1])), shape=(n, n))).tocoo()
    codes = np.minimum(tree.row, tree.col).astype(np.int64) * n + np.maximum(tree.row, tree.col)
    return np.sort(np.searchsorted(ends[:, 0] * n + ends[:, 1], codes)).astype(np.int64)


def _heaviest_by_sorting(graph: Graph, prices: NDArray[Any], one: int) -> NDArray[np.int64]:
    """The same by Kruskal's method, for integers of any size."""
    dear = [prices[a] + prices[b] for a, b in graph.ends.tolist()]
    parts, ends = Parts(graph.vertices), graph.ends.tolist()
    worth = [e for e in sorted(range(len(dear)), key=dear.__getitem__) if dear[e] < one]
    return np.array([e for e in worth if parts.join(*ends[e])], np.int64)


def _feasible_size(capped: CappedGraph, mix: ForestMix) -> int:
    """The size of the mean after edges were lowered where a vertex has too many, in units of 1/2**30, rounded down.

    Of what are no forests and of shares that are more than 1 together in a block, nothing is counted.
    """
    graph, blocks = capped.graph, capped.blocks
    shares = np.floor(np.clip(np.nan_to_num(mix.shares), 0, 1) * ONE).astype(np.int64)
    counted = [
        (j, edges)
        for j, edges in enumerate(np.unique(forest) for forest in mix.forests)
        if shares[j] and _is_forest(graph.ends[edges])
    ]
    present = [(j, edges, np.unique(blocks[edges])) for j, edges in counted]
    together = _together(present, shares, blocks)
    if together > ONE:
        shares = (shares * (ONE / together) * (1 - 2.0**-30)).astype(np.int64)
    weights = np.zeros(len(graph.ends), np.int64)
    for j, edges, _ in present:
        weights[edges] += shares[j]
    loads, room = _loads(graph, weights), capped.caps * ONE
    if (loads > room).any():
        part = np.where(loads > room, room / np.maximum(loads, 1) * (1 - 2.0**-40), 1.0)
        lowest = part[graph.ends].min(axis=1)
        weights = np.where(lowest < 1, np.floor(weights * lowest).astype(np.int64), weights)
    fits = _together(present, shares, blocks) <= ONE and not (_loads(graph, weights) > room).any()
    return int(weights.sum()) if fits else 0


def _together(
    present: Sequence[tuple[int, NDArray[np.int64], NDArray[np.int64]]],
    shares: NDArray[np.int64],
    blocks: NDArray[np.int64],
) -> int:
    """The sum of the shares in the block where it is largest."""
    sums = np.zeros(int(blocks.max(initial=0)) + 1, np.int64)
    for j, _, at in present:
        sums[at] += shares[j]
    return int(sums.max())


def _is_forest(ends: NDArray[np.int64]) -> bool:
    vertices, numbers = np.unique(ends, return_inverse=True)
    return size_of_forest(len(vertices), numbers.reshape(-1, 2)) == len(ends)


def _loads(graph: Graph, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    loads = np.zeros(graph.vertices, np.int64)
    for column in graph.ends.T:
        np.add.at(loads, column, weights)
    return loads
