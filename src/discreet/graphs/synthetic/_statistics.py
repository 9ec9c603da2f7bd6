"""What is measured of a graph so that a synthetic one can be like it: exact integers, and how far one edge moves them.

Neighbours differ in one edge; the vertices are public. All that is measured is unchanged by a renaming of vertices.
Proofs are in ``proofs/graph_synthetic.md``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.graphs._graph import Graph
from discreet.graphs.counts._adjacency import Adjacency, by_degree, concatenated_rows, pieces, to_hubs
from discreet.sensitivity import Norms

__all__ = [
    "CLUSTERING_NORMS",
    "SURVIVAL_NORMS",
    "UNIT",
    "class_bounds",
    "class_of_degree",
    "clustering_by_class",
    "degrees_of_survival",
    "survival",
]

Integers = NDArray[np.int64]

UNIT = 2**32
"""A local clustering coefficient of 1, in the integers that are summed."""

SURVIVAL_NORMS = Norms(l1=2, l2_squared=4)
"""How far one edge moves `survival`: two vertices each pass one threshold more, perhaps the same one."""

CLUSTERING_NORMS = Norms(l1=8 * UNIT, l2_squared=264 * UNIT**2 // 10)
"""How far one edge moves `clustering_by_class`: at most 4 units where it closes wedges, and 2 at each of its ends."""


def survival(graph: Graph) -> Integers:
    """How many vertices have at least k neighbours, for k = 1 … vertices − 1: int64. SENSITIVE.

    One edge moves it by 2 in L1 norm: `SURVIVAL_NORMS`.

    >>> survival(Graph.from_pairs([(0, 1), (1, 2)], 4)).tolist()
    [3, 1, 0]
    """
    counts = np.bincount(graph.degrees(), minlength=max(graph.vertices, 1))
    return np.cumsum(counts[::-1])[::-1][1:].astype(np.int64)


def degrees_of_survival(counts: Integers, vertices: int) -> Integers:
    """The degrees, largest first, of which so many are at least 1, 2, …: the inverse of `survival`.

    >>> degrees_of_survival(np.array([3, 1, 0]), 4).tolist()
    [2, 1, 1, 0]
    """
    return np.searchsorted(-counts, -np.arange(1, vertices + 1), side="right").astype(np.int64)


def class_of_degree(degrees: Integers) -> Integers:
    """The class of each degree: 0 for 2, 1 for 3 and 4, 2 for 5 to 8, and so on; −1 for a degree below 2.

    >>> class_of_degree(np.array([0, 1, 2, 3, 4, 5, 8, 9])).tolist()
    [-1, -1, 0, 1, 1, 2, 2, 3]
    """
    less = np.maximum(np.asarray(degrees, np.int64) - 1, 0)
    return np.frexp(less.astype(np.float64))[1].astype(np.int64) - 1


def class_bounds(vertices: int) -> list[tuple[int, int]]:
    """The least and the largest degree of each class that a graph of so many vertices can have.

    >>> class_bounds(7)
    [(2, 2), (3, 4), (5, 6)]
    """
    bounds: list[tuple[int, int]] = []
    low, high = 2, 2
    while low < vertices:
        bounds.append((low, min(high, vertices - 1)))
        low, high = high + 1, 2 * high
    return bounds


def clustering_by_class(graph: Graph) -> Integers:
    """The sum of local clustering coefficients of the vertices of each class of degrees, in `UNIT`s, capped. SENSITIVE.

    A triangle counts at each of its vertices w, for the edge opposite to w, with 1 / C(degree of w, 2) rounded down to
    a unit. What one edge adds to class j is capped at 2^(1 − j): so one edge moves the sums by a bounded amount,
    `CLUSTERING_NORMS`, however many vertices are joined to both its ends. Time O(m · degeneracy).

    >>> (clustering_by_class(Graph.from_pairs([(0, 1), (1, 2), (0, 2), (2, 3)])) / UNIT).round(3).tolist()
    [2.0, 0.333]
    """
    classes = len(class_bounds(graph.vertices))
    sums = np.zeros((classes, graph.edges), np.int64)
    rows = by_degree(graph)
    degrees = rows.degrees()
    place, share = class_of_degree(degrees), _shares(graph.vertices)[degrees]
    for corners, opposite in _triangles(rows):
        for corner, edge in zip(corners, opposite, strict=True):
            np.add.at(sums, (place[corner], edge), share[corner])
    caps = 2 * UNIT // 2 ** np.arange(classes, dtype=np.int64)
    return np.minimum(sums, caps[:, None]).sum(axis=1)


def _shares(vertices: int) -> Integers:
    """1 / C(k, 2) in units, rounded down, for each degree k; 0 for those below 2."""
    shares = np.zeros(max(vertices, 2), np.int64)
    k = np.arange(2, len(shares), dtype=np.int64)
    shares[2:] = 2 * UNIT // (k * (k - 1))
    return shares


_Integers = NDArray[np.integer]
_Corners = tuple[_Integers, _Integers, _Integers]


def _triangles(rows: Adjacency) -> Iterator[tuple[_Corners, _Corners]]:
    """All triangles in pieces: three vertices, each opposite to the edge of the same place; edges by their number."""
    n = len(rows.starts) - 1
    out = to_hubs(rows)
    heads, sizes = out.neighbours, out.degrees()
    tails = np.repeat(np.arange(n), sizes)
    keys = tails * n + heads
    number = Adjacency(out.starts, np.arange(len(heads), dtype=np.int32))
    for piece in pieces(sizes[heads]):
        first = np.arange(piece.start, piece.stop)
        second = concatenated_rows(number, heads[first])
        first = np.repeat(first, sizes[heads[first]])
        wanted = tails[first] * n + heads[second]
        third = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        closed = keys[third] == wanted
        first, second, third = first[closed], second[closed], third[closed]
        yield (heads[second], heads[first], tails[first]), (first, third, second)
