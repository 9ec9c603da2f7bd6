"""From the counts of points to the supports of values: sums over hyperplanes, all at once, in whole numbers.

``proofs/projective_geometry.md``, Estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from discreet.local._frequencies._projective_points import Space
from discreet.local._layout import Integers

__all__ = ["hyperplane_sums"]

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
    found = np.zeros(1, dtype=np.int64)
    for m in range(1, space.t):
        first, last = space.points(m), space.points(m + 1)
        sums = _by_product(q, narrow[first:last], needed[: m + 1])
        slopes = np.arange(min(q, needed[m + 1] - 1))
        below = found[: needed[m], None] + sums[:, -slopes % q]
        found = np.concatenate(([counts[:first].sum()], below.ravel()))
    return found[:size]


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
