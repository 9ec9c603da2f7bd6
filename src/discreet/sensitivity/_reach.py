"""How far the mean of nearby data can be from a bound."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["reach"]


def reach(sums: Sequence[int], low: int, high: int, k: int) -> Fraction:
    """The largest distance of a bound to the mean of n >= 1 values of which up to k are removed, and up to k added.

    `sums` are the n + 1 prefix sums of the sorted values. Data within k steps are among these; and what is within
    reach of k here is within reach of k + 1 around a neighbour.

    >>> reach([0, 1, 4, 8], 0, 6, 1)
    Fraction(14, 3)
    """
    n = len(sums) - 1
    k = min(k, n)
    return max(high - Fraction(sums[n - k] + k * low, n), Fraction(sums[n] - sums[k] + k * high, n) - low)
