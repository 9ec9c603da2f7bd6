"""Local clustering, summed over vertices: its exact value, and how far an edge moves it.

The clustering of a vertex is the share of pairs of its neighbours that are joined, and 0 if it has fewer than two. An
edge moves that of its ends, and that of each common neighbour w by 1/C(d, 2), d being the degree of w: so common
neighbours that have few others count. Proofs: ``proofs/graph_clustering.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.graphs._graph import Graph
from discreet.graphs.counts._adjacency import Adjacency, adjacency, by_degree, pieces, sparse_rows
from discreet.graphs.counts._statistics import Count
from discreet.graphs.counts._subgraphs import vertex_triangles

__all__ = ["CLUSTERING_UNIT", "ClusteringSum", "clustering_sum", "largest_shared"]

CLUSTERING_UNIT = 2**32
"""A local clustering coefficient of 1, in the units of `ClusteringSum`."""


def clustering_sum(graph: Graph) -> Fraction:
    """The sum of all local clustering coefficients, exactly. SENSITIVE.

    >>> clustering_sum(Graph.from_pairs([(0, 1), (1, 2), (0, 2), (2, 3)]))
    Fraction(7, 3)
    """
    degrees = by_degree(graph).degrees()
    at_degree = np.zeros(graph.vertices + 2, np.int64)
    np.add.at(at_degree, degrees, vertex_triangles(graph))
    return sum((Fraction(2 * int(at_degree[d]), int(d * (d - 1))) for d in np.flatnonzero(at_degree)), Fraction(0))


def largest_shared(rows: Adjacency, weights: NDArray[np.int64]) -> int:
    """The largest sum of weights of the common neighbours of two vertices; 0 if none have any. SENSITIVE.

    Common neighbours weigh no more than all neighbours of either vertex. Vertices come by that weight, few of them
    first, and the search ends where it is no more than the best sum. Time O(wedges between vertices that are left).

    >>> path = adjacency(3, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))
    >>> largest_shared(path, np.array([3, 5, 3]))
    5
    """
    n, degrees = len(rows.starts) - 1, rows.degrees()
    around = rows.sums(weights)
    order = np.argsort(-around, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    arcs = adjacency(n, np.repeat(rank, degrees), rank[rows.neighbours])
    around, matrix = around[order], sparse_rows(arcs)
    weighted = matrix.copy()
    weighted.data = np.repeat(weights[order], arcs.degrees())
    best, begin, end = 0, 0, n + 1
    work = np.empty(0, np.int64)
    while (left := int(np.searchsorted(-around, -best, side="left"))) > begin:
        if 2 * left <= end or not len(work):
            end, weighted = left, weighted[:, :left]
            sizes = np.diff(weighted.indptr)
            work = np.diff(np.concatenate([[0], np.cumsum(sizes[matrix.indices])])[matrix.indptr])
        rows_at_once = min(next(pieces(work[begin:left])).stop, max(begin, 1))
        shared = (matrix[begin : begin + rows_at_once] @ weighted).tocoo()
        best = max(best, int(shared.data[shared.col > shared.row + begin].max(initial=0)))
        begin += rows_at_once
    return best


@dataclass(frozen=True, slots=True)
class ClusteringSum(Count):
    """The sum of local clustering coefficients, in units of 2**−32: vertices times the average clustering.

    A(G, k) is a nested upper bound: 2 + F + k, and the number of vertices at most. F is the largest sum over common
    neighbours of a pair of 1/C(d, 2), d being their degree, but 1/2 for 3, rounded up to units: with that, one edge
    moves F by 1 at most. 2 is for the ends of the edge.

    >>> steps = ClusteringSum(5).steps(Graph.from_pairs([(0, 1), (1, 2)], 5))
    >>> [steps(k) / CLUSTERING_UNIT for k in range(4)]
    [3.0, 4.0, 5.0, 5.0]
    """

    shape_per_epsilon: ClassVar[int] = 8
    least_shape: ClassVar[int] = 6

    @property
    def most(self) -> int:
        """A coefficient of each vertex: n, in units, if there are 3 vertices."""
        return self.vertices * CLUSTERING_UNIT if self.vertices > 2 else 0

    @property
    def unit(self) -> Fraction:
        """What one unit is of the average clustering."""
        return Fraction(1, max(self.vertices, 1) * CLUSTERING_UNIT)

    def count(self, graph: Graph) -> Fraction:
        """The sum, in units."""
        return CLUSTERING_UNIT * clustering_sum(graph)

    def steps(self, graph: Graph) -> Callable[[int], int]:
        """A nested upper bound."""
        rows = by_degree(graph)
        start = 2 * CLUSTERING_UNIT + largest_shared(rows, _weights(rows.degrees()))
        return lambda k: min(start + k * CLUSTERING_UNIT, self.most)


def _weights(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """1/C(d, 2) in units, rounded up, but 1/2 for d = 3; 0 below 2."""
    d = np.maximum(degrees, 2)
    weights = -(-2 * CLUSTERING_UNIT // (d * (d - 1)))
    weights[degrees == 3] = CLUSTERING_UNIT // 2
    weights[degrees < 2] = 0
    return weights
