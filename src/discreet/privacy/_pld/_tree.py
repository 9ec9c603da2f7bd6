"""Convolution of many short arrays by a tree of growing transforms."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._fft import smooth_size, transform_error
from discreet.privacy._pld._pair import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy._pld._pair import Floats

BATCH = 1 << 21  # entries of a level that are transformed at once


def convolve_all(arrays: Sequence[Floats]) -> tuple[Floats, float]:
    """Return the convolution of nonnegative arrays of total about one, and a bound on its error in the L1 norm.

    Each product is charged (entry by entry) the average over frequencies of the errors of its spectrum, times the
    number of its entries; the errors of its factors add, as totals are at most 1 + 1e-9. Negative entries are set to
    zero, which brings them nearer to the truth. proofs/accounting.md, section 6.
    """
    level = sorted(((each, 0.0) for each in arrays), key=_length)
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        pairs = list(zip(level[0 : len(level) - len(odd) : 2], level[1 : len(level) - len(odd) : 2], strict=True))
        level = []
        for size, batch in groupby(pairs, key=lambda pair: smooth_size(len(pair[0][0]) + len(pair[1][0]) - 1)):
            chosen = list(batch)
            rows = max(1, BATCH // size)
            for start in range(0, len(chosen), rows):
                level += _products(chosen[start : start + rows], size)
        level = sorted(level + odd, key=_length)
    return level[0]


def _length(each: tuple[Floats, float]) -> int:
    return len(each[0])


def _products(
    pairs: Sequence[tuple[tuple[Floats, float], tuple[Floats, float]]], size: int
) -> list[tuple[Floats, float]]:
    phi = transform_error(size)
    left, right = np.zeros((len(pairs), size)), np.zeros((len(pairs), size))
    for row, (one, other) in enumerate(pairs):
        left[row, : len(one[0])] = one[0]
        right[row, : len(other[0])] = other[0]
    f, g = np.fft.rfft(left), np.fft.rfft(right)
    product = np.maximum(np.fft.irfft(f * g, size), 0.0)
    a, b = np.abs(f), np.abs(g)
    # |FG| phi for the inverse, phi (|F| + |G|) + phi^2 for the forward transforms, 3u |FG| for the product
    average = np.mean(a * b * (phi + 4 * ROUNDING) + 1.001 * phi * (a + b + phi), axis=1) * 2.001
    found: list[tuple[Floats, float]] = []
    for row, (one, other) in enumerate(pairs):
        length = len(one[0]) + len(other[0]) - 1
        error = (one[1] + other[1]) * (1 + 1e-6) + one[1] * other[1] + length * float(average[row])
        found.append((product[row, :length].copy(), error))
    return found
