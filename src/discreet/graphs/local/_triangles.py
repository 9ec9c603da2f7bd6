"""Triangles without trust, in two rounds: noisy degrees and randomised lists, then corrected counts at the clients.

After Imola, Murakami and Chaudhuri 2021 and 2022. What differs from theirs: a triangle is counted by its vertex of the
lowest noisy degree, whose list of higher vertices is short even in a graph with hubs; each client has a cap of its own;
and what a client's cap can exchange is charged (``proofs/graph_local.md``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.graphs.local._degrees import (
    DegreeReport,
    DegreeServer,
    LocalDegrees,
    cap_for,
    check_same,
    checked_number,
    variance_of_caps,
)
from discreet.graphs.local._lists import Estimate, Reported, checked_epsilon, checked_list, checked_vertices
from discreet.graphs.local._randomized_lists import GRID, ListReport, ListServer, LocalEdges
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number

__all__ = [
    "Broadcast",
    "CountReport",
    "FirstReport",
    "FirstServer",
    "LocalTriangles",
    "TriangleClient",
    "TriangleServer",
    "corrected_count",
    "list_variance",
]

Integers = NDArray[np.int64]

_DEGREE, _LIST, _CAP, _COUNT = Fraction(1, 20), Fraction(2, 5), Fraction(3, 20), Fraction(7, 20)
"""What an edge costs, of its ε: the degree at each of its two ends, its bit, and a cap and a count at one end."""


@dataclass(frozen=True, slots=True)
class FirstReport:
    """What a client reports in the first round."""

    degree: DegreeReport
    bits: ListReport


@dataclass(frozen=True, eq=False, slots=True)
class Broadcast:
    """What all clients receive before the second round. Public.

    Attributes
    ----------
    rank
        The place of each vertex by noisy degree, the lowest first; vertices of one noisy degree in their order.
    rows
        The noisy graph: bit j of row i for j < i, as in `ListServer.rows`.
    """

    rank: Integers
    rows: NDArray[np.uint8]

    def joined(self, members: Integers) -> NDArray[np.bool_]:
        """Which of these vertices the noisy graph joins: shape (p, p), symmetric."""
        high, low = np.maximum.outer(members, members), np.minimum.outer(members, members)
        return (self.rows[high, low // 8] >> (low % 8) & 1).astype(np.bool_) & (high != low)


@dataclass(frozen=True, slots=True)
class CountReport:
    """A vertex, how many neighbours it counted at most, and its corrected and noisy count, in 2**−16."""

    vertex: int
    cap: int
    count: int


@dataclass(frozen=True, slots=True)
class LocalTriangles:
    """The number of triangles from clients that trust nobody, in two rounds.

    1. A client reports its noisy degree, and bits of earlier vertices as in `LocalEdges`.
    2. The server sends everyone the noisy degrees and the noisy graph. A client takes those neighbours that have a
       higher noisy degree, at most as many as a cap that it draws; of each pair of these it counts how far the noisy
       bit is above its mean without an edge; and it reports the sum with noise.

    Parameters
    ----------
    vertices
        Their public number.
    epsilon
        What an edge costs by all reports of both rounds: its degree counts at both ends, all else at one.

    A server that shows its clients different orders could have a pair counted at both its ends: `worst_edge_loss` holds
    whatever the server does.

    >>> scheme = LocalTriangles(vertices=100, epsilon=2)
    >>> scheme.edge_loss, scheme.loss, scheme.worst_edge_loss
    (pure(2), pure(1.9), pure(3))
    """

    vertices: int
    epsilon: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", checked_vertices(self.vertices))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        _ = self.edges

    @property
    def loss(self) -> Loss:
        """Of one client's list, by its reports of both rounds."""
        return PureLoss(self._part(_DEGREE + _LIST + _CAP + _COUNT))

    @property
    def edge_loss(self) -> Loss:
        """Of an edge, by all reports, where all clients receive one broadcast."""
        return PureLoss(self._part(Fraction(1)))

    @property
    def worst_edge_loss(self) -> Loss:
        """Of an edge, by all reports, whatever clients receive."""
        return PureLoss(self._part(2 * _DEGREE + _LIST + 2 * (_CAP + _COUNT)))

    @property
    def degrees(self) -> LocalDegrees:
        """The noisy degrees of the first round."""
        return LocalDegrees(self.vertices, self._part(_DEGREE))

    @property
    def edges(self) -> LocalEdges:
        """The randomised lists of the first round."""
        return LocalEdges(self.vertices, self._part(_LIST))

    @property
    def cap_noise(self) -> DiscreteLaplace:
        """What is added to the number of higher neighbours from which a cap follows."""
        return DiscreteLaplace(1 / self._part(_CAP))

    def noise_for(self, cap: int) -> DiscreteLaplace:
        """What is added to a count, in 2**−16: one neighbour more or less moves it by cap − 1 at most."""
        return DiscreteLaplace(max(cap - 1, 1) * GRID / self._part(_COUNT))

    def client(self, vertex: int, neighbours: ArrayLike) -> TriangleClient:
        """One client's device, which reports once in each round."""
        return TriangleClient(self, int(vertex), checked_list(neighbours, vertex, self.vertices))

    def first_server(self) -> FirstServer:
        """The server of the first round, without reports."""
        return FirstServer(self)

    def server(self) -> TriangleServer:
        """The server of the second round, without reports."""
        return TriangleServer(self)

    def _part(self, share: Fraction) -> Fraction:
        return share * checked_epsilon(self.epsilon)


@dataclass(slots=True)
class TriangleClient:
    """One client: a vertex and its neighbours, which it shows to nobody. Make it with `LocalTriangles.client`."""

    scheme: LocalTriangles
    vertex: int
    neighbours: Integers = field(repr=False)
    _rounds: int = field(default=0, init=False)

    def first(self) -> FirstReport:
        """The report of the first round. Raises `ParameterError` if it was made: a second one would cost again."""
        self._advance(0)
        return FirstReport(
            self.scheme.degrees.report(self.vertex, self.neighbours),
            self.scheme.edges.report(self.vertex, self.neighbours),
        )

    def second(self, broadcast: Broadcast) -> CountReport:
        """The report of the second round. Raises `ParameterError` if it was made, or if the first was not."""
        if broadcast.rank.shape != (self.scheme.vertices,):
            raise ParameterError("the broadcast is of another protocol")
        self._advance(1)
        scheme = self.scheme
        higher = self.neighbours[broadcast.rank[self.neighbours] > broadcast.rank[self.vertex]]
        noisy = scheme.cap_noise.release(len(higher))
        cap = cap_for(noisy, scheme.cap_noise.scale, scheme.vertices - 1)
        count = corrected_count(broadcast.joined(higher[:cap]), scheme.edges.flip)
        return CountReport(self.vertex, cap, scheme.noise_for(cap).release(count))

    def _advance(self, done: int) -> None:
        if self._rounds != done:
            raise ParameterError(f"this client has reported in {self._rounds} of 2 rounds; each is reported once")
        self._rounds += 1


def corrected_count(joined: NDArray[np.bool_], flip: Fraction) -> int:
    """The sum over pairs of the noisy bit minus the probability of a false one, in 2**−16.

    >>> corrected_count(np.array([[False, True], [True, False]]), Fraction(1, 4))
    49152
    """
    size = len(joined)
    pairs = size * (size - 1) // 2
    return GRID * (int(np.count_nonzero(joined)) // 2) - int(flip * GRID) * pairs


class FirstServer:
    """The reports of the first round. Public, as they are."""

    def __init__(self, scheme: LocalTriangles) -> None:
        self.scheme = scheme
        self._degrees, self._lists = DegreeServer(scheme.degrees), ListServer(scheme.edges)

    def add(self, report: FirstReport) -> None:
        """Count a report. Raises `ParameterError` for a second one of a vertex, and for one of two vertices."""
        if report.degree.vertex != report.bits.vertex:
            raise ParameterError("the parts of a report are of one vertex")
        self._lists.add(report.bits)
        self._degrees.add(report.degree)

    def merge(self, other: FirstServer) -> None:
        """Add the reports to another server. Raises `ParameterError` if a vertex has reported to both."""
        check_same(self.scheme, other.scheme)
        self._degrees.merge(other._degrees)
        self._lists.merge(other._lists)

    def broadcast(self) -> Broadcast:
        """What all clients receive. Who has not reported has a degree of 0 and no bits."""
        rank = np.empty(self.scheme.vertices, np.int64)
        rank[np.argsort(self._degrees.degrees, kind="stable")] = np.arange(len(rank))
        return Broadcast(rank, self._lists.rows)


class TriangleServer:
    """The sum of the counts of the second round, and how many clients have which cap. Public, as reports are."""

    def __init__(self, scheme: LocalTriangles) -> None:
        self.scheme, self._reported = scheme, Reported(scheme.vertices)
        self._sum, self._caps = 0, Counter[int]()

    def add(self, report: CountReport) -> None:
        """Count a report. Raises `ParameterError` for a second one of a vertex, and for a cap that no client takes."""
        cap, count = report.cap, checked_number(report.count)
        if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap < self.scheme.vertices:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("a client's cap is from 1 to the number of other vertices")
        self._reported.add(report.vertex)
        self._sum += count
        self._caps[cap] += 1

    def merge(self, other: TriangleServer) -> None:
        """Add the reports to another server. Raises `ParameterError` if a vertex has reported to both."""
        check_same(self.scheme, other.scheme)
        self._reported.merge(other._reported)
        self._sum += other._sum
        self._caps += other._caps

    def triangles(self) -> Estimate:
        """The number of triangles, but for those that caps cut.

        The standard deviation is that of the noise on counts. The randomised lists add Σ C² q (1 − q) / (1 − 2q)² to
        the variance, C being for each pair of vertices how many clients count it, which nobody but the clients knows:
        `list_variance` computes it of a graph that is known.
        """
        unit = GRID * float(1 - 2 * self.scheme.edges.flip)
        return Estimate(
            self._sum / unit, sqrt(variance_of_caps(self._caps, self.scheme.noise_for)) / unit, len(self._reported)
        )


def list_variance(higher: list[Integers], flip: Fraction) -> float:
    """What randomised lists add to the variance of an estimate, from the higher neighbours that each client counts.

    SENSITIVE: for studies of graphs that are known.
    """
    from scipy import sparse

    sizes = [len(each) for each in higher]
    rows = sparse.csr_array(
        (np.ones(sum(sizes), np.int64), np.concatenate(higher), np.cumsum([0, *sizes])), shape=(len(higher),) * 2
    )
    counted = sparse.triu(rows.T @ rows, 1)
    return float((counted.data**2).sum() * flip * (1 - flip) / (1 - 2 * flip) ** 2)
