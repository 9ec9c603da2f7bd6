"""A fraction that is not below a logarithm, and hardly above it."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.noise import exp_bounds

__all__ = ["log_above"]

_BITS = 256
_GRID = 1 << 128


def log_above(odds: Fraction) -> Fraction:
    """ln(odds) or more, for odds ≥ 1 below 2**900; above it by less than 1e-24.

    Near ln x there is a float y, and ln x = y + ln(x·e^−y) ≤ y + x·e^−y − 1. The bound holds for any y, and exceeds
    ln x by about the square of y's error.

    >>> from math import log
    >>> abs(log_above(Fraction(3)) - Fraction(log(3))) < Fraction(1, 10**15)
    True
    """
    if odds == 1:
        return Fraction(0)
    near = Fraction(math.log1p(float(odds - 1)))
    bits = _BITS + odds.numerator.bit_length() - odds.denominator.bit_length()
    high = Fraction(exp_bounds(near, bits)[1], 1 << bits)
    return Fraction(math.ceil((near + odds * high - 1) * _GRID), _GRID)
