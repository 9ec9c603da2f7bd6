"""How many stars, triangles and cycles a graph has: exact integers of any size."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.counts._adjacency import Adjacency, by_degree, from_hubs, pieces, sparse_rows, to_hubs

__all__ = ["checked_size", "four_cycles", "stars", "stars_of_degrees", "triangles", "vertex_triangles", "wedges_closed"]


def checked_size(k: object, least: int) -> int:
    """The number of leaves of a star, or of vertices of a clique. Raises `ParameterError` for anything else."""
    if isinstance(k, bool) or not isinstance(k, int) or not least <= k <= 64:
        raise ParameterError(f"k must be an integer from {least} to 64, got {k!r}")
    return k


def stars(graph: Graph, k: int = 2) -> int:
    """How many k-stars there are: a vertex with k of its neighbours, the sum of C(degree, k). SENSITIVE.

    >>> stars(Graph.from_pairs([(0, 1), (0, 2), (0, 3)])), stars(Graph.from_pairs([(0, 1), (0, 2), (0, 3)]), 3)
    (3, 1)
    """
    return stars_of_degrees(*np.unique(graph.degrees(), return_counts=True), k)


def stars_of_degrees(degrees: NDArray[np.int64], times: NDArray[np.int64], k: int) -> int:
    """How many k-stars there are, by how many times there is a vertex of each degree. SENSITIVE."""
    leaves = checked_size(k, 2)
    return sum(n * comb(d, leaves) for d, n in zip(degrees.tolist(), times.tolist(), strict=True))


def triangles(graph: Graph) -> int:
    """How many triangles there are. SENSITIVE.

    Each edge points to the end of higher degree, so that no vertex has more than √(2m) edges out; a triangle is an edge
    to whose ends a common vertex points. Source: Chiba and Nishizeki 1985, Latapy 2008; time O(m^(3/2)).

    >>> triangles(Graph.from_pairs([(0, 1), (1, 2), (0, 2), (2, 3)]))
    1
    """
    return sum(int(closed.data.sum(dtype=np.int64)) for closed in _closed(to_hubs(by_degree(graph))))


def vertex_triangles(graph: Graph) -> NDArray[np.int64]:
    """How many triangles each vertex is in, vertices in the order of `by_degree`: int64, of shape (n,). SENSITIVE.

    Of the arcs of a triangle, as in `triangles`, one ends at the vertex that none leaves; that closes it for the one
    that none reaches. Time O(m^(3/2)).

    >>> vertex_triangles(Graph.from_pairs([(0, 1), (1, 2), (0, 2), (2, 3)])).tolist()
    [1, 1, 1, 0]
    """
    rows = to_hubs(by_degree(graph))
    at = np.zeros(graph.vertices, np.int64)
    begin = 0
    for closed in _closed(rows):
        end = begin + len(closed.indptr) - 1
        at[begin:end] += closed.sum(axis=1)
        at += closed.sum(axis=0)
        begin = end
    out = sparse_rows(rows)
    for piece in pieces(rows.sums(rows.degrees())):
        at[piece] += (out[piece] @ out).multiply(out[piece]).sum(axis=1)
    return at


def wedges_closed(graph: Graph) -> tuple[int, int]:
    """Three times the triangles, and the 2-stars: their ratio is the global clustering coefficient. SENSITIVE."""
    return 3 * triangles(graph), stars(graph, 2)


def four_cycles(graph: Graph) -> int:
    """How many cycles of four edges there are. SENSITIVE.

    Each is counted at its vertex of highest degree, by pairs of paths of two edges to the opposite one. Source: Chiba
    and Nishizeki 1985; time O(m · arboricity).

    >>> four_cycles(Graph.from_pairs([(0, 1), (1, 2), (2, 3), (3, 0)]))
    1
    """
    rows = by_degree(graph)
    later = from_hubs(rows)
    both, after = sparse_rows(rows), sparse_rows(later)
    total = 0
    for piece in pieces(later.sums(rows.degrees())):
        paths = sparse.coo_array(after[piece] @ both)
        twice = paths.data[paths.col > paths.row + piece.start]
        values, times = np.unique(twice, return_counts=True)
        total += sum(n * comb(v, 2) for v, n in zip(values.tolist(), times.tolist(), strict=True))
    return total


def _closed(rows: Adjacency) -> Iterator[sparse.csr_array]:
    """For arcs v → w, in pieces, how many vertices point to both: the work is the sum of squares of arcs out."""
    out = sparse_rows(rows)
    into = out.T.tocsr()
    work = Adjacency(into.indptr.astype(np.int64), into.indices.astype(np.int32, copy=False)).sums(rows.degrees())
    for piece in pieces(work):
        yield (into[piece] @ out).multiply(out[piece])
