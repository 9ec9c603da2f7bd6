"""A simple directed graph in memory: how many vertices there are, and which arcs go from one to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph, as_pairs, checked_vertices

__all__ = ["DirectedGraph", "Direction"]

Direction = Literal["out", "in"]


@dataclass(frozen=True, slots=True, eq=False)
class DirectedGraph:
    """A simple directed graph: no loops, no arc twice, but an arc each way may join two vertices. SENSITIVE.

    Vertices are 0, 1, …, `vertices` − 1, and a vertex may have no arc.

    Attributes
    ----------
    vertices
        How many vertices there are.
    ends
        The arcs: int64, of shape (m, 2), a row for each, its tail first; rows are unique and sorted. It cannot be
        written to.

    Raises `ParameterError` if the ends are not so; `DirectedGraph.from_pairs` makes them so.

    >>> graph = DirectedGraph(3, np.array([[0, 1], [1, 0], [1, 2]]))
    >>> graph.arcs, graph.mutual_pairs(), graph.degrees("out")
    (3, 1, array([1, 2, 0]))
    """

    vertices: int
    ends: NDArray[np.int64]

    def __post_init__(self) -> None:
        vertices, ends = checked_vertices(self.vertices), as_pairs(self.ends)
        ends = ends.copy() if ends is self.ends else ends
        keys = ends[:, 0] * vertices + ends[:, 1]
        if ends.size and (
            ends.min() < 0
            or ends.max() >= vertices
            or (ends[:, 0] == ends[:, 1]).any()
            or not (keys[1:] > keys[:-1]).all()
        ):
            raise ParameterError(
                "the ends of a directed graph are pairs of different vertices, the tail first, unique and sorted; "
                "DirectedGraph.from_pairs makes any pairs so"
            )
        ends.flags.writeable = False
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "ends", ends)

    def __repr__(self) -> str:
        """Nothing of the graph, so that a log tells nobody of its arcs."""
        return "<DirectedGraph>"

    @classmethod
    def from_pairs(cls, pairs: ArrayLike, vertices: int | None = None) -> DirectedGraph:
        """The graph of any arcs, from the first vertex of a pair to the second: loops are left out, repeats count once.

        Parameters
        ----------
        pairs
            Integers of shape (m, 2).
        vertices
            How many vertices there are; 1 more than the largest in `pairs`, if it is not given.

        Raises `ParameterError` for anything else than such pairs.

        >>> DirectedGraph.from_pairs([(2, 0), (0, 2), (2, 0), (1, 1)]).ends.tolist()
        [[0, 2], [2, 0]]
        """
        ends = as_pairs(pairs)
        n = checked_vertices(int(ends.max(initial=-1)) + 1 if vertices is None else vertices)
        if ends.size and (ends.min() < 0 or ends.max() >= n):
            raise ParameterError(f"the vertices of a graph of {n} are the numbers from 0 to {n - 1}")
        keys = np.unique((ends[:, 0] * n + ends[:, 1])[ends[:, 0] != ends[:, 1]])
        tails = keys // max(n, 1)
        return cls(n, np.column_stack([tails, keys - tails * n]))

    @classmethod
    def from_networkx(cls, graph: Any) -> DirectedGraph:
        """The graph of a networkx DiGraph, read through its `nodes` and `edges`; its vertices are numbered in order.

        Loops and repeats of arcs do not count.
        """
        number = {node: i for i, node in enumerate(graph.nodes)}
        pairs = [(number[a], number[b]) for a, b in graph.edges(data=False)] or np.empty((0, 2), np.int64)
        return cls.from_pairs(pairs, len(number))

    def to_arrow(self, a: str = "a", b: str = "b") -> Any:
        """An Arrow table of the tail and the head of each arc, as `discreet.connect` takes as a source. SENSITIVE.

        >>> DirectedGraph.from_pairs([(1, 0)]).to_arrow().to_pydict()
        {'a': [1], 'b': [0]}
        """
        import pyarrow as pa

        return pa.table({a: pa.array(self.ends[:, 0]), b: pa.array(self.ends[:, 1])})

    @property
    def arcs(self) -> int:
        """How many arcs there are. SENSITIVE."""
        return len(self.ends)

    def degrees(self, direction: Direction) -> NDArray[np.int64]:
        """How many arcs go out of each vertex, or come in: int64, of shape (vertices,). SENSITIVE."""
        ends = self.ends[:, 0 if direction == "out" else 1]
        return np.bincount(ends, minlength=self.vertices).astype(np.int64)

    def mutual_pairs(self) -> int:
        """How many pairs of vertices are joined by an arc each way. SENSITIVE."""
        return self.arcs - self.undirected().edges

    def undirected(self) -> Graph:
        """The graph of the pairs that an arc joins, whichever way. SENSITIVE."""
        return Graph.from_pairs(self.ends, self.vertices)

    def toggled(self, tail: int, head: int) -> DirectedGraph:
        """The neighbour that differs in one arc: without it if it is there, else with it.

        >>> DirectedGraph.from_pairs([(0, 1)]).toggled(1, 0).toggled(0, 1).ends.tolist()
        [[1, 0]]
        """
        if tail == head or not 0 <= min(tail, head) <= max(tail, head) < self.vertices:
            raise ParameterError("an arc joins two different vertices of the graph")
        arc = np.array([[tail, head]], np.int64)
        others = self.ends[(self.ends != arc).any(axis=1)]
        if len(others) < len(self.ends):
            return DirectedGraph(self.vertices, others)
        return DirectedGraph.from_pairs(np.concatenate([self.ends, arc]), self.vertices)
