"""The Walsh–Hadamard transform; of whole numbers it is exact."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["walsh"]

N = TypeVar("N", np.int64, np.float64)


def walsh(rows: NDArray[N]) -> NDArray[N]:
    """Each row r becomes s with s[j] = Σᵢ (−1)^⟨i, j⟩ r[i], where ⟨i, j⟩ counts the bits that i and j share.

    Rows have 2**m entries; m·2**m additions each. Source: Fino and Algazi 1976.

    >>> walsh(np.array([[1, 2, 3, 5]])).tolist()
    [[11, -3, -5, 1]]
    """
    count, size = rows.shape
    done = rows.copy()
    half = 1
    while half < size:
        pairs = done.reshape(count, size // (2 * half), 2, half)
        left, right = pairs[:, :, 0], pairs[:, :, 1]
        both: NDArray[N] = np.stack((left + right, left - right), axis=2)  # pyright: ignore[reportAssignmentType]
        done = both.reshape(count, size)
        half *= 2
    return done
