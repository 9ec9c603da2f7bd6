"""Projective geometry response: a point, which is more often one in the hyperplane of the sender's value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._projective_points import Space, hyperplane_sums
from discreet.local.frequencies._supports import SupportScheme, add_cells
from discreet.noise import Draws

__all__ = ["ProjectiveGeometry"]

_MOST_POINTS = 1 << 26
_WITHIN = Fraction(1001, 1000)


@dataclass(frozen=True, slots=True, init=False)
class ProjectiveGeometry(SupportScheme):
    """Reports one of the K points of a projective space of t coordinates over the integers modulo a prime q.

    A value is a point too, and a report supports the values that it is orthogonal to; those of the sender's hyperplane
    are e^ε times as likely as all others. The error is that of `SubsetSelection`, the lowest known, in a report of
    ⌈log₂ K⌉ bits, in whole bytes. The server keeps K counts, adds 1 to one of them for each report, and takes about
    t·(q·d + K) additions when it is read. q and t are those of the fewest points, 2**26 at most, among the ones whose
    variance is within 0.1 % of the least. Pure ε-local privacy. Raises `ParameterError` for a domain of fewer than 2 or
    more than 2**24 values and unless 1e-6 ≤ ε ≤ 100.
    Source: Feldman, Nelson, Nguyen and Talwar 2022, "Private Frequency Estimation via Projective Geometry";
    ``proofs/projective_geometry.md``.

    >>> scheme = ProjectiveGeometry(domain=22_000, epsilon=5)
    >>> scheme.space, scheme.layout.width
    (Space(q=149, t=3), 2)
    >>> reports = scheme.client().encode([7] * 100)
    >>> int(scheme.server().add(reports).estimate().frequencies.argmax())
    7
    """

    protocol: ClassVar[str] = "projective_geometry"

    @property
    def space(self) -> Space:
        """The points: `space.q` and `space.t`."""
        return _best_space(self.domain.size, self.epsilon)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report is a point of the sender's hyperplane, and of another value's hyperplane."""
        return _probabilities(self.space, exp_epsilon(self.epsilon))

    @property
    def layout(self) -> Layout:
        """The number of the point."""
        return Layout((self.cells,))

    @property
    def cells(self) -> int:
        """One count for each point: K = (qᵗ − 1)/(q − 1)."""
        return self.space.points()

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A coin: one of the points of the value's hyperplane, or else of the others, uniformly."""
        space = self.space
        inside = draws.coins(self.support_probabilities[0], prepared.size)
        ranks = np.empty(prepared.size, dtype=np.int64)
        held = int(inside.sum())
        ranks[inside] = draws.below(space.inside, held)
        ranks[~inside] = draws.below(space.outside, prepared.size - held)
        return self.layout.pack(space.reports(prepared, inside, ranks))

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the points."""
        add_cells(fields.numbers[0], counts)

    def supports(self, counts: Integers) -> Integers:
        """A report supports the values that it is orthogonal to."""
        return hyperplane_sums(self.space, counts, self.domain.size)


def _probabilities(space: Space, weight: Fraction) -> tuple[Fraction, Fraction]:
    total = space.inside * weight + space.outside
    return space.inside * weight / total, (space.shared * weight + space.inside - space.shared) / total


@lru_cache(maxsize=2**13)
def _best_space(size: int, epsilon: Fraction) -> Space:
    """Clients and servers choose in exact arithmetic, so that they agree. Kept for as many tables as a scheme has."""
    weight = exp_epsilon(epsilon)
    variances = {space: _variance(space, weight) for space in _candidates(size, int(min(weight, _MOST_POINTS)) + 1)}
    limit = min(variances.values()) * _WITHIN
    return min((space for space, variance in variances.items() if variance <= limit), key=Space.points)


def _variance(space: Space, weight: Fraction) -> Fraction:
    p, q = _probabilities(space, weight)
    return q * (1 - q) / (p - q) ** 2


def _candidates(size: int, near: int) -> set[Space]:
    """For each t, the least prime of enough points, and those beside e^ε + 1 or what is nearest to it in the limits."""
    spaces: set[Space] = set()
    for t in range(2, _MOST_POINTS.bit_length()):
        least, most = _root(size - 1, t) + 1, _root(_MOST_POINTS, t)
        least = _prime(least, 1)
        target = min(max(near, least), most)
        spaces |= {Space(q, t) for q in (least, _prime(target, 1), _prime(target, -1)) if least <= q <= most}
    return spaces


def _root(points: int, t: int) -> int:
    """The largest q, from 1, whose space of t coordinates has at most so many points, or 1."""
    low, high = 1, points + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Space(middle, t).points() <= points else (low, middle)
    return low


def _prime(start: int, step: int) -> int:
    """The first prime from `start` on in steps of 1 or −1, or 1 below 2."""
    while start > 1 and not all(start % i for i in range(2, isqrt(start) + 1)):
        start += step
    return start
