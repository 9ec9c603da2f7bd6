"""Points of a projective space over a prime field, as numbers; and points inside and outside of a value's hyperplane.

A vector (v₀ … v_{t−1}) is the number Σ vᵢqⁱ. A reported point is the vector of it whose last coordinate other than 0
is 1, at place k; its number is D_k + Σ_{i<k} vᵢqⁱ, D_k = (qᵏ − 1)/(q − 1). A value's point is written the other way
round, so its first coordinate other than 0 is 1. ``proofs/projective_geometry.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.local._layout import Integers

__all__ = ["Space"]

Flags = NDArray[np.bool_]

_ROWS_AT_ONCE = 1 << 15  # what the steps of a chunk touch stays in the cache


@dataclass(frozen=True, slots=True)
class Space:
    """The projective space of t coordinates over the integers modulo a prime q."""

    q: int
    t: int

    def points(self, t: int | None = None) -> int:
        """D_t: how many points there are, here or in a space of `t` coordinates."""
        return (self.q ** (self.t if t is None else t) - 1) // (self.q - 1)

    @property
    def inside(self) -> int:
        """How many points are in a hyperplane: the reports that support a value."""
        return self.points(self.t - 1)

    @property
    def outside(self) -> int:
        """How many points are in no such hyperplane: q^(t−1)."""
        return self.q ** (self.t - 1)

    @property
    def shared(self) -> int:
        """How many points are in two different hyperplanes."""
        return self.points(self.t - 2)

    def reports(self, values: Integers, inside: Flags, ranks: Integers) -> Integers:
        """The number of a point for each value: the `ranks`-th of its hyperplane where `inside`, else outside of it.

        For each value, one to one from 0 … `inside` − 1 to the points of its hyperplane, and from 0 … `outside` − 1 to
        the others.
        """
        found = np.empty_like(values)
        for start in range(0, values.size, _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            found[some] = self._some_reports(values[some], inside[some], ranks[some])
        return found

    def _some_reports(self, values: Integers, inside: Flags, ranks: Integers) -> Integers:
        powers, sizes = self._powers, self._sizes
        k = np.searchsorted(sizes, values, "right") - 1
        mirror, lowest = values - sizes[k] + powers[k], self.t - 1 - k
        cut = powers[lowest]
        k = np.searchsorted(sizes, ranks, "right") - 1
        start = ranks - sizes[k] + powers[k]
        lead = np.searchsorted(powers, ranks, "right") - 1  # −1 for rank 0, which is below every cut
        product = np.where(ranks < cut, 1, ranks // powers[lead])
        outer = np.where(ranks < cut, ranks, ranks - (product - 1) * powers[lead])
        start = np.where(inside, start, outer)
        product = np.where(inside, 0, product)
        above = start // cut
        vector = start + above * (cut * (self.q - 1))  # a 0 is put in at the lowest place of the value's point
        vector += (product - self._inner(mirror, vector)) % self.q * cut
        k = np.searchsorted(powers, vector, "right") - 1
        return vector - powers[k] + sizes[k]

    def _inner(self, mirror: Integers, vector: Integers) -> Integers:
        """Σ uᵢvᵢ, not reduced; the digits of `mirror` are those of u from the last to the first."""
        total = np.zeros_like(vector)
        for i in range(self.t - 1, -1, -1):
            power = self.q**i
            digit, rest = vector // power, mirror // self.q
            total += digit * (mirror - rest * self.q)
            vector, mirror = vector - digit * power, rest
        return total

    @property
    def _powers(self) -> Integers:
        return np.array([self.q**k for k in range(self.t)], dtype=np.int64)

    @property
    def _sizes(self) -> Integers:
        return np.array([self.points(k) for k in range(self.t)], dtype=np.int64)
