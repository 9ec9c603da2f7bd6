"""Floats on the safe side of exact numbers.

Every function returns a float that is proved to lie above (`up`, `..._up`) or below. Conversions from fractions are
exact to one unit in the last place and then moved outward by one; logarithms and exponentials of the C library and
of `scipy.special` are trusted to 1e-14 of their value (tests compare them with mpmath) and moved outward by more.
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["down", "log_bounds", "root_up", "to_fraction_up", "up"]

_WIDE = 2.0**-46  # 1.4e-14: a margin of 60 units in the last place for elementary functions
_DIGITS = 10**60


def up(value: Fraction) -> float:
    """The least float at or above the value; ``inf`` past the largest."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def down(value: Fraction) -> float:
    """The largest float at or below the value, of a value of at least 0."""
    try:
        near = float(value)
    except OverflowError:
        return math.nextafter(math.inf, 0)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def log_bounds(value: Fraction) -> tuple[float, float]:
    """A bracket of ln(value) for value ≥ 0, also where the value is below, next to or above all floats."""
    if value <= 0:
        return -math.inf, -math.inf
    if value == 1:
        return 0.0, 0.0
    if Fraction(1, 2) < value < 2:
        near = math.log1p(float(value - 1))
    else:
        # A quotient of integers of any size, each brought into the range of floats by a power of two.
        shift = value.numerator.bit_length() - value.denominator.bit_length()
        scaled = value / Fraction(2) ** shift
        near = math.log(float(scaled)) + shift * math.log(2)
    margin = _WIDE * abs(near)
    return near - margin, near + margin


def to_fraction_up(value: float) -> Fraction:
    """A computed float ≥ 0 as a fraction that is surely above what was meant, by 1e-14 of it."""
    return Fraction(value) * (1 + Fraction(1, 2**46))


def root_up(value: Fraction) -> Fraction:
    """√value: exact for squares of fractions, else above it by less than 1e-60."""
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    scaled = value * _DIGITS * _DIGITS
    return Fraction(math.isqrt(scaled.numerator // scaled.denominator) + 1, _DIGITS)
