"""Degrees as sums of cumulative counts over blocks, and the distribution that noisy sums are nearest to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

__all__ = ["block_sums", "blocks_up_to", "degree_distribution", "share_band", "sums_sensitivity"]

_PER_BLOCK = 2
"""A block of degrees from b on has max(1, ⌊b/2⌋) of them."""
_EXTRA = 8
"""The sum that estimates the number of vertices counts each ⌊cap/8⌋ times."""


def blocks_up_to(cap: int) -> tuple[int, ...]:
    """Where the blocks of degrees below the cap begin, and the cap: each single degree, then ever wider. Public.

    >>> blocks_up_to(20)
    (0, 1, 2, 3, 4, 6, 9, 13, 19, 20)
    """
    begins = [0]
    while begins[-1] < cap:
        begins.append(min(cap, begins[-1] + max(1, begins[-1] // _PER_BLOCK)))
    return tuple(begins)


def block_sums(degrees: NDArray[np.int64], cap: int) -> NDArray[np.int64]:
    """For each block, the numbers of vertices of degree at most k, summed over its k; last, the vertices. SENSITIVE.

    `degrees` are at most `cap`. Shape (blocks + 1,); the vertices are counted max(1, ⌊cap/8⌋) times. Together the sums
    move by at most `sums_sensitivity(cap)` when a vertex comes or goes: ``proofs/graph_node_degrees.md``.

    >>> block_sums(np.array([1, 1, 2]), 2).tolist()
    [0, 2, 3]
    """
    cumulative = np.cumsum(np.bincount(degrees, minlength=cap + 1))
    begins = blocks_up_to(cap)
    sums = np.add.reduceat(cumulative[:cap], begins[:-1])
    return np.append(sums, _extra(cap) * len(degrees)).astype(np.int64)


def sums_sensitivity(cap: int, *, listed: bool = False) -> int:
    """By how much the sums of all blocks move together at most: by `cap` below it, and by the weight of a vertex.

    Where vertices are `listed` in public they stay: one that loses its edges moves the sums by its degree, and those of
    its neighbours do so again; the number of vertices does not move.

    >>> sums_sensitivity(16), sums_sensitivity(16, listed=True)
    (18, 32)
    """
    return 2 * cap if listed else cap + _extra(cap)


def _extra(cap: int) -> int:
    return max(1, cap // _EXTRA)


def degree_distribution(
    sums: NDArray[np.int64], cap: int, *, listed: bool = False
) -> tuple[NDArray[np.float64], float]:
    """The distribution nearest to the averages of all blocks, straight between their middles, and the vertices.

    Of noisy sums as `block_sums` has them, of which the last is exact if vertices are `listed`: shape (cap + 1,), from
    0 to 1, never falling.

    >>> degree_distribution(np.array([0, 2, 4]), 2)[0].tolist()
    [0.0, 0.5, 1.0]
    """
    widths, middles = _blocks(cap)
    noisy = np.maximum(sums / widths, 0)
    if listed:
        below = isotonic_regression(np.minimum(noisy[:-1], noisy[-1]), weights=widths[:-1] ** 2).x
        averages = np.append(below, noisy[-1])
    else:
        averages = np.asarray(isotonic_regression(noisy, weights=widths**2).x)
    vertices = float(averages[-1])
    if vertices == 0:
        return np.ones(cap + 1), 0.0
    return np.interp(np.arange(cap + 1), middles, averages / vertices), vertices


def share_band(
    sums: NDArray[np.int64], cap: int, error: int, *, listed: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Between which shares the distribution lies at each degree, if each noisy sum is off by at most `error`.

    A sum tells the average of the counts in its block, which never fall: so it is no more than the last of them and no
    less than the first, and for the others the sums of the blocks beside it tell. Two arrays of shape (cap + 1,).

    >>> low, high = share_band(np.array([10, 15, 20]), 2, 1)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.43, 0.67, 1.0], [0.58, 0.84, 1.0])
    """
    begins, noisy = np.array(blocks_up_to(cap)), sums.astype(np.float64)
    widths = _blocks(cap)[0]
    errors = np.append(np.full(len(noisy) - 1, error), 0 if listed else error)
    least, most = np.maximum((noisy - errors) / widths, 0), np.maximum((noisy + errors) / widths, 1)
    low = np.minimum(np.maximum.accumulate(least[:-1] / most[-1]), 1)
    high = np.minimum(np.minimum.accumulate((most[:-1] / max(least[-1], 1))[::-1])[::-1], 1)
    degrees = np.arange(cap)
    block = np.searchsorted(begins, degrees, "right") - 1
    below, above = np.append(0, low), np.append(high, 1)
    lowest = np.where(degrees == begins[block + 1] - 1, low[block], below[block])
    highest = np.where(degrees == begins[block], high[block], above[block + 1])
    return np.append(lowest, 1), np.append(np.maximum(highest, lowest), 1)


def _blocks(cap: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How many times each sum counts a vertex that is in it whole, and at which degree its average stands."""
    begins = np.array(blocks_up_to(cap))
    widths = np.append(np.diff(begins), _extra(cap)).astype(np.float64)
    return widths, np.append(begins[:-1] + (widths[:-1] - 1) / 2, cap)
