"""The exact reduction of a capped graph: what a largest forest has anyway is taken, and the rest falls into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from discreet.graphs._graph import Graph

__all__ = ["CappedGraph", "contract", "cut_apart", "reduce_to_pieces", "take_bridges"]


@dataclass(frozen=True, eq=False)
class CappedGraph:
    """A graph, and how many edges of a forest each vertex may have. SENSITIVE.

    `caps` are integers of shape (vertices,), 0 or more. A cap that cannot bind is 1 more than the vertex's degree,
    whatever it was, so that such a vertex is never full.

    >>> CappedGraph.uniform(Graph.from_pairs([(0, 1), (0, 2), (0, 3)]), 2).caps.tolist()
    [2, 2, 2, 2]
    >>> CappedGraph.uniform(Graph.from_pairs([(0, 1), (0, 2), (0, 3)]), 3).caps.tolist()
    [4, 2, 2, 2]
    """

    graph: Graph
    caps: NDArray[np.int64]

    def __post_init__(self) -> None:
        degrees = self.graph.degrees()
        object.__setattr__(self, "caps", np.where(self.caps >= degrees, degrees + 1, self.caps))

    @classmethod
    def uniform(cls, graph: Graph, cap: int) -> CappedGraph:
        """The same cap at every vertex."""
        return cls(graph, np.full(graph.vertices, cap, np.int64))

    @cached_property
    def over(self) -> NDArray[np.bool_]:
        """The vertices with more edges than the cap; no other cap can bind."""
        return self.caps < self.graph.degrees()

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """The block of each edge: two edges are in one if some cycle has both. A forest of each block is a forest."""
        return _DepthFirst(self.graph).classes(np.ones(self.graph.vertices, np.bool_))


def reduce_to_pieces(capped: CappedGraph) -> tuple[int, list[CappedGraph]]:
    """How many edges are taken, and the pieces that are left: F is that number plus F of each piece. SENSITIVE.

    Proof: ``proofs/graph_node_components.md``, "The reduction". Each piece has numbers of its own, in the order of
    those before.

    >>> hub = [(0, leaf) for leaf in range(1, 10)]
    >>> reduce_to_pieces(CappedGraph.uniform(Graph.from_pairs(hub), 4))
    (4, [])
    >>> triangle = [(0, 1), (1, 2), (0, 2)]
    >>> taken, pieces = reduce_to_pieces(CappedGraph.uniform(Graph.from_pairs([*triangle, (0, 3), (1, 4), (2, 5)]), 2))
    >>> taken, [(piece.graph.ends.tolist(), piece.caps.tolist()) for piece in pieces]
    (3, [([[0, 1], [0, 2], [1, 2]], [1, 1, 1])])
    """
    taken = 0
    while True:
        within, capped = contract(capped)
        bridges, capped = take_bridges(capped)
        taken += within + bridges
        if not within and not bridges:
            return taken, cut_apart(capped)


def contract(capped: CappedGraph) -> tuple[int, CappedGraph]:
    """The size of a spanning forest of the vertices that are not over, and the graph with its trees contracted.

    What they are contracted to has no cap. Of several edges between it and a vertex, one is left. SENSITIVE.
    """
    graph, over = capped.graph, capped.over
    inside = ~over[graph.ends].any(axis=1)
    a, b = graph.ends[inside].T
    joined = csr_array((np.ones(len(a), np.int8), (a, b)), shape=(graph.vertices, graph.vertices))
    parts, part = connected_components(joined, directed=False)
    caps = np.full(int(parts), graph.vertices, np.int64)
    caps[part[over]] = capped.caps[over]
    left = Graph.from_pairs(part[graph.ends[~inside]].astype(np.int64), int(parts))
    return graph.vertices - int(parts), CappedGraph(left, caps)


def take_bridges(capped: CappedGraph) -> tuple[int, CappedGraph]:
    """How many bridges between a vertex that is over and one that is not are taken, and the graph without all of them.

    A vertex takes as many as its cap allows, which is lowered by them; with 0 left, its other edges go. SENSITIVE.
    """
    graph, over = capped.graph, capped.over
    single = _DepthFirst(graph).bridges() & (over[graph.ends].sum(axis=1) == 1)
    ends = graph.ends[single]
    offered = np.bincount(ends[over[ends]], minlength=graph.vertices)
    caps = np.where(over, capped.caps - np.minimum(capped.caps, offered), graph.vertices)
    left = ~single & (caps[graph.ends] > 0).all(axis=1)
    return int(np.minimum(capped.caps, offered).sum()), CappedGraph(Graph(graph.vertices, graph.ends[left]), caps)


def cut_apart(capped: CappedGraph) -> list[CappedGraph]:
    """The pieces of a graph that share no cycle and no vertex that is over, each with numbers of its own. SENSITIVE."""
    ends, labels = capped.graph.ends, _DepthFirst(capped.graph).classes(~capped.over)
    order = np.argsort(labels, kind="stable")
    pieces: list[CappedGraph] = []
    for edges in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        if len(edges):
            vertices, numbers = np.unique(ends[edges], return_inverse=True)
            graph = Graph(len(vertices), numbers.reshape(-1, 2).astype(np.int64))
            over = capped.over[vertices]
            pieces.append(CappedGraph(graph, np.where(over, capped.caps[vertices], capped.graph.vertices)))
    return pieces


class _DepthFirst:
    """A search of a graph, deepest first: when each vertex comes, from which, and the first that is reached from below.

    `low` of a vertex is the earliest that an edge leads to from it or from a vertex after it in its branch. Source:
    Hopcroft and Tarjan 1973.
    """

    def __init__(self, graph: Graph) -> None:
        n, ends = graph.vertices, graph.ends
        both = np.concatenate([ends, ends[:, ::-1]])
        near: list[int] = both[np.argsort(both[:, 0], kind="stable"), 1].tolist()
        stop: list[int] = np.cumsum(graph.degrees()).tolist()
        at = [0, *stop[:-1]] if n else []
        place, low, parent, order = [-1] * n, [-1] * n, [-1] * n, list[int]()
        for root in range(n):
            v = root if place[root] < 0 else -1
            while v >= 0:
                if place[v] < 0:
                    place[v] = low[v] = len(order)
                    order.append(v)
                if at[v] < stop[v]:
                    u = near[at[v]]
                    at[v] += 1
                    if place[u] < 0:
                        parent[u], v = v, u
                    elif u != parent[v]:
                        low[v] = min(low[v], place[u])
                else:
                    up = parent[v]
                    if up >= 0:
                        low[up] = min(low[up], low[v])
                    v = up
        self._ends, self._order, self._parent = ends, order, parent
        self._place, self._low = np.array(place, np.int64), np.array(low, np.int64)

    def bridges(self) -> NDArray[np.bool_]:
        """Which edges are on no cycle, of shape (edges,): nothing below leads further up."""
        deep, other = self._deeper()
        return (np.array(self._parent, np.int64)[deep] == other) & (self._low[deep] == self._place[deep])

    def classes(self, cuts: NDArray[np.bool_]) -> NDArray[np.int64]:
        """A number for each edge, the same for edges on a cycle and for edges at a vertex that is not one of `cuts`."""
        first: list[int] = self._low.tolist()
        place: list[int] = self._place.tolist()
        is_cut: list[bool] = cuts.tolist()
        label, new = [0] * len(place), 0
        for v in self._order:  # the label of the edge to its parent
            up = self._parent[v]
            if up < 0 or (is_cut[up] and first[v] >= place[up]):
                label[v], new = new, new + 1
            else:
                label[v] = label[up]
        return np.array(label, np.int64)[self._deeper()[0]]

    def _deeper(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each edge the end that comes later, and the other: one of them is always above the other."""
        later = self._place[self._ends].argmax(axis=1)
        rows = np.arange(len(self._ends))
        return self._ends[rows, later], self._ends[rows, 1 - later]
