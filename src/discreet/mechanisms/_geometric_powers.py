"""Powers of q = exp(−1 / scale), between rationals, and sums of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.noise import exp_bounds

__all__ = ["powers", "second_moment"]

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
