"""The size of a spanning forest with few edges at each vertex: a linear program between exact bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity
from scipy.sparse.csgraph import minimum_spanning_tree

from discreet.graphs._graph import Graph
from discreet.graphs.node._forest_search import grow_forest, size_of_forest
from discreet.graphs.node._simplex import exact_maximum
from discreet.graphs.node._truncation import Resolution, Truncated

__all__ = ["FORESTS", "ForestMix", "SpanningForests", "attempts", "certified_forests", "exact_forests"]

FORESTS = Resolution(steps=256, slack=4, from_vertices=True)
"""Components are vertices less the forest's size, which may be 1/64 of the cap too large: noise is scaled up by it."""

_ONE = 1 << 30
"""A price or a share of 1, in integers."""
_DESCENT = 600
_PATIENCE = 15
_SHORTER = 0.7
_SHORTEST = 0.02
_SMOOTHING = 0.7
_RECENT = 30
_COLUMNS = 400
_ENTRIES = 1 << 26
_BOX = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class ForestMix:
    """A mean of forests, without any claim that it is within a cap. SENSITIVE.

    `forests` have the positions of their edges in the graph's `ends`; `shares`, shape (forests,), are 0 or more.
    """

    forests: Sequence[NDArray[np.int64]]
    shares: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SpanningForests:
    """The size of the largest forest of a graph under a cap on the edges at each vertex, in fractions. SENSITIVE.

    F is the largest Σ x over the edges, of points x of the forest polytope (means of forests) with at most the cap at
    every vertex: the size of a spanning forest if some has no more edges anywhere, and moved by 0 to the cap when a
    vertex goes. Source: Kalemaj, Raskhodnikova, Smith and Tsourakakis 2023; ``proofs/graph_node_components.md``.

    >>> star = SpanningForests(Graph.from_pairs([(0, leaf) for leaf in range(1, 10)]))
    >>> [star.truncated(cap).value // FORESTS.steps for cap in (4, 8, 16)]
    [4, 8, 9]
    """

    graph: Graph

    def truncated(self, cap: int) -> Truncated:
        """F at a cap, on the grid of `FORESTS`, certified to be within its tolerance."""
        for prices, mix in attempts(self.graph, cap):
            value = certified_forests(self.graph, cap, prices, mix)
            if value is not None:
                return value
        return Truncated(math.ceil(FORESTS.steps * exact_forests(self.graph, cap)), slope=0)


def certified_forests(graph: Graph, cap: int, prices: NDArray[np.float64], mix: ForestMix) -> Truncated | None:
    """An upper bound of F by prices of the vertices, if a mean of forests shows it to be within the tolerance.

    Both are sums of integers. For any prices y ≥ 0, F is at most cap · Σy + the largest Σ (1 − y_a − y_b) of a forest;
    and at least the size of a mean of forests, of which edges at vertices with too many are lowered. None if these two
    are further apart than the tolerance.
    """
    dear = _integers(prices)
    upper = min(_bound(graph, cap, dear)[0], _ONE * size_of_forest(graph.vertices, graph.ends))
    value = -(-upper * FORESTS.steps // _ONE)
    lower = _feasible_size(graph, cap, mix)
    return Truncated(value, slope=0) if value - lower * FORESTS.steps // _ONE <= FORESTS.slack * cap else None


def attempts(graph: Graph, cap: int) -> Iterator[tuple[NDArray[np.float64], ForestMix]]:
    """Prices and means of forests that are tried in turn until one pair is certified; the exact method comes after.

    First a forest that was grown, with a price of 1 for each vertex that blocks it; then prices by steps against the
    edges that are too many, and a forest that is grown by them; then the best mean of many forests, with more and more
    of them. A spanning forest within the cap needs no prices.
    """
    degrees = graph.degrees()
    over = degrees > cap
    grown = grow_forest(graph, cap, np.maximum(degrees - cap, 0) / np.maximum(degrees, 1))
    largest = grown.edges
    yield (grown.blocking & over).astype(np.float64), ForestMix([largest], np.ones(1))
    goal = FORESTS.slack * cap / (2 * FORESTS.steps)
    descent = _descend(graph, cap, over, largest, goal)
    grown = grow_forest(graph, cap, descent.prices)
    largest = max(largest, grown.edges, key=len)
    yield descent.prices, ForestMix([largest], np.ones(1))
    yield from _mixed(graph, cap, over, [largest, *descent.recent], descent.prices)


def exact_forests(graph: Graph, cap: int) -> Fraction:
    """F itself in fractions: forests are added to a mean of them while one betters it. SENSITIVE.

    Source: Dantzig and Wolfe 1960; each forest comes once, so it ends.
    """
    over = np.flatnonzero(graph.degrees() > cap)
    forests = [heaviest_forest(graph, np.zeros(graph.vertices, np.int64), _ONE)]
    while True:
        counts = [_degrees(graph, forest)[over].tolist() for forest in forests]
        rows = [{j: Fraction(count[i]) for j, count in enumerate(counts) if count[i]} for i in range(len(over))]
        rows.append({j: Fraction(1) for j in range(len(forests))})
        bounds = [Fraction(cap)] * len(over) + [Fraction(1)]
        sizes = [Fraction(len(forest)) for forest in forests]
        shares, prices = exact_maximum(sizes, rows, bounds)
        one = math.lcm(*(price.denominator for price in prices))
        dear = np.zeros(graph.vertices, object)
        dear[over] = [int(price * one) for price in prices[:-1]]
        best = _heaviest_by_sorting(graph, dear, one)
        gain = one * len(best) - sum(dear[graph.ends[best]].ravel().tolist())
        if gain <= prices[-1] * one:
            return sum((size * share for size, share in zip(sizes, shares, strict=True)), Fraction(0))
        forests.append(best)


def heaviest_forest(
    graph: Graph, prices: NDArray[np.int64], one: int, favoured: NDArray[np.bool_] | None = None
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
    above, chosen = list(range(graph.vertices)), []

    def top(v: int) -> int:
        while above[v] != v:
            above[v] = above[above[v]]
            v = above[v]
        return v

    for e in sorted(range(len(dear)), key=dear.__getitem__):
        if dear[e] >= one:
            break
        a, b = (top(v) for v in graph.ends[e].tolist())
        if a != b:
            above[a] = b
            chosen.append(e)
    return np.array(chosen, np.int64)


def _integers(values: NDArray[np.float64]) -> NDArray[np.int64]:
    finite = np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0)
    return np.rint(np.clip(finite, 0, 1) * _ONE).astype(np.int64)


def _degrees(graph: Graph, forest: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(graph.ends[forest].ravel(), minlength=graph.vertices)


def _bound(
    graph: Graph, cap: int, prices: NDArray[np.int64], favoured: NDArray[np.bool_] | None = None
) -> tuple[int, NDArray[np.int64]]:
    """What F is at most, in units of 1/2**30, and the forest that shows it."""
    forest = heaviest_forest(graph, prices, _ONE, favoured)
    return cap * int(prices.sum()) + int((_ONE - prices[graph.ends[forest]].sum(axis=1)).sum()), forest


def _feasible_size(graph: Graph, cap: int, mix: ForestMix) -> int:
    """The size of the mean after edges were lowered where a vertex has too many, in units of 1/2**30, rounded down.

    Of what are no forests and of shares that are more than 1 together, nothing is counted.
    """
    shares = np.floor(np.clip(np.nan_to_num(mix.shares), 0, 1) * _ONE).astype(np.int64)
    if int(shares.sum()) > _ONE:
        shares = (shares * (_ONE / float(shares.sum())) * (1 - 2.0**-30)).astype(np.int64)
    weights = np.zeros(len(graph.ends), np.int64)
    for share, forest in zip(shares.tolist(), mix.forests, strict=True):
        edges = np.unique(forest)
        if share and size_of_forest(graph.vertices, graph.ends[edges]) == len(edges):
            weights[edges] += share
    loads, room = _loads(graph, weights), cap * _ONE
    if (loads > room).any():
        part = np.where(loads > room, room / np.maximum(loads, 1) * (1 - 2.0**-40), 1.0)
        lowest = part[graph.ends].min(axis=1)
        weights = np.where(lowest < 1, np.floor(weights * lowest).astype(np.int64), weights)
    fits = int(shares.sum()) <= _ONE and not (_loads(graph, weights) > room).any()
    return int(weights.sum()) if fits else 0


def _loads(graph: Graph, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    loads = np.zeros(graph.vertices, np.int64)
    for column in graph.ends.T:
        np.add.at(loads, column, weights)
    return loads


@dataclass(frozen=True, slots=True, eq=False)
class _Descent:
    """The best prices of a descent, and the forests of its last steps."""

    prices: NDArray[np.float64]
    recent: list[NDArray[np.int64]]


def _descend(graph: Graph, cap: int, over: NDArray[np.bool_], forest: NDArray[np.int64], goal: float) -> _Descent:
    """Lower the bound by steps: a vertex is dearer the more edges the best forest has there beyond the cap.

    Source: Held and Karp 1971; Polyak 1969 for the length of a step, by the size of a forest within the cap.
    """
    liked = np.zeros(len(graph.ends), np.bool_)
    liked[forest] = True
    y = best_y = np.zeros(graph.vertices)
    best, smooth, length, idle = math.inf, np.zeros(graph.vertices), 1.0, 0
    recent: list[NDArray[np.int64]] = []
    for _ in range(_DESCENT):
        bound, heaviest = _bound(graph, cap, _integers(y), liked)
        value = bound / _ONE
        recent = [*recent[1 - _RECENT :], heaviest]
        if value < best - 1e-6:
            best, best_y, idle = value, y, 0
        else:
            idle += 1
            if idle == _PATIENCE:
                length, idle, y = length * _SHORTER, 0, best_y
        smooth = _SMOOTHING * smooth + (1 - _SMOOTHING) * (cap - _degrees(graph, heaviest)) * over
        step = np.where((y <= 0) & (smooth > 0), 0, smooth)
        square = float((step**2).sum())
        if square == 0 or best - len(forest) < goal or length < _SHORTEST:
            break
        y = np.clip(y - length * max(value - len(forest), 0.05) / square * step, 0, 1)
    return _Descent(best_y, recent)


def _mixed(
    graph: Graph, cap: int, over: NDArray[np.bool_], forests: Sequence[NDArray[np.int64]], prices: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], ForestMix]]:
    """The best mean of the forests so far within the cap, and the forest that betters it most, in turn.

    Prices stay in a box around the best ones so far, beyond which the program pays for a breach instead; the box is
    widened where its middle is best. Ends with no more to add, or after so many forests. Source: Marsten, Hogan and
    Blankenship 1975.
    """
    rows = np.flatnonzero(over)
    pool = {forest.tobytes(): forest for forest in forests}
    liked = np.zeros(len(graph.ends), np.bool_)
    liked[forests[0]] = True
    best, box = _bound(graph, cap, _integers(prices))[0], _BOX
    breach = identity(len(rows))
    for _ in range(min(_COLUMNS, _ENTRIES // max(len(rows), 1))):
        members = list(pool.values())
        counts = csr_array(np.column_stack([_degrees(graph, forest)[rows] for forest in members]).astype(np.float64))
        low, high = np.maximum(prices[rows] - box, 0), np.minimum(prices[rows] + box, 1)
        answer: Any = linprog(
            -np.concatenate([[len(forest) for forest in members], -high, low]),
            A_ub=hstack([counts, -breach, breach]),
            b_ub=np.full(len(rows), float(cap)),
            A_eq=np.concatenate([np.ones(len(members)), np.zeros(2 * len(rows))])[None],
            b_eq=np.ones(1),
            bounds=(0, None),
            method="highs",
        )
        if answer.x is None:
            return
        shares = np.asarray(answer.x, np.float64)[: len(members)]
        y = np.zeros(graph.vertices)
        y[rows] = np.clip(np.nan_to_num(-np.asarray(answer.ineqlin.marginals, np.float64)), 0, 1)
        bound, heaviest = _bound(graph, cap, _integers(y), liked)
        if bound < best:
            best, prices = bound, y
        yield prices, ForestMix(members, shares)
        if heaviest.tobytes() in pool:
            if box >= 1:
                return
            box *= 4
        pool[heaviest.tobytes()] = heaviest
