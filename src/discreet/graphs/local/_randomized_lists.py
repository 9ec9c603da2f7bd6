"""Randomised neighbour lists: for each earlier vertex, by randomised response, whether a client is joined to it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.graphs.local._degrees import check_same
from discreet.graphs.local._lists import Estimate, Reported, checked_epsilon, checked_list, checked_vertices
from discreet.noise import exp_bounds, fresh_draws
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number

__all__ = ["GRID", "ListReport", "ListServer", "LocalEdges", "flip_probability"]

GRID = 2**16
"""Probabilities of a false bit are multiples of 1 / GRID, so that sums of corrected bits are exact integers."""
_BITS = 256


@lru_cache(maxsize=64)
def flip_probability(epsilon: Fraction) -> Fraction:
    """The least multiple of 2**−16 with which a bit may be flipped: (1 − q) / q ≤ exp(ε).

    >>> flip_probability(Fraction(1)), float(flip_probability(Fraction(1)))
    (Fraction(8813, 32768), 0.268951416015625)
    """
    high = exp_bounds(epsilon, _BITS)[1]
    return Fraction(-(-GRID * high // ((1 << _BITS) + high)), GRID)


@dataclass(frozen=True, slots=True)
class ListReport:
    """A vertex and a bit for each earlier vertex, eight to a byte, the least bit first."""

    vertex: int
    bits: bytes


@dataclass(frozen=True, slots=True)
class LocalEdges:
    """A noisy graph, and the number of edges, from randomised neighbour lists of clients that trust nobody.

    Client i reports the bits of vertices 0 … i − 1 alone, so that each pair is reported once, and **an edge costs ε
    once**. (If both ends reported all their bits, it would cost 2ε.)

    Parameters
    ----------
    vertices
        Their public number.
    epsilon
        Of one report: its client's neighbour list may differ in one vertex.

    Source: Warner 1965; Imola, Murakami and Chaudhuri 2021, section 4; ``proofs/graph_local.md``.

    >>> scheme = LocalEdges(vertices=100, epsilon=1)
    >>> scheme.loss, scheme.edge_loss
    (pure(1), pure(1))
    """

    vertices: int
    epsilon: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", checked_vertices(self.vertices))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if self.flip >= Fraction(1, 2):
            raise ParameterError("epsilon is too small for a randomised list that says anything; use 0.001 or more")

    @property
    def loss(self) -> Loss:
        """Of one report, to whoever sees it: at most the ε that was asked for."""
        return PureLoss(checked_epsilon(self.epsilon))

    @property
    def edge_loss(self) -> Loss:
        """Of an edge, by all reports together: one end reports it."""
        return self.loss

    @property
    def flip(self) -> Fraction:
        """The probability of a false bit."""
        return flip_probability(checked_epsilon(self.epsilon))

    def report(self, vertex: int, neighbours: ArrayLike) -> ListReport:
        """A client's report. Costs `loss`, and again whenever it is called."""
        own = checked_list(neighbours, vertex, self.vertices)
        bits = np.zeros(vertex, np.bool_)
        bits[own[own < vertex]] = True
        flips = fresh_draws().coins(self.flip, vertex) if vertex else np.empty(0, np.bool_)
        return ListReport(int(vertex), np.packbits(bits ^ flips, bitorder="little").tobytes())

    def server(self) -> ListServer:
        """A server of this protocol, without reports."""
        return ListServer(self)


class ListServer:
    """Randomised lists by vertex. Public, as reports are."""

    def __init__(self, scheme: LocalEdges) -> None:
        self.scheme, self._reported = scheme, Reported(scheme.vertices)
        self._rows = np.zeros((scheme.vertices, -(-scheme.vertices // 8)), np.uint8)

    def add(self, report: ListReport) -> None:
        """Count a report. Raises `ParameterError` for a second one of a vertex, and for bits that do not fit it."""
        vertex, bits = report.vertex, report.bits
        if not isinstance(bits, bytes) or not isinstance(vertex, int) or len(bits) != -(-vertex // 8):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("a list has a bit for each earlier vertex, and nothing else")
        if vertex % 8 and bits[-1] >> vertex % 8:
            raise ParameterError("a list has a bit for each earlier vertex, and nothing else")
        self._reported.add(vertex)
        self._rows[vertex, : len(bits)] = np.frombuffer(bits, np.uint8)

    def merge(self, other: ListServer) -> None:
        """Add the reports to another server. Raises `ParameterError` if a vertex has reported to both."""
        check_same(self.scheme, other.scheme)
        self._reported.merge(other._reported)
        self._rows |= other._rows

    @property
    def rows(self) -> NDArray[np.uint8]:
        """The noisy graph: bit j of row i, j < i, packed as in a report; shape (vertices, ⌈vertices/8⌉)."""
        return self._rows.copy()

    def edges(self) -> Estimate:
        """The number of edges: (ones − q pairs) / (1 − 2q). Its variance is pairs · q (1 − q) / (1 − 2q)²."""
        q = self.scheme.flip
        pairs = int(np.flatnonzero(self._reported.which).sum())
        ones = int(np.bitwise_count(self._rows).sum())
        value = (ones - q * pairs) / (1 - 2 * q)
        return Estimate(float(value), sqrt(pairs * q * (1 - q)) / float(1 - 2 * q), len(self._reported))
