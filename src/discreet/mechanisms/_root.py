"""Square roots of rationals on a fine grid, rounded in a stated direction."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["root_down", "root_up"]

_GRID_BITS = 40


def root_up(square: Fraction) -> Fraction:
    """The least r on a dyadic grid of relative step 2**−40 or finer with r² ≥ square.

    >>> root_up(Fraction(1, 4)), root_up(Fraction(2)) ** 2 >= 2
    (Fraction(1, 2), True)
    """
    unit, root, is_exact = _floor_root(square)
    return (root if is_exact else root + 1) * unit


def root_down(square: Fraction) -> Fraction:
    """The largest r on the same grid with r² ≤ square."""
    unit, root, _ = _floor_root(square)
    return root * unit


def _floor_root(square: Fraction) -> tuple[Fraction, int, bool]:
    """(u, k, exact) with k = ⌊√square / u⌋, where u is a power of two at most 2**−40 · √square."""
    exponent = (square.numerator.bit_length() - square.denominator.bit_length()) // 2 - 1 - _GRID_BITS
    unit = Fraction(2) ** exponent
    scaled = square / unit**2
    root = math.isqrt(scaled.numerator // scaled.denominator)
    return unit, root, root * root == scaled
