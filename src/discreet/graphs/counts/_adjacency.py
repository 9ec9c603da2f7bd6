"""Neighbours as sparse rows, in an order of the vertices in which hubs have few neighbours after them.

Every search here goes through rows in pieces of bounded work, so that no table of all pairs of vertices is ever there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.graphs._graph import Graph

__all__ = [
    "Adjacency",
    "adjacency",
    "both_ways",
    "by_degree",
    "concatenated_rows",
    "from_hubs",
    "pieces",
    "sparse_rows",
    "to_hubs",
]

_HALF = 32
_PIECE = 2**22
_MOST_SHORT = 2**31
_WORK = 2**23
"""So many wedges at once take about 100 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """The neighbours of vertex i are ``neighbours[starts[i] : starts[i + 1]]``, in ascending order. SENSITIVE.

    `starts` is int64, `neighbours` int32.
    """

    starts: NDArray[np.int64]
    neighbours: NDArray[np.int32]

    def of_vertex(self, vertex: int) -> NDArray[np.int32]:
        """The neighbours of one vertex."""
        return self.neighbours[self.starts[vertex] : self.starts[vertex + 1]]

    def degrees(self) -> NDArray[np.int64]:
        """How many each vertex has."""
        return np.diff(self.starts)

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each vertex the sum of its neighbours' weights, with memory for a piece of the neighbours at a time.

        >>> adjacency(3, np.array([1, 0, 0]), np.array([2, 2, 1])).sums(np.array([1, 10, 100]))
        array([110, 100,   0])
        """
        sums = np.empty(len(self.starts) - 1, np.int64)
        for piece in pieces(self.degrees()):
            starts = self.starts[piece.start : piece.stop + 1]
            running = np.cumsum(weights[self.neighbours[starts[0] : starts[-1]]])
            sums[piece] = np.diff(np.concatenate([[0], running])[starts - starts[0]])
        return sums


def adjacency(vertices: int, tails: NDArray[np.integer], heads: NDArray[np.integer]) -> Adjacency:
    """Arcs from tails to heads as rows.

    >>> adjacency(3, np.array([1, 0, 0]), np.array([2, 2, 1])).of_vertex(0)
    array([1, 2], dtype=int32)
    """
    arcs = np.empty(len(tails), np.int64)
    for piece in _slices(len(arcs)):
        arcs[piece] = _arcs(tails[piece], heads[piece])
    return _as_rows(vertices, arcs)


def both_ways(graph: Graph, rank: NDArray[np.integer]) -> Adjacency:
    """Each edge as two arcs, with vertices renumbered: `rank` has the number of each.

    >>> both_ways(Graph.from_pairs([(0, 1), (1, 2)]), np.array([2, 1, 0])).of_vertex(1)
    array([0, 2], dtype=int32)
    """
    edges = graph.edges
    arcs = np.empty(2 * edges, np.int64)
    for piece in _slices(edges):
        a, b = rank[graph.ends[piece, 0]], rank[graph.ends[piece, 1]]
        arcs[piece] = _arcs(a, b)
        arcs[edges + piece.start : edges + piece.stop] = _arcs(b, a)
    return _as_rows(graph.vertices, arcs)


def _arcs(tails: NDArray[np.integer], heads: NDArray[np.integer]) -> NDArray[np.int64]:
    return (tails.astype(np.int64) << _HALF) | heads


def _as_rows(vertices: int, arcs: NDArray[np.int64]) -> Adjacency:
    """Rows of arcs, each a tail and a head in one number; the arcs are sorted where they are."""
    arcs.sort()
    starts = np.searchsorted(arcs, np.arange(vertices + 1, dtype=np.int64) << _HALF)
    heads = np.empty(len(arcs), np.int32)
    for piece in _slices(len(arcs)):
        heads[piece] = arcs[piece] & ((1 << _HALF) - 1)
    return Adjacency(starts, heads)


def _slices(length: int) -> Iterator[slice]:
    for begin in range(0, length, _PIECE):
        yield slice(begin, min(begin + _PIECE, length))


def by_degree(graph: Graph) -> Adjacency:
    """Each vertex's neighbours, both ways, with vertices renumbered from the highest degree to the lowest.

    Vertices of one degree keep their order. The number of anything that does not name vertices is the same.
    """
    if "by degree" not in graph.computed:
        rank = np.empty(graph.vertices, np.int32)
        rank[np.argsort(-graph.degrees(), kind="stable")] = np.arange(graph.vertices, dtype=np.int32)
        graph.computed["by degree"] = both_ways(graph, rank)
    return graph.computed["by degree"]


def sparse_rows(rows: Adjacency) -> sparse.csr_array:
    """Rows as a sparse matrix of ones, int32: no entry of its square has more than a vertex has neighbours."""
    n = len(rows.starts) - 1
    arcs = len(rows.neighbours)
    starts = rows.starts.astype(np.int32) if arcs < _MOST_SHORT else rows.starts  # so that neighbours stay as they are
    return sparse.csr_array((np.ones(arcs, np.int32), rows.neighbours, starts), shape=(n, n))


def to_hubs(rows: Adjacency) -> Adjacency:
    """Of rows by degree, the arcs to vertices before their own: each edge once, to the end of the higher degree.

    >>> to_hubs(by_degree(Graph.from_pairs([(0, 1), (0, 2), (1, 2), (0, 3)]))).degrees()
    array([0, 1, 2, 1])
    """
    return _arcs_where(rows, np.less)


def from_hubs(rows: Adjacency) -> Adjacency:
    """Of rows by degree, the arcs to vertices after their own."""
    return _arcs_where(rows, np.greater)


def _arcs_where(rows: Adjacency, compares: Callable[..., NDArray[np.bool_]]) -> Adjacency:
    """The arcs whose head compares so to their tail."""
    degrees = rows.degrees()
    sizes, parts = np.zeros(len(degrees), np.int64), [np.empty(0, np.int32)]
    for piece in pieces(degrees):
        starts = rows.starts[piece.start : piece.stop + 1]
        heads = rows.neighbours[starts[0] : starts[-1]]
        chosen = compares(heads, np.repeat(np.arange(piece.start, piece.stop), degrees[piece]))
        sizes[piece] = np.diff(np.concatenate([[0], np.cumsum(chosen)])[starts - starts[0]])
        parts.append(heads[chosen])
    return Adjacency(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(parts))


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


def concatenated_rows(rows: Adjacency, chosen: NDArray[np.integer]) -> NDArray[np.int32]:
    """The neighbours of all chosen vertices, one after another.

    >>> path = adjacency(3, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))
    >>> concatenated_rows(path, np.array([1, 0]))
    array([0, 2, 1], dtype=int32)
    """
    sizes = rows.starts[chosen + 1] - rows.starts[chosen]
    before = np.cumsum(sizes) - sizes
    return rows.neighbours[np.arange(int(sizes.sum())) + np.repeat(rows.starts[chosen] - before, sizes)]
