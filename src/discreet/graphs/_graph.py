"""A simple undirected graph in memory: how many vertices there are, and which pairs of them are joined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.graphs._ends import as_pairs, checked_ends, checked_vertices, distinct_ends, ends_table, numbered_edges

__all__ = ["Graph"]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A simple undirected graph: no loops, no edge twice. SENSITIVE: it is the data.

    Vertices are 0, 1, …, `vertices` − 1, and a vertex may have no edge.

    Attributes
    ----------
    vertices
        How many vertices there are.
    ends
        The edges: int64, of shape (m, 2), a row for each, its smaller end first; rows are unique and sorted. It cannot
        be written to.

    Raises `ParameterError` if the ends are not so; `Graph.from_pairs` makes them so.

    >>> path = Graph(3, np.array([[0, 1], [1, 2]]))
    >>> path.edges, path.degrees()
    (2, array([1, 2, 1]))
    """

    vertices: int
    ends: NDArray[np.int64]
    computed: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False)
    """What counts have worked out of the graph, so that it is not worked out again."""

    def __post_init__(self) -> None:
        vertices = checked_vertices(self.vertices)
        ends = checked_ends(vertices, self.ends, directed=False)
        if ends is None:
            raise ParameterError(
                "the ends of a graph are pairs of vertices, the smaller first, unique and sorted; "
                "Graph.from_pairs makes any pairs so"
            )
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "ends", ends)

    def __reduce__(self) -> tuple[type[Graph], tuple[int, NDArray[np.int64]]]:
        """A copy has what the graph is, and nothing of what was worked out of it."""
        return Graph, (self.vertices, self.ends)

    def __repr__(self) -> str:
        """Nothing of the graph, so that a log tells nobody of its edges or its people."""
        return "<Graph>"

    @classmethod
    def from_pairs(cls, pairs: ArrayLike, vertices: int | None = None) -> Graph:
        """The graph of any pairs of vertices: loops are left out, and an edge counts once, whichever end comes first.

        Parameters
        ----------
        pairs
            Integers of shape (m, 2).
        vertices
            How many vertices there are; 1 more than the largest in `pairs`, if it is not given.

        Raises `ParameterError` for anything else than such pairs.

        >>> Graph.from_pairs([(2, 0), (0, 2), (1, 1)]).ends.tolist()
        [[0, 2]]
        """
        ends = as_pairs(pairs)
        return cls.from_pieces([ends], int(ends.max(initial=-1)) + 1 if vertices is None else vertices)

    @classmethod
    def from_pieces(cls, pieces: Iterable[ArrayLike], vertices: int) -> Graph:
        """The graph of pairs of vertices that come in pieces, each as in `from_pairs`, with 8 bytes for each pair.

        A piece is let go before the next one is asked for. Raises as `from_pairs`.

        >>> Graph.from_pieces([[(2, 0)], [(0, 2), (1, 1)]], 3).ends.tolist()
        [[0, 2]]
        """
        n = checked_vertices(vertices)
        graph = cls(n, np.empty((0, 2), np.int64))
        object.__setattr__(graph, "ends", distinct_ends(pieces, n, directed=False))
        return graph

    @classmethod
    def from_networkx(cls, graph: Any) -> Graph:
        """The graph of a networkx graph, read through its `nodes` and `edges`; its vertices are numbered in order.

        Directions, loops and repeats of edges do not count.
        """
        return cls.from_pairs(*numbered_edges(graph))

    @classmethod
    def from_igraph(cls, graph: Any) -> Graph:
        """The graph of an igraph graph, read through its `vcount` and `get_edgelist`; vertices have its numbers."""
        return cls.from_pairs(graph.get_edgelist() or np.empty((0, 2), np.int64), graph.vcount())

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:
        """The graph of a square sparse matrix of SciPy: an edge where an entry is not 0, on either side.

        Raises `ParameterError` for a matrix that is not square.

        >>> from scipy import sparse
        >>> Graph.from_scipy(sparse.csr_array([[1, 2, 0], [0, 0, 0], [0, 1, 0]])).ends.tolist()
        [[0, 1], [1, 2]]
        """
        rows, columns = matrix.shape
        if rows != columns:
            raise ParameterError(f"the matrix of a graph is square, and this one is {rows} by {columns}")
        return cls.from_pairs(np.column_stack(matrix.nonzero()), rows)

    def to_arrow(self, a: str = "a", b: str = "b") -> Any:
        """An Arrow table of the ends of each edge, such as `discreet.connect` takes as a source. SENSITIVE.

        >>> Graph.from_pairs([(0, 1)]).to_arrow().to_pydict()
        {'a': [0], 'b': [1]}
        """
        return ends_table(self.ends, a, b)

    @property
    def edges(self) -> int:
        """How many edges there are. SENSITIVE under edge privacy and under node privacy."""
        return len(self.ends)

    def degrees(self) -> NDArray[np.int64]:
        """How many edges each vertex has: int64, of shape (vertices,). SENSITIVE."""
        return np.bincount(self.ends.ravel(), minlength=self.vertices).astype(np.int64)

    def toggled(self, a: int, b: int) -> Graph:
        """The neighbour that differs in the edge between two vertices: without it if it is there, else with it.

        >>> Graph.from_pairs([(0, 1)], 3).toggled(2, 1).toggled(0, 1).ends.tolist()
        [[1, 2]]
        """
        if not 0 <= min(a, b) < max(a, b) < self.vertices:
            raise ParameterError("an edge joins two different vertices of the graph")
        pair = np.array([[min(a, b), max(a, b)]], np.int64)
        others = self.ends[(self.ends != pair).any(axis=1)]
        if len(others) < len(self.ends):
            return Graph(self.vertices, others)
        return Graph.from_pairs(np.concatenate([self.ends, pair]), self.vertices)

    def without(self, vertex: int) -> Graph:
        """The graph in which a vertex has no edges: the vertex itself stays, so that the others keep their numbers."""
        return Graph(self.vertices, self.ends[(self.ends != vertex).all(axis=1)])
