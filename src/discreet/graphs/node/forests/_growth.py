"""Large forests with few edges at each vertex, by swaps, until a set of vertices shows what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from discreet.graphs.node.forests._pieces import CappedGraph

__all__ = ["GrownForest", "Parts", "grow_forest", "size_of_forest"]


@dataclass(frozen=True, slots=True, eq=False)
class GrownForest:
    """A forest, and what ended its growth. SENSITIVE. Nothing here is claimed to be largest.

    `edges` are positions in the graph's `ends`, shape (edges,); `blocking` are the vertices in the way, shape
    (vertices,): full, and no edge of the graph joins two parts of the forest without them.
    """

    edges: NDArray[np.int64]
    blocking: NDArray[np.bool_]


def size_of_forest(vertices: int, ends: NDArray[np.int64]) -> int:
    """How many edges a spanning forest of a graph has: of as many vertices, and with these `ends`. SENSITIVE.

    >>> size_of_forest(4, np.array([[0, 1], [0, 2], [1, 2]]))
    2
    """
    return vertices - _parts(vertices, ends)


def grow_forest(capped: CappedGraph, prices: NDArray[np.float64]) -> GrownForest:
    """A forest with no more edges at a vertex than its cap: first edges between cheap vertices, then swaps. SENSITIVE.

    A vertex with all its edges is freed of one by an edge that joins two parts of the forest around it; so freed, it
    can take another that joins two trees. Source: Fürer and Raghavachari 1994, for given caps.

    >>> from discreet.graphs import Graph
    >>> star = Graph.from_pairs([(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)])
    >>> [len(grow_forest(CappedGraph.uniform(star, cap), np.zeros(5)).edges) for cap in (3, 2)]
    [4, 3]
    """
    search = _Search(capped, prices)
    largest = size_of_forest(capped.graph.vertices, capped.graph.ends)
    blocking = np.zeros(capped.graph.vertices, np.bool_)
    while search.size < largest:
        blocked = search.grow()
        if blocked is not None:
            blocking = blocked
            break
    return GrownForest(search.edges(), blocking)


def _parts(vertices: int, ends: NDArray[np.int64]) -> int:
    if not vertices:
        return 0
    joined = csr_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(vertices, vertices))
    return int(connected_components(joined, directed=False, return_labels=False))


class _Search:
    """A forest that grows: the neighbours of each vertex in it."""

    def __init__(self, capped: CappedGraph, prices: NDArray[np.float64]) -> None:
        graph = self._graph = capped.graph
        self._caps: list[int] = capped.caps.tolist()
        self._near: list[set[int]] = [set() for _ in range(graph.vertices)]
        self.size = 0
        parts = Parts(graph.vertices)
        order = np.argsort(prices[graph.ends].sum(axis=1), kind="stable")
        for a, b in graph.ends[order].tolist():
            if self._has_room(a) and self._has_room(b) and parts.join(a, b):
                self._add(a, b)

    def edges(self) -> NDArray[np.int64]:
        """The positions of the edges among those of the graph."""
        pairs = [(a, b) for a, near in enumerate(self._near) for b in near if a < b]
        ends, n = self._graph.ends, self._graph.vertices
        codes = np.array([a * n + b for a, b in pairs], np.int64)
        return np.sort(np.searchsorted(ends[:, 0] * n + ends[:, 1], codes))

    def grow(self) -> NDArray[np.bool_] | None:
        """One edge more: None if it was, else the vertices that stand in the way."""
        n, (a_all, b_all) = self._graph.vertices, self._graph.ends.T
        tree, parent, depth = self._rooted()
        free = [self._has_room(v) for v in range(n)]
        freed_by: dict[int, tuple[int, int]] = {}
        parts = Parts(n)
        for v, up in enumerate(parent):
            if up >= 0 and free[v] and free[up]:
                parts.above[v] = up
        while True:
            label, is_free = parts.labels(), np.array(free)
            open_edges = np.flatnonzero(is_free[a_all] & is_free[b_all] & (label[a_all] != label[b_all]))
            merged = False
            for a, b in self._graph.ends[open_edges].tolist():
                if tree[a] != tree[b]:
                    return None if self._join(a, b, freed_by) else ~is_free
                x, y = parts.top(a), parts.top(b)
                merged = merged or x != y
                while x != y:  # up the tree from the lower of the two parts: what is passed becomes one part
                    if depth[x] < depth[y]:
                        x, y = y, x
                    up = parent[x]
                    for v in (x, up):
                        if not free[v]:
                            free[v], freed_by[v] = True, (a, b)
                    parts.above[x] = parts.top(up)
                    x = parts.top(up)
            if not merged:
                return ~np.array(free)

    def _has_room(self, v: int) -> bool:
        return len(self._near[v]) < self._caps[v]

    def _add(self, a: int, b: int) -> None:
        self._near[a].add(b)
        self._near[b].add(a)
        self.size += 1

    def _rooted(self) -> tuple[list[int], list[int], list[int]]:
        """The root of each vertex's tree, its parent (−1 of a root), and its depth."""
        n = self._graph.vertices
        tree, parent, depth = [-1] * n, [-1] * n, [0] * n
        for root in range(n):
            if tree[root] < 0:
                tree[root], waiting = root, [root]
                while waiting:
                    v = waiting.pop()
                    for u in self._near[v]:
                        if tree[u] < 0:
                            tree[u], parent[u], depth[u] = root, v, depth[v] + 1
                            waiting.append(u)
        return tree, parent, depth

    def _join(self, a: int, b: int, freed_by: dict[int, tuple[int, int]]) -> bool:
        """Join two trees by an edge, after both its ends are freed; False if that does not come about."""
        if self._release(a, freed_by) and self._release(b, freed_by):
            self._add(a, b)
            return True
        return False

    def _release(self, vertex: int, freed_by: dict[int, tuple[int, int]]) -> bool:
        """Swap edges until a vertex has room: first at the ends of the edge that frees it, and so on."""
        waiting = [(vertex, False)]
        while waiting:
            v, ends_are_free = waiting.pop()
            if self._has_room(v):
                continue
            if v not in freed_by:
                return False
            a, b = freed_by[v]
            if not ends_are_free:
                waiting += [(v, True), (a, False), (b, False)]
            elif not self._swap(v, a, b):
                return False
        return True

    def _swap(self, v: int, a: int, b: int) -> bool:
        """Put in the edge between a and b, and take out one at v of the cycle that it closes."""
        cycle = self._path(a, b)
        if not (self._has_room(a) and self._has_room(b) and v in cycle[1:-1]):
            return False
        place = cycle.index(v)
        out = max(cycle[place - 1], cycle[place + 1], key=lambda u: len(self._near[u]))
        self._near[v].discard(out)
        self._near[out].discard(v)
        self.size -= 1
        self._add(a, b)
        return True

    def _path(self, a: int, b: int) -> list[int]:
        """The vertices of the forest from a to b; those of a's tree in some order if b is in another."""
        before, waiting = {a: -1}, [a]
        while waiting:
            v = waiting.pop()
            if v == b:
                break
            for u in self._near[v]:
                if u not in before:
                    before[u] = v
                    waiting.append(u)
        path, v = [], b
        while v in before:
            path.append(v)
            v = before[v]
        return path


class Parts:
    """Which vertices are in one part: union by pointers, paths halved."""

    def __init__(self, n: int) -> None:
        self.above = list(range(n))

    def top(self, v: int) -> int:
        """The vertex that stands for the part of this one."""
        above = self.above
        while above[v] != v:
            above[v] = above[above[v]]
            v = above[v]
        return v

    def join(self, a: int, b: int) -> bool:
        """Make them one part; False if they are in one."""
        x, y = self.top(a), self.top(b)
        self.above[x] = y
        return x != y

    def labels(self) -> NDArray[np.int64]:
        """A number for each vertex, the same for those of one part."""
        return np.array([self.top(v) for v in range(len(self.above))], np.int64)
