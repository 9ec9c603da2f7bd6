"""The Walsh–Hadamard transform, of whole numbers and of floats."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from discreet.local._estimate import Floats
from discreet.local._layout import Integers

__all__ = ["walsh", "walsh_of_floats"]

_MOST = 2**8


def walsh(rows: Integers) -> Integers:
    """Each row r becomes s with s[j] = Σᵢ (−1)^⟨i, j⟩ r[i], where ⟨i, j⟩ counts the bits that i and j share.

    Rows have 2**m entries; m·2**m additions each, no rounding. Source: Fino and Algazi 1976.

    >>> walsh(np.array([[1, 2, 3, 5]])).tolist()
    [[11, -3, -5, 1]]
    """
    count, size = rows.shape
    done = rows.copy()
    half = 1
    while half < size:
        pairs = done.reshape(count, size // (2 * half), 2, half)
        left, right = pairs[:, :, 0], pairs[:, :, 1]
        done = np.stack((left + right, left - right), axis=2).reshape(count, size)
        half *= 2
    return done


def walsh_of_floats(rows: Floats) -> Floats:
    """The same of floats, by products of matrices: more additions in less time.

    >>> walsh_of_floats(np.array([[0.5, 1, 1.5, 2.5]])).tolist()
    [[5.5, -1.5, -2.5, 0.5]]
    """
    size = rows.shape[1]
    done, width = rows, 1
    while width < size:
        step = min(size // width, _MOST)
        if width == 1:
            done = done.reshape(-1, step) @ _signs(step)
        else:
            done = np.matmul(_signs(step), done.reshape(-1, step, width))
        width *= step
    return done.reshape(rows.shape)


@lru_cache(maxsize=_MOST.bit_length())
def _signs(size: int) -> Floats:
    places = np.arange(size)
    return 1 - 2 * (np.bitwise_count(places[:, None] & places) & 1).astype(np.float64)
