"""Points of a projective space over a prime field, as numbers; and points inside and outside of a value's hyperplane.

A vector (v₀ … v_{t−1}) is the number Σ vᵢqⁱ. A reported point is the vector of it whose last coordinate other than 0
is 1, at place k; its number is D_k + Σ_{i<k} vᵢqⁱ, D_k = (qᵏ − 1)/(q − 1). A value's point is written the other way
round, so its first coordinate other than 0 is 1. ``proofs/projective_geometry.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from discreet.local._reports import Integers

__all__ = ["Space", "hyperplane_sums"]


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
        numbers = np.empty_like(values)
        for start in range(0, values.size, _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            numbers[some] = self._some_reports(values[some], inside[some], ranks[some])
        return numbers

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


_SUMS_AT_ONCE = 1 << 16  # what the steps of a chunk touch stays in the cache

Sums = NDArray[np.signedinteger[Any]]


def hyperplane_sums(space: Space, counts: Integers, size: int) -> Integers:
    """For each of the first `size` values, the sum of the counts over the points of its hyperplane.

    One coordinate at a time, as partial sums by the inner product so far: about t·(q·size + K) additions.
    Source: Feldman, Nelson, Nguyen and Talwar 2022 (a dynamic programme of the same kind).

    >>> hyperplane_sums(Space(2, 2), np.array([5, 7, 9]), 3).tolist()
    [5, 7, 9]
    """
    q = space.q
    small = int(counts.sum()) < 1 << 31  # and no partial sum is above the total
    narrow: Sums = counts.astype(np.int32) if small else counts
    needed = _needed(space, size)
    totals = np.zeros(1, dtype=np.int64)
    for m in range(1, space.t):
        first, last = space.points(m), space.points(m + 1)
        sums = _by_product(q, narrow[first:last], needed[: m + 1])
        slopes = np.arange(min(q, needed[m + 1] - 1))
        below = totals[: needed[m], None] + sums[:, -slopes % q]
        totals = np.concatenate(([counts[:first].sum()], below.ravel()))
    return totals[:size]


def _needed(space: Space, size: int) -> list[int]:
    """How many values of each number of coordinates, from 0 on, the first `size` of t coordinates are extensions of."""
    needed = [size]
    for _ in range(space.t):
        needed.append(max(1, -(-(needed[-1] - 1) // space.q)))
    return needed[::-1]


def _by_product(q: int, affine: Sums, needed: list[int]) -> Sums:
    """For the needed values u and each product b: the sum of `affine` over the vectors x with ⟨u, x⟩ = b.

    `state` is indexed by the coordinates of x that are still to come, by a value, and by the product so far.
    """
    m = len(needed) - 1
    state = affine.reshape(-1, 1, q)
    for i in range(1, m):
        state = state.reshape(q ** (m - i - 1), q, -1, q)
        unit = state[:, :, :1].sum(axis=3, dtype=state.dtype).transpose(0, 2, 1)
        slanted = _slanted(state[:, :, : needed[i]], min(q, needed[i + 1] - 1))
        state = np.concatenate((unit, slanted), axis=1)[:, : needed[i + 1]]
    return state[0]


def _slanted(state: Sums, slopes: int) -> Sums:
    """Σₓ state[o, x, n, (b − c·x) mod q] for every o, n, c and b: in this order, n and c as one index."""
    outer, q, values, _ = state.shape
    batch = outer * values
    width = q * batch
    columns = np.ascontiguousarray(state.transpose(1, 3, 0, 2)).reshape(q, width)
    shifted = sliding_window_view(np.concatenate((columns, columns), axis=1), width, axis=1)
    total = np.zeros((slopes, width), dtype=state.dtype)
    step = max(1, _SUMS_AT_ONCE // width)
    for start in range(0, slopes, step):
        some = total[start : start + step]
        c = np.arange(start, start + len(some))
        for x in range(q):
            some += shifted[x, (q - c * x % q) * batch]
    return total.reshape(slopes, q, outer, values).transpose(2, 3, 0, 1).reshape(outer, values * slopes, q)
