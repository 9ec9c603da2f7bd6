"""Neighbours as sparse rows, in an order of the vertices in which hubs have few neighbours after them.

Every search here goes through rows in pieces of bounded work, so that no table of all pairs of vertices is ever there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.graphs._graph import Graph

__all__ = ["Adjacency", "adjacency", "by_degree", "concatenated_rows", "pieces", "sparse_rows"]

_WORK = 2**23
"""So many wedges at once take about 100 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """The neighbours of vertex i are ``neighbours[starts[i] : starts[i + 1]]``, in ascending order. SENSITIVE."""

    starts: NDArray[np.int64]
    neighbours: NDArray[np.int64]

    def of_vertex(self, vertex: int) -> NDArray[np.int64]:
        """The neighbours of one vertex."""
        return self.neighbours[self.starts[vertex] : self.starts[vertex + 1]]

    def degrees(self) -> NDArray[np.int64]:
        """How many each vertex has."""
        return np.diff(self.starts)


def adjacency(vertices: int, tails: NDArray[np.int64], heads: NDArray[np.int64]) -> Adjacency:
    """Arcs from tails to heads as rows.

    >>> adjacency(3, np.array([1, 0, 0]), np.array([2, 2, 1])).of_vertex(0)
    array([1, 2])
    """
    by_head = sparse.coo_array((np.ones(len(tails), np.int8), (heads, tails)), shape=(vertices, vertices)).tocsr()
    by_tail = by_head.tocsc()  # two counting sorts: rows are in the order of their heads then
    return Adjacency(by_tail.indptr.astype(np.int64), by_tail.indices.astype(np.int64))


def by_degree(graph: Graph) -> Adjacency:
    """Each vertex's neighbours, both ways, with vertices renumbered from the highest degree to the lowest.

    Vertices of one degree keep their order. The number of anything that does not name vertices is the same.
    """
    if "by degree" not in graph.computed:
        rank = np.empty(graph.vertices, np.int64)
        rank[np.argsort(-graph.degrees(), kind="stable")] = np.arange(graph.vertices)
        a, b = rank[graph.ends[:, 0]], rank[graph.ends[:, 1]]
        graph.computed["by degree"] = adjacency(graph.vertices, np.concatenate([a, b]), np.concatenate([b, a]))
    return graph.computed["by degree"]


def sparse_rows(rows: Adjacency, keep: NDArray[np.bool_] | None = None) -> sparse.csr_array:
    """Rows as a sparse matrix of ones, with all arcs or with those to keep."""
    n = len(rows.starts) - 1
    if keep is None:
        neighbours, starts = rows.neighbours, rows.starts
    else:
        neighbours = rows.neighbours[keep]
        starts = np.concatenate([[0], np.cumsum(keep)])[rows.starts]
    return sparse.csr_array((np.ones(len(neighbours), np.int64), neighbours, starts), shape=(n, n))


def pieces(work: NDArray[np.int64]) -> Iterator[slice]:
    """Slices of consecutive rows, of bounded work each; one row alone may have more.

    >>> list(pieces(np.array([2**22, 2**22, 1, 2**30, 5])))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    total = np.concatenate([[0], np.cumsum(work)])
    begin = 0
    while begin < len(work):
        end = max(int(np.searchsorted(total, total[begin] + _WORK, side="right")) - 1, begin + 1)
        yield slice(begin, end)
        begin = end


def concatenated_rows(rows: Adjacency, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """The neighbours of all chosen vertices, one after another.

    >>> path = adjacency(3, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))
    >>> concatenated_rows(path, np.array([1, 0]))
    array([0, 2, 1])
    """
    sizes = rows.starts[chosen + 1] - rows.starts[chosen]
    before = np.cumsum(sizes) - sizes
    return rows.neighbours[np.arange(int(sizes.sum())) + np.repeat(rows.starts[chosen] - before, sizes)]
