"""Sizes and error bounds of the fast Fourier transform."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Complexes = NDArray[np.complexfloating[Any, Any]]

STAGE = 16.0  # u per radix-2 level: proofs/accounting.md, section 6


def smooth_size(least: int) -> int:
    """Return a power of two times 1, 3, 5, 9, 15, 25 or 45 that is at least `least` (and 16), the least with factor 4.

    >>> smooth_size(1000)
    1024
    >>> smooth_size(1025)
    1152
    """
    best = 16
    while best < least:
        best *= 2
    for odd in (3, 5, 9, 15, 25, 45):
        size = odd * 4
        while size < least:
            size *= 2
        best = min(best, size)
    return best


def unit(*, extended: bool) -> float:
    """Unit round-off of double arithmetic, or of the platform's long double (which may be the same)."""
    return float(np.finfo(np.longdouble if extended else np.float64).eps) / 2


def transform_error(size: int, *, extended: bool = False) -> float:
    """Return phi with |computed - exact| <= phi * (sum of |input|) for each entry of an FFT of `size` points."""
    return 1.01 * STAGE * unit(extended=extended) * log2(size)


def power(base: Complexes, exponent: int) -> Complexes:
    """Return base ** exponent by squaring, within a relative error of 3 (exponent - 1) u (1.0001 included)."""
    result: Complexes | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    assert result is not None
    return result
