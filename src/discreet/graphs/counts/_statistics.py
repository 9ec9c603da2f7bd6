"""Counts of subgraphs as statistics: their value, and how far an edge moves them, around a graph and at a distance.

Neighbours differ in one edge, so the vertices are public: each statistic takes their number, and refuses a graph of
another. Proofs: ``proofs/graph_counts.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.counts._facts import CountedGraph, facts_of
from discreet.graphs.counts._pairs import other_neighbours
from discreet.graphs.counts._shape import cliques
from discreet.graphs.counts._subgraphs import checked_size, four_cycles, stars_of_degrees
from discreet.privacy import Relation
from discreet.sensitivity import Profile, adds_or_removes, round_up

__all__ = ["Cliques", "Count", "FourCycles", "Stars", "Triangles"]


@dataclass(frozen=True, slots=True)
class Count(ABC):
    """A number of subgraphs, as a `discreet.sensitivity.Statistic` of a `Graph` under edges added or removed.

    `bounds` are not used. Raises `ParameterError` for a graph of another number of vertices, and for neighbours that
    are substitutes: two graphs that differ in one edge have different numbers of them.

    `shape_per_epsilon` and `least_shape` say which tails the noise of a `SmoothCount` has.
    """

    shape_per_epsilon: ClassVar[int] = 64
    least_shape: ClassVar[int] = 16
    reads: ClassVar[tuple[type, ...]] = (Graph,)
    """What it is computed from: graphs in memory, and a `CountedGraph` where its numbers are enough."""

    vertices: int

    def __post_init__(self) -> None:
        if isinstance(self.vertices, bool) or not isinstance(self.vertices, int) or self.vertices < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(
                f"vertices must be their public number, an integer of 0 or more, got {self.vertices!r}"
            )

    @property
    @abstractmethod
    def most(self) -> int:
        """How far one edge moves the count in any graph of so many vertices: the global sensitivity."""

    @property
    def unit(self) -> Fraction:
        """What one of the count is of the statistic by which it is called: 1."""
        return Fraction(1)

    @abstractmethod
    def count(self, graph: Graph) -> int | Fraction:
        """The exact count. SENSITIVE."""

    @abstractmethod
    def steps(self, graph: Graph) -> Callable[[int], int]:
        """From k to A(G, k), an integer that has reached its largest value from k = 2 · vertices on. SENSITIVE."""

    def value(self, x: Any, bounds: Any = None) -> int | Fraction:  # noqa: ARG002
        """The exact count. SENSITIVE."""
        return self.count(self._checked(x))

    def global_sensitivity(self, bounds: Any = None, relation: Relation = "add_remove", n: int | None = None) -> float:  # noqa: ARG002
        """`most`, rounded up to a float. Public."""
        _check_relation(relation)
        return round_up(self.most)

    def profile(self, x: Any, bounds: Any = None, relation: Relation = "add_remove") -> Profile:  # noqa: ARG002
        """Local sensitivity around a graph at every distance. SENSITIVE."""
        _check_relation(relation)
        graph = self._checked(x)
        if not self.most:
            return Profile(lambda _: 0.0, last=0)
        steps = self.steps(graph)
        return Profile(lambda k: round_up(steps(k)), last=2 * self.vertices)

    def _checked(self, x: Any) -> Any:
        if not isinstance(x, self.reads) or x.vertices != self.vertices:
            raise ParameterError(f"this statistic is for a graph of {self.vertices} vertices")
        return x

    @property
    def _others(self) -> int:
        """Vertices beside the two ends of an edge."""
        return max(self.vertices - 2, 0)


@dataclass(frozen=True, slots=True)
class Triangles(Count):
    """How many triangles a graph has.

    A(G, k) is exact: the largest min(a + k, ⌊(D + k)/2⌋, n − 2) over pairs with a common and D other neighbours.
    Source: Nissim, Raskhodnikova and Smith 2007, claim 3.13.

    >>> steps = Triangles(4).steps(Graph.from_pairs([(0, 1), (0, 2)], 4))
    >>> [steps(k) for k in range(4)]
    [1, 1, 2, 2]
    """

    reads: ClassVar[tuple[type, ...]] = (Graph, CountedGraph)

    @property
    def most(self) -> int:
        """One less than the neighbours a vertex can have: n − 2."""
        return self._others

    def count(self, graph: Graph | CountedGraph) -> int:
        """The number of triangles."""
        return facts_of(graph).triangles()

    def steps(self, graph: Graph | CountedGraph) -> Callable[[int], int]:
        """Exact."""
        others = facts_of(graph).common_neighbours()
        common = np.arange(len(others))
        return lambda k: min(self._others, int(np.minimum(common + k, (others + k) // 2).max()))


@dataclass(frozen=True, slots=True)
class Stars(Count):
    """How many stars of so many leaves, 2 or more, a graph has.

    A(G, k) is exact: over pairs whose ends have x ≥ y neighbours beside each other, the largest C(x + s, leaves − 1) +
    C(y + k − s, leaves − 1), where as many edges as possible go to the larger end. Source: Karwa, Raskhodnikova, Smith
    and Yaroslavtsev 2011, section 3.

    >>> steps = Stars(5, 2).steps(Graph.from_pairs([(0, 1), (0, 2), (0, 3)], 5))
    >>> [steps(k) for k in range(5)]
    [3, 4, 5, 6, 6]
    """

    reads: ClassVar[tuple[type, ...]] = (Graph, CountedGraph)

    leaves: int = 2

    def __post_init__(self) -> None:
        Count.__post_init__(self)
        checked_size(self.leaves, 2)

    @property
    def most(self) -> int:
        """2 C(n − 2, leaves − 1)."""
        return 2 * comb(self._others, self.leaves - 1)

    def count(self, graph: Graph | CountedGraph) -> int:
        """The number of stars."""
        return stars_of_degrees(*facts_of(graph).degree_counts(), self.leaves)

    def steps(self, graph: Graph | CountedGraph) -> Callable[[int], int]:
        """Exact."""
        points = [(int(high), int(low)) for high, low in facts_of(graph).other_neighbours()]

        def at_distance(k: int) -> int:
            best = 0
            for high, low in points:
                raised = min(k, self._others - high)
                second = min(low + k - raised, self._others)
                best = max(best, comb(high + raised, self.leaves - 1) + comb(second, self.leaves - 1))
            return best

        return at_distance


@dataclass(frozen=True, slots=True)
class Cliques(Count):
    """How many cliques of so many vertices, 3 or more, a graph has.

    A(G, k) is a nested upper bound: C(A of triangles, size − 2), as the new cliques of an edge are cliques among the
    common neighbours of its ends. Exact for triangles. Source: Zhang, Cormode, Procopiuc, Srivastava and Xiao 2015,
    section 5.
    """

    size: int = 4

    def __post_init__(self) -> None:
        Count.__post_init__(self)
        checked_size(self.size, 3)

    @property
    def most(self) -> int:
        """C(n − 2, size − 2)."""
        return comb(self._others, self.size - 2)

    def count(self, graph: Graph) -> int:
        """The number of cliques."""
        return cliques(graph, self.size)

    def steps(self, graph: Graph) -> Callable[[int], int]:
        """A nested upper bound."""
        common = Triangles(self.vertices).steps(graph)
        return lambda k: comb(common(k), self.size - 2)


@dataclass(frozen=True, slots=True)
class FourCycles(Count):
    """How many cycles of four edges a graph has.

    A(G, k) is a nested upper bound. The new cycles of an edge ij are paths i – x – y – j: x is one of the other
    neighbours of i, and y a common neighbour of x and j. So they are at most the lesser number of other neighbours of
    an end, times the most common neighbours of a pair; each factor at distance k.
    """

    @property
    def most(self) -> int:
        """(n − 2)(n − 3)."""
        return self._others * max(self._others - 1, 0)

    def count(self, graph: Graph) -> int:
        """The number of cycles."""
        return four_cycles(graph)

    def steps(self, graph: Graph) -> Callable[[int], int]:
        """A nested upper bound."""
        points = [(int(high), int(low)) for high, low in other_neighbours(graph)]
        common = Triangles(self.vertices).steps(graph)

        def at_distance(k: int) -> int:
            lesser = max(min(low + k, (high + low + k) // 2) for high, low in points)
            return min(min(lesser, self._others) * common(k), self.most)

        return at_distance


def _check_relation(relation: Relation) -> None:
    if not adds_or_removes(relation):
        raise ParameterError(
            'graphs that differ in one edge are neighbours under "add_remove": one has an edge more; a substitution is '
            "two such steps"
        )
