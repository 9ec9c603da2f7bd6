"""What every pair of vertices has in common, searched only as far as it can decide a local sensitivity.

An edge ij adds as many triangles as its ends have common neighbours, and stars by their other neighbours. Of all pairs,
those count that no other pair surpasses in everything; vertices of high degree come first, and the search ends where
degrees alone show that nothing can be added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.graphs._graph import Graph
from discreet.graphs.counts._adjacency import Adjacency, by_degree, pieces, sparse_rows

__all__ = ["common_neighbours", "decided_degree", "open_pairs", "other_neighbours", "trimmed"]

_JOINED = 2**40
"""Added to the common neighbours of a pair that has an edge: more than there can be of them."""


def other_neighbours(graph: Graph) -> NDArray[np.int64]:
    """How many neighbours the ends of a pair have beside each other: the pairs that no other one surpasses. SENSITIVE.

    Returns int64 of shape (p, 2), the larger number first; empty if there is no pair. For every pair of vertices there
    is a row that is at least as large in both numbers, and every row is of some pair. O(m) at most.

    >>> other_neighbours(Graph.from_pairs([(0, 1), (0, 2), (0, 3)])).tolist()
    [[2, 0], [1, 1]]
    """
    return _all_open_pairs(by_degree(graph))


def common_neighbours(graph: Graph) -> NDArray[np.int64]:
    """For each number a, the most other neighbours of a pair with at least a common neighbours. SENSITIVE.

    Returns int64 of shape (c + 1,), where no pair has more than c common neighbours; empty if there is no pair. The
    other neighbours of a pair are those of both ends together, without the ends: a common one counts twice.

    >>> common_neighbours(Graph.from_pairs([(0, 1), (1, 2), (0, 2), (2, 3)])).tolist()
    [3, 3]
    """
    if "common neighbours" not in graph.computed:
        searched = _common_neighbours(by_degree(graph))
        searched.flags.writeable = False
        graph.computed["common neighbours"] = searched
    return graph.computed["common neighbours"]


def _common_neighbours(rows: Adjacency) -> NDArray[np.int64]:
    points = _all_open_pairs(rows)
    if not len(points):
        return np.empty(0, np.int64)
    degrees, matrix = rows.degrees(), sparse_rows(rows)
    best = np.full(int(degrees[1]) + 1, -1, np.int64)  # no pair has more in common than the second highest degree
    best[0] = points.sum(axis=1).max()
    for piece in pieces(rows.sums(degrees)):
        decided = decided_degree(best, int(degrees[piece.start]))
        end = int(np.searchsorted(-degrees, -decided, side="left"))
        if piece.start + 1 >= end:
            break
        chosen = matrix[piece]
        pairs = sparse.coo_array((chosen @ matrix).astype(np.int64) + chosen.astype(np.int64) * _JOINED)
        first, second = pairs.row.astype(np.int64) + piece.start, pairs.col.astype(np.int64)
        later = (second > first) & (second < end)
        first, second, data = first[later], second[later], pairs.data[later]
        joined, common = np.divmod(data, _JOINED)
        np.maximum.at(best, common, degrees[first] + degrees[second] - 2 * joined)
    return trimmed(best)


def trimmed(best: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each number the most others of a pair with at least as many in common, from those with just as many.

    >>> trimmed(np.array([3, -1, 4, -1])).tolist()
    [4, 4, 4]
    """
    most = np.maximum.accumulate(best[::-1])[::-1]
    return most[: int(np.count_nonzero(most >= 0))]


def decided_degree(best: NDArray[np.int64], largest: int) -> int:
    """The degree up to which a vertex is in no pair that decides, if its partner has at most `largest` neighbours.

    A vertex of degree d is in none if some pair has at least d common neighbours and `largest` + d others.
    """
    most = np.maximum.accumulate(best[::-1])[::-1]
    return int(np.minimum(np.arange(len(most)), most - largest).max())


def _all_open_pairs(rows: Adjacency) -> NDArray[np.int64]:
    points = open_pairs(rows, rows.degrees(), len(rows.starts) - 1)
    assert points is not None
    return points


def open_pairs(rows: Adjacency, degrees: NDArray[np.int64], vertices: int) -> NDArray[np.int64] | None:
    """As `other_neighbours`, of the first vertices by degree: of each the first later one that it is not joined to.

    `rows` are the neighbours of these among themselves, and `degrees` what they have among all vertices, of which there
    are as many as `vertices`. None if it takes more of them.
    """
    points: list[tuple[int, int]] = []
    for i in range(len(degrees) - 1):
        d, after = int(degrees[i]), int(degrees[i + 1])
        if any(high >= d and low >= after for high, low in points):
            break
        joined = rows.of_vertex(i)
        joined = joined[np.searchsorted(joined, i + 1) :]
        run = int(np.argmin(np.concatenate([joined == np.arange(i + 1, i + 1 + len(joined)), [False]])))
        if run:
            points.append((d - 1, after - 1))
        if i + 1 + run < len(degrees):
            points.append((d, int(degrees[i + 1 + run])))
        elif len(degrees) < vertices:
            return None
    else:
        if len(degrees) < vertices:
            return None
    front = [
        point
        for point in dict.fromkeys(points)
        if not any(other != point and other[0] >= point[0] and other[1] >= point[1] for other in points)
    ]
    return np.array(front or np.empty((0, 2)), np.int64)
