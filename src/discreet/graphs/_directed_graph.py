"""A simple directed graph in memory: how many vertices there are, and which arcs go from one to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.graphs._ends import as_pairs, checked_ends, checked_vertices, distinct_ends, ends_table, numbered_edges
from discreet.graphs._graph import Graph

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
        vertices = checked_vertices(self.vertices)
        ends = checked_ends(vertices, self.ends, directed=True)
        if ends is None:
            raise ParameterError(
                "the ends of a directed graph are pairs of different vertices, the tail first, unique and sorted; "
                "DirectedGraph.from_pairs makes any pairs so"
            )
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
        return cls.from_pieces([ends], int(ends.max(initial=-1)) + 1 if vertices is None else vertices)

    @classmethod
    def from_pieces(cls, pieces: Iterable[ArrayLike], vertices: int) -> DirectedGraph:
        """The graph of arcs that come in pieces, as in `Graph.from_pieces`. Raises as `from_pairs`."""
        n = checked_vertices(vertices)
        return cls(n, distinct_ends(pieces, n, directed=True))

    @classmethod
    def from_networkx(cls, graph: Any) -> DirectedGraph:
        """The graph of a networkx DiGraph, read through its `nodes` and `edges`; its vertices are numbered in order.

        Loops and repeats of arcs do not count.
        """
        return cls.from_pairs(*numbered_edges(graph))

    def to_arrow(self, a: str = "a", b: str = "b") -> Any:
        """An Arrow table of the tail and the head of each arc, as `discreet.connect` takes as a source. SENSITIVE.

        >>> DirectedGraph.from_pairs([(1, 0)]).to_arrow().to_pydict()
        {'a': [1], 'b': [0]}
        """
        return ends_table(self.ends, a, b)

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
