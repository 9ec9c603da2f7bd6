"""Degrees and stars without trust, in one round: each client reports its own degree, and its own stars, with noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.graphs.local._lists import Estimate, Reported, checked_epsilon, checked_list, checked_vertices
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number

__all__ = ["DegreeReport", "DegreeServer", "LocalDegrees", "LocalStars", "StarReport", "StarServer", "cap_for"]

_DEGREE_SHARE = Fraction(3, 10)
"""Of a client's ε for stars: what its degree costs, from which its cap follows."""
_MARGIN = 5
"""A cap is this many scales of noise above a noisy degree: too low in about e**−5 / 2 of cases, 1 in 300."""


def cap_for(noisy: int, scale: Fraction, most: int) -> int:
    """How many neighbours count at most, from a noisy number of them: never below 1, and public.

    >>> cap_for(10, Fraction(5), most=100)
    35
    """
    return max(1, min(noisy + -(-_MARGIN * scale.numerator // scale.denominator), most))


@dataclass(frozen=True, slots=True)
class DegreeReport:
    """A vertex and its noisy degree."""

    vertex: int
    degree: int


@dataclass(frozen=True, slots=True)
class LocalDegrees:
    """Degrees, and the number of edges, from noisy degrees of clients that trust nobody.

    Parameters
    ----------
    vertices
        Their public number; clients are 0 … vertices − 1.
    epsilon
        Of one report: its client's neighbour list may differ in one vertex.

    **An edge is in the lists of both its ends, so it costs 2ε if both report:** `edge_loss`.
    Source: Qin et al. 2017, Imola, Murakami and Chaudhuri 2021; ``proofs/graph_local.md``.

    >>> scheme = LocalDegrees(vertices=100, epsilon=1)
    >>> scheme.loss, scheme.edge_loss
    (pure(1), pure(2))
    """

    vertices: int
    epsilon: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", checked_vertices(self.vertices))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    @property
    def loss(self) -> Loss:
        """Of one report, to whoever sees it."""
        return PureLoss(checked_epsilon(self.epsilon))

    @property
    def edge_loss(self) -> Loss:
        """Of an edge, by the reports of both its ends together."""
        return PureLoss(2 * checked_epsilon(self.epsilon))

    @property
    def noise(self) -> DiscreteLaplace:
        """What is added to a degree."""
        return DiscreteLaplace(1 / checked_epsilon(self.epsilon))

    def report(self, vertex: int, neighbours: ArrayLike) -> DegreeReport:
        """A client's report. Costs `loss`, and again whenever it is called."""
        own = checked_list(neighbours, vertex, self.vertices)
        return DegreeReport(int(vertex), self.noise.release(len(own)))

    def server(self) -> DegreeServer:
        """A server of this protocol, without reports."""
        return DegreeServer(self)


class DegreeServer:
    """Noisy degrees by vertex. Public, as reports are."""

    def __init__(self, scheme: LocalDegrees) -> None:
        self.scheme, self._reported = scheme, Reported(scheme.vertices)
        self._degrees = np.zeros(scheme.vertices, np.int64)

    def add(self, report: DegreeReport) -> None:
        """Count a report. Raises `ParameterError` for a second one of a vertex."""
        degree = checked_number(report.degree)
        self._reported.add(report.vertex)
        self._degrees[report.vertex] = degree

    def merge(self, other: DegreeServer) -> None:
        """Add the reports to another server. Raises `ParameterError` if a vertex has reported to both."""
        check_same(self.scheme, other.scheme)
        self._reported.merge(other._reported)
        self._degrees += other._degrees

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The noisy degree of each vertex: unbiased, and 0 of one that has not reported."""
        return self._degrees.copy()

    def edges(self) -> Estimate:
        """The number of edges: half the sum of the degrees. Its variance is reports · Var(noise) / 4."""
        reports = len(self._reported)
        return Estimate(int(self._degrees.sum()) / 2, sqrt(reports) * self.scheme.noise.std / 2, reports)


@dataclass(frozen=True, slots=True)
class StarReport:
    """A vertex, how many neighbours it counted at most, and its noisy number of stars."""

    vertex: int
    cap: int
    stars: int


@dataclass(frozen=True, slots=True)
class LocalStars:
    """The number of k-stars from noisy numbers of stars of clients that trust nobody, in one round.

    A client first draws its noisy degree, for three tenths of its ε, and takes a cap a little above it; then it counts
    the stars of as many neighbours at most, with noise for what one neighbour moves below that cap.

    Parameters
    ----------
    vertices, epsilon
        As of `LocalDegrees`; an edge costs 2ε if both its ends report.
    leaves
        k, from 2 to 8.

    Source: Imola, Murakami and Chaudhuri 2021, algorithm 1, with a cap for each client; ``proofs/graph_local.md``.

    >>> LocalStars(vertices=100, epsilon=1).noise_for(cap=11)
    DiscreteLaplace(scale='100/7')
    """

    vertices: int
    epsilon: Number
    leaves: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", checked_vertices(self.vertices))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if isinstance(self.leaves, bool) or not isinstance(self.leaves, int) or not 2 <= self.leaves <= 8:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a star has from 2 to 8 leaves, got {self.leaves!r}")

    @property
    def loss(self) -> Loss:
        """Of one report, to whoever sees it."""
        return PureLoss(checked_epsilon(self.epsilon))

    @property
    def edge_loss(self) -> Loss:
        """Of an edge, by the reports of both its ends together."""
        return PureLoss(2 * checked_epsilon(self.epsilon))

    @property
    def degree_noise(self) -> DiscreteLaplace:
        """What is added to the degree from which a cap follows."""
        return DiscreteLaplace(1 / (_DEGREE_SHARE * checked_epsilon(self.epsilon)))

    def noise_for(self, cap: int) -> DiscreteLaplace:
        """What is added to the stars of a client with this cap: one neighbour more is in C(cap − 1, k − 1) at most."""
        moved = max(comb(cap - 1, self.leaves - 1), 1)
        return DiscreteLaplace(moved / ((1 - _DEGREE_SHARE) * checked_epsilon(self.epsilon)))

    def report(self, vertex: int, neighbours: ArrayLike) -> StarReport:
        """A client's report. Costs `loss`, and again whenever it is called."""
        degree = len(checked_list(neighbours, vertex, self.vertices))
        cap = cap_for(self.degree_noise.release(degree), self.degree_noise.scale, self.vertices - 1)
        return StarReport(int(vertex), cap, self.noise_for(cap).release(comb(min(degree, cap), self.leaves)))

    def server(self) -> StarServer:
        """A server of this protocol, without reports."""
        return StarServer(self)


class StarServer:
    """The sum of reports, and how many clients have which cap. Public, as reports are."""

    def __init__(self, scheme: LocalStars) -> None:
        self.scheme, self._reported = scheme, Reported(scheme.vertices)
        self._sum, self._caps = 0, Counter[int]()

    def add(self, report: StarReport) -> None:
        """Count a report. Raises `ParameterError` for a second one of a vertex, and for a cap that no client takes."""
        cap, stars = report.cap, checked_number(report.stars)
        if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap < self.scheme.vertices:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("a client's cap is from 1 to the number of other vertices")
        self._reported.add(report.vertex)
        self._sum += stars
        self._caps[cap] += 1

    def merge(self, other: StarServer) -> None:
        """Add the reports to another server. Raises `ParameterError` if a vertex has reported to both."""
        check_same(self.scheme, other.scheme)
        self._reported.merge(other._reported)
        self._sum += other._sum
        self._caps += other._caps

    def stars(self) -> Estimate:
        """The number of stars, but for those that caps cut: 1 vertex in 300 has a cap below its degree."""
        return Estimate(
            float(self._sum), sqrt(variance_of_caps(self._caps, self.scheme.noise_for)), len(self._reported)
        )


def variance_of_caps(caps: Counter[int], noise_for: Callable[[int], DiscreteLaplace]) -> float:
    """The variance of a sum of reports by clients with these caps."""
    return sum(caps[cap] * noise_for(cap).std ** 2 for cap in sorted(caps))


def checked_number(value: object) -> int:
    """An integer of 64 bits in a report. Raises `ParameterError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise ParameterError("a report has integers of 64 bits")
    return value


def check_same(one: Any, two: Any) -> None:
    """Raise `ParameterError` unless two servers have one protocol."""
    if one != two:
        raise ParameterError("two servers add up if they have the same protocol")
