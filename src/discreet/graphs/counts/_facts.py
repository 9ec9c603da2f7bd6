"""What counts ask of a graph, wherever it is: in memory, or counted in the engine that holds its edges.

A graph in memory computes it when it is asked. Of one that an engine counted there are these numbers alone: no edge and
no vertex by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.counts._pairs import common_neighbours, other_neighbours
from discreet.graphs.counts._subgraphs import triangles

__all__ = ["CountedGraph", "GraphFacts", "facts_of"]


class GraphFacts(Protocol):
    """Exact numbers of a graph, from which counts and their sensitivities follow. SENSITIVE."""

    def edges(self) -> int:
        """How many edges there are."""
        ...

    def degree_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The degrees that vertices have, from the least, and how many vertices have each."""
        ...

    def triangles(self) -> int:
        """How many triangles there are."""
        ...

    def other_neighbours(self) -> NDArray[np.int64]:
        """See `discreet.graphs.counts._pairs.other_neighbours`."""
        ...

    def common_neighbours(self) -> NDArray[np.int64]:
        """See `discreet.graphs.counts._pairs.common_neighbours`."""
        ...


@dataclass(frozen=True, slots=True)
class _InMemory:
    graph: Graph

    def edges(self) -> int:
        return self.graph.edges

    def degree_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        degrees, times = np.unique(self.graph.degrees(), return_counts=True)
        return degrees, times.astype(np.int64)

    def triangles(self) -> int:
        return triangles(self.graph)

    def other_neighbours(self) -> NDArray[np.int64]:
        return other_neighbours(self.graph)

    def common_neighbours(self) -> NDArray[np.int64]:
        return common_neighbours(self.graph)


@dataclass(frozen=True, slots=True, eq=False)
class CountedGraph:
    """What an engine counted of a graph. SENSITIVE. It takes the place of a `Graph` where these numbers are enough.

    Attributes
    ----------
    vertices
        How many vertices there are: public.
    degrees, times
        The degrees that vertices have, from the least, and how many have each: int64, of one length.
    closed
        The number of triangles, if they were counted.
    open_pairs
        What `GraphFacts.other_neighbours` returns, if it was asked for.
    shared
        What `GraphFacts.common_neighbours` returns, if it was asked for.

    >>> path = CountedGraph(3, np.array([1, 2]), np.array([2, 1]))
    >>> path.edges(), path.sorted_degrees().tolist()
    (2, [2, 1, 1])
    """

    vertices: int
    degrees: NDArray[np.int64]
    times: NDArray[np.int64]
    closed: int | None = field(default=None, repr=False)
    open_pairs: NDArray[np.int64] | None = None
    shared: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        """Nothing of the graph."""
        return "<CountedGraph>"

    def edges(self) -> int:
        """How many edges there are: half of all degrees."""
        return sum(d * n for d, n in zip(self.degrees.tolist(), self.times.tolist(), strict=True)) // 2

    def degree_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The degrees that vertices have, and how many vertices have each."""
        return self.degrees, self.times

    def sorted_degrees(self) -> NDArray[np.int64]:
        """The degrees of all vertices, from the highest: int64, of shape (vertices,)."""
        return np.repeat(self.degrees, self.times)[::-1]

    def triangles(self) -> int:
        """How many triangles there are. Raises `ParameterError` if they were not counted."""
        if self.closed is None:
            raise ParameterError("the triangles of this graph were not counted")
        return self.closed

    def other_neighbours(self) -> NDArray[np.int64]:
        """Raises `ParameterError` if they were not asked for."""
        if self.open_pairs is None:
            raise ParameterError("the neighbours of pairs of this graph were not counted")
        return self.open_pairs

    def common_neighbours(self) -> NDArray[np.int64]:
        """Raises `ParameterError` if they were not asked for."""
        if self.shared is None:
            raise ParameterError("the common neighbours of pairs of this graph were not counted")
        return self.shared


def facts_of(graph: Graph | CountedGraph) -> GraphFacts:
    """The same questions for both: a graph in memory is counted as it is asked."""
    return _InMemory(graph) if isinstance(graph, Graph) else graph
