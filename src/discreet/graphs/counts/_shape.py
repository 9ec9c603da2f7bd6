"""Components, cores and cliques."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

from discreet.graphs._graph import Graph
from discreet.graphs.counts._adjacency import Adjacency, adjacency, both_ways, by_degree, concatenated_rows, sparse_rows
from discreet.graphs.counts._subgraphs import checked_size

__all__ = ["cliques", "components", "core_numbers", "degeneracy"]


def components(graph: Graph) -> int:
    """How many connected components there are; a vertex without edges is one. SENSITIVE.

    >>> components(Graph.from_pairs([(0, 1), (3, 4)]))
    3
    """
    if not graph.vertices:
        return 0
    return int(csgraph.connected_components(sparse_rows(by_degree(graph)), directed=False, return_labels=False))


def degeneracy(graph: Graph) -> int:
    """The largest k such that some part of the graph has all degrees k or more. SENSITIVE.

    >>> degeneracy(Graph.from_pairs([(0, 1), (1, 2), (0, 2), (2, 3)]))
    2
    """
    return int(core_numbers(graph).max(initial=0))


def core_numbers(graph: Graph) -> NDArray[np.int64]:
    """For each vertex the largest k such that it is in the k-core: int64, of shape (vertices,). SENSITIVE.

    Source: Matula and Beck 1983; time O(m), in rounds of vertices that leave together.
    """
    return _peeled(both_ways(graph, np.arange(graph.vertices)), graph.degrees())[0]


def cliques(graph: Graph, k: int) -> int:
    """How many cliques of k vertices there are. SENSITIVE.

    Edges point to the end that leaves the cores later, so that no vertex has more of them than the degeneracy; below
    it, sets of vertices are integers, a bit for each. Source: Chiba and Nishizeki 1985, Danisch, Balalau and Sozio
    2018.

    >>> cliques(Graph.from_pairs([(a, b) for a in range(6) for b in range(a)]), 4)
    15
    """
    size = checked_size(k, 3)
    rank = _peeled(both_ways(graph, np.arange(graph.vertices)), graph.degrees())[1]
    a, b = rank[graph.ends[:, 0]], rank[graph.ends[:, 1]]
    out = adjacency(graph.vertices, np.minimum(a, b), np.maximum(a, b))
    enough = np.flatnonzero(out.degrees() >= size - 1)
    return sum(_cliques_at(out, int(vertex), size - 1) for vertex in enough)


def _cliques_at(out: Adjacency, vertex: int, size: int) -> int:
    """How many cliques of so many vertices there are among those that a vertex points to."""
    members = out.of_vertex(vertex)
    place = {each: i for i, each in enumerate(members.tolist())}
    arcs = [
        sum(
            1 << place[each]
            for each in np.intersect1d(out.of_vertex(int(member)), members, assume_unique=True).tolist()
        )
        for member in members
    ]
    return _within(arcs, (1 << len(arcs)) - 1, size)


def _within(arcs: list[int], members: int, size: int) -> int:
    if size == 1:
        return members.bit_count()
    total = 0
    while members:
        lowest = members & -members
        members ^= lowest
        total += _within(arcs, arcs[lowest.bit_length() - 1] & members, size - 1)
    return total


def _peeled(rows: Adjacency, degrees: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The core number of each vertex, and when it leaves: with at most that number of neighbours still there."""
    left = degrees.copy()
    core, rank = np.zeros(len(left), np.int64), np.full(len(left), -1, np.int64)
    waiting, gone, level = np.arange(len(left)), 0, 0
    while len(waiting):
        waiting = waiting[rank[waiting] < 0]
        level = max(level, int(left[waiting].min(initial=len(left))))
        leaving = waiting[left[waiting] <= level]
        while len(leaving):
            core[leaving], rank[leaving] = level, np.arange(gone, gone + len(leaving))
            gone += len(leaving)
            touched, times = np.unique(concatenated_rows(rows, leaving), return_counts=True)
            left[touched] -= times
            leaving = touched[(rank[touched] < 0) & (left[touched] <= level)]
    return core, rank
