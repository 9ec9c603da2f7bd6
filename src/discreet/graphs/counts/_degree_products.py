"""Products of the degrees of joined vertices, from which degree assortativity follows.

The proof is in ``proofs/graph_assortativity.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.graphs._graph import Graph
from discreet.graphs.counts._adjacency import adjacency, by_degree
from discreet.graphs.counts._pairs import other_neighbours
from discreet.graphs.counts._statistics import Count

__all__ = ["DegreeProducts", "degree_products", "neighbour_degrees"]

_HALF = 32
_LEAST_STEP = 4


def degree_products(graph: Graph) -> int:
    """The sum over edges of the product of the degrees of both ends: half the walks of three edges. SENSITIVE.

    >>> degree_products(Graph.from_pairs([(0, 1), (1, 2)]))
    4
    """
    degrees = graph.degrees()
    products = degrees[graph.ends[:, 0]] * degrees[graph.ends[:, 1]]
    high, low = products >> _HALF, products & ((1 << _HALF) - 1)
    return (int(high.sum()) << _HALF) + int(low.sum())


def neighbour_degrees(graph: Graph) -> int:
    """The most degrees of the other neighbours of a pair of vertices, added up; 0 if there is no pair. SENSITIVE.

    A common neighbour counts twice, and neither end for the other. Vertices come by the sum of degrees of all their
    neighbours; of those after a vertex, the first that it is not joined to has the largest sum. It looks at each edge
    once at most.

    >>> neighbour_degrees(Graph.from_pairs([(0, 1), (1, 2), (2, 3)]))
    5
    """
    rows = by_degree(graph)
    n, degrees = graph.vertices, rows.degrees()
    around = rows.sums(degrees)
    order = np.argsort(-around, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    arcs = adjacency(n, np.repeat(rank, degrees), rank[rows.neighbours])
    around, degrees = around[order], degrees[order]
    best = 0
    for i in range(n - 1):
        if around[i] + around[i + 1] <= best:
            break
        joined = arcs.of_vertex(i)
        joined = joined[np.searchsorted(joined, i + 1) :]
        run = int(np.argmin(np.concatenate([joined == np.arange(i + 1, i + 1 + len(joined)), [False]])))
        if run:
            others = around[i + 1 : i + 1 + run] - degrees[i + 1 : i + 1 + run]
            best = max(best, int(around[i] - degrees[i] + others.max()))
        if i + 1 + run < n:
            best = max(best, int(around[i] + around[i + 1 + run]))
    return best


@dataclass(frozen=True, slots=True)
class DegreeProducts(Count):
    """The sum over edges of the product of the degrees of both ends.

    The edge ij moves it by (e_i + 1)(e_j + 1) + s_i + s_j: e_i are the neighbours of i beside j, and s_i their degrees.
    A(G, k) is a nested upper bound: the largest product and the largest sum of a pair, each at distance k. Exact at k =
    0 where one pair has both.

    >>> steps = DegreeProducts(4).steps(Graph.from_pairs([(0, 1), (1, 2)], 4))
    >>> [steps(k) for k in range(3)]
    [8, 14, 21]
    """

    @property
    def most(self) -> int:
        """(n − 1)² + 2 (n − 1)(n − 2): in a clique."""
        n = max(self.vertices, 1)
        return (n - 1) ** 2 + 2 * (n - 1) * self._others if n > 1 else 0

    def count(self, graph: Graph) -> int:
        """The sum of products."""
        return degree_products(graph)

    def steps(self, graph: Graph) -> Callable[[int], int]:
        """A nested upper bound."""
        points = [(int(high), int(low)) for high, low in other_neighbours(graph)]
        start, largest, top = neighbour_degrees(graph), int(graph.degrees().max(initial=0)), self.vertices - 1
        first = max(_LEAST_STEP - 1 - largest, 0)  # so many steps of which each adds 4

        def added(k: int) -> int:
            """The sum over t = 1 … k of what step t adds: max(4, min(largest + t, top) + 1)."""
            floor = k if top + 1 <= _LEAST_STEP else min(k, first)
            rising = max(min(k, top - largest) - floor, 0)
            level = k - floor - rising
            return _LEAST_STEP * floor + _sum_of(largest + floor + 2, rising) + level * (top + 1)

        def at_distance(k: int) -> int:
            if k >= 2 * self.vertices:
                return self.most
            product = max(_product(high + 1, low + 1, k, top) for high, low in points)
            return min(product + min(start + added(k), 2 * top * self._others), self.most)

        return at_distance


def _sum_of(first: int, terms: int) -> int:
    """First + (first + 1) + …, so many terms."""
    return terms * first + terms * (terms - 1) // 2


def _product(high: int, low: int, k: int, top: int) -> int:
    """The largest product of two numbers after k steps of 1, neither above top: they are made alike first."""
    raised = min(k, high - low)
    low, k = low + raised, k - raised
    return min(high + k // 2, top) * min(low + k - k // 2, top)
