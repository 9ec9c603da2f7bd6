"""Neighbour lists, as clients hold them, and who has reported to a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.rational import Number, decimal_text, rational

__all__ = ["Estimate", "Reported", "checked_epsilon", "checked_list", "checked_vertices", "neighbour_lists"]

Integers = NDArray[np.int64]

_LEAST, _MOST = Fraction(1, 10**6), 100
_MOST_VERTICES = 2**24


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unbiased estimate from reports, all of which are public.

    Attributes
    ----------
    value
        The estimate.
    std
        Its standard deviation by the randomness of the reports.
    reports
        How many vertices have reported; what those count who have not is missing.
    """

    value: float
    std: float
    reports: int


def checked_vertices(vertices: object) -> int:
    """The public number of vertices. Raises `ParameterError` unless it is an integer from 2 to 2**24."""
    if isinstance(vertices, bool) or not isinstance(vertices, int) or not 2 <= vertices <= _MOST_VERTICES:
        raise ParameterError(f"a protocol has from 2 to {_MOST_VERTICES:,} vertices, an integer; got {vertices!r}")
    return vertices


def checked_epsilon(epsilon: Number) -> Fraction:
    """The exact ε of a protocol. Raises `ParameterError` unless it is from 1e-6 to 100."""
    exact = rational(epsilon, "epsilon")
    if not _LEAST <= exact <= _MOST:
        raise ParameterError(f"epsilon must be from 1e-6 to 100, got {decimal_text(exact)}")
    return exact


def checked_list(neighbours: ArrayLike, vertex: int, vertices: int) -> Integers:
    """A client's neighbours, sorted, each once and without itself. Raises `ParameterError` for what is no vertex."""
    if isinstance(vertex, bool) or not isinstance(vertex, int | np.integer) or not 0 <= vertex < vertices:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"a vertex is a number from 0 to {vertices - 1}, got {vertex!r}")
    array = np.asarray(neighbours)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= vertices:
        raise ParameterError(f"a neighbour list has vertices: numbers from 0 to {vertices - 1}")
    unique = np.unique(array.astype(np.int64))
    return unique[unique != vertex]


def neighbour_lists(graph: Graph) -> list[Integers]:
    """The list of each vertex, as its client would hold it: for studies before roll-out. SENSITIVE.

    >>> [each.tolist() for each in neighbour_lists(Graph.from_pairs([(0, 1), (1, 2)]))]
    [[1], [0, 2], [1]]
    """
    both = np.concatenate([graph.ends, graph.ends[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return np.split(both[:, 1], np.searchsorted(both[:, 0], np.arange(1, graph.vertices)))


@dataclass(slots=True)
class Reported:
    """Which vertices have reported: nobody counts twice, and two servers add up if nobody reported to both."""

    vertices: int
    which: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.which = np.zeros(self.vertices, np.bool_)

    def __len__(self) -> int:
        return int(self.which.sum())

    def add(self, vertex: int) -> None:
        """Note a report. Raises `ParameterError` if it is of no vertex, or of one that has reported."""
        if isinstance(vertex, bool) or not isinstance(vertex, int) or not 0 <= vertex < self.vertices:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("a report is of a vertex of the protocol")
        if self.which[vertex]:
            raise ParameterError(f"vertex {vertex} has reported already; a second report would count twice")
        self.which[vertex] = True

    def merge(self, other: Reported) -> None:
        """Note the reports to another server. Raises `ParameterError` if one vertex has reported to both."""
        if other.vertices != self.vertices or bool((self.which & other.which).any()):
            raise ParameterError("two servers add up if they have one protocol, and no vertex has reported to both")
        self.which |= other.which
