"""A graph counted inside the engine that holds its edges: which queries are asked, and what follows from the answers.

Degrees come as a row for each degree, and triangles as a number. Pairs of vertices are searched as in memory, hubs
first, but by ranges of degrees in place of vertices: the end of higher degree has from 2^h to 2^(h+1) − 1 neighbours,
and its partner from a power of two on, lower by a factor of four from query to query, until no later pair can decide. A
pair that is looked at without need changes nothing, so the numbers are those that are counted in memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.engines import EdgeQueries
from discreet.errors import DataError
from discreet.graphs.counts._adjacency import adjacency
from discreet.graphs.counts._facts import CountedGraph
from discreet.graphs.counts._pairs import decided_degree, open_pairs, trimmed
from discreet.release import check_cancelled

__all__ = ["count_in_engine"]

_FIRST_HUBS = 64
_MORE_HUBS = 8


def count_in_engine(
    queries: EdgeQueries, vertices: int, *, pairs: bool = False, triangles: bool = False
) -> CountedGraph:
    """The numbers of a graph of so many vertices that are asked for. SENSITIVE.

    Degrees are always counted; `pairs` are how many other neighbours two vertices have; `triangles` are their number
    and how many neighbours two vertices have in common, for which pairs are counted too. How many queries that takes
    depends on the graph.
    """
    degrees, times = _degree_counts(queries, vertices)
    if not pairs and not triangles:
        return CountedGraph(vertices, degrees, times)
    check_cancelled()
    points = _other_neighbours(queries, degrees, times)
    if not triangles:
        return CountedGraph(vertices, degrees, times, open_pairs=points)
    shared = _common_neighbours(queries, degrees, times, points)
    check_cancelled()
    return CountedGraph(vertices, degrees, times, queries.triangles(), points, shared)


def _degree_counts(queries: EdgeQueries, vertices: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """With those of no degree, which an engine that has edges alone does not know of."""
    counted = dict(queries.degrees())
    isolated = vertices - sum(counted.values())
    if isolated < 0:
        raise DataError("the engine counted more vertices than the graph has; what was reserved stays spent")
    if isolated:
        counted[0] = isolated
    degrees = np.array(sorted(counted), np.int64)
    return degrees, np.array([counted[degree] for degree in degrees.tolist()], np.int64)


def _other_neighbours(queries: EdgeQueries, degrees: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """See `other_neighbours`: of the first vertices, and of more of them as long as these do not decide.

    How many are asked for is 64, 512, …: the number of those that have edges would be in the text of a query.
    """
    vertices = int(times.sum())
    joined = int(times[degrees > 0].sum())
    most = _FIRST_HUBS
    while True:
        size = min(most, joined + 2, vertices)  # of vertices without edges one pair is as good as all
        ends = np.array(queries.joined_hubs(most), np.int64).reshape(-1, 2)
        rows = adjacency(size, np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]]))
        points = open_pairs(rows, _highest(degrees, times, size), size if size > joined + 1 else vertices)
        if points is not None:
            return points
        check_cancelled()
        most *= _MORE_HUBS


def _common_neighbours(
    queries: EdgeQueries, degrees: NDArray[np.int64], times: NDArray[np.int64], points: NDArray[np.int64]
) -> NDArray[np.int64]:
    """See `common_neighbours`."""
    if not len(points):
        return np.empty(0, np.int64)
    best = np.full(int(_highest(degrees, times, 2)[1]) + 1, -1, np.int64)
    best[0] = points.sum(axis=1).max()
    for power in range(int(degrees[-1]).bit_length() - 1, -1, -1):
        higher = range(1 << power, 2 << power)
        inside = degrees[(degrees >= higher.start) & (degrees < higher.stop)]
        if not inside.size:
            continue
        largest, end = int(inside[-1]), higher.stop
        if decided_degree(best, largest) >= largest:
            break
        while end > 1 and (undecided := max(decided_degree(best, largest), 0) + 1) < end:
            begin = max(_power_below(undecided), end >> 2, 1)
            if ((degrees >= begin) & (degrees < end)).any():
                check_cancelled()
                for common, others in queries.common(higher, range(begin, end)):
                    best[common] = max(best[common], others)
            end = begin
    return trimmed(best)


def _highest(degrees: NDArray[np.int64], times: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The highest degrees of so many vertices, falling: int64, of shape (size,)."""
    return np.repeat(degrees[::-1], np.minimum(times[::-1], size))[:size]


def _power_below(number: int) -> int:
    """The largest power of two that is at most a number of 1 or more."""
    return 1 << (number.bit_length() - 1)
