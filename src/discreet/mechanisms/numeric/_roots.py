"""Square roots of rationals on a fine grid, rounded in a stated direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.noise import exp_bounds

__all__ = ["powers", "root_down", "root_up", "second_moment"]


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


_Bracket = tuple[Fraction, Fraction]


def powers(scale: Fraction, bits: int) -> Callable[[int], _Bracket]:
    """N ↦ rationals between which exp(−n / scale) lies, about 2**−bits apart."""

    def power(n: int) -> _Bracket:
        if n == 0:
            return Fraction(1), Fraction(1)
        low, high = exp_bounds(n / scale, bits)
        return Fraction(low, 1 << bits), Fraction(high, 1 << bits)

    return power


def second_moment(scale: Fraction, reach: int) -> _Bracket:
    """Σ q^d and Σ d² q^d over d = 1, …, reach, for q = exp(−1 / scale), nearly: far beyond float precision."""
    power = powers(scale, 512 + 4 * math.ceil(scale).bit_length())
    (q, _), (last, _) = power(1), power(reach + 1)
    n = reach
    rest = last * ((n + 1) ** 2 - (2 * n * n + 2 * n - 1) * q + n * n * q * q)
    return (q - last) / (1 - q), (q * (1 + q) - rest) / (1 - q) ** 3
