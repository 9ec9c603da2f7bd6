"""The public grid on which a column of numbers is summed exactly."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import QueryError
from discreet.query._intervals import LARGEST, Interval

__all__ = ["BITS", "grid_step", "grid_steps"]

BITS = 30
"""The larger bound is 2^29 to 2^31 grid steps from zero, unless whole numbers make a coarser grid exact. So a
contribution, centred or not, is below 2^32 in magnitude, and 2^40 of them sum to less than 2^72: 128 bits hold it."""


def grid_step(bounds: Interval) -> Fraction:
    """The grid: 1 for whole numbers up to 2^30, else the power of two that spends 30 bits on the larger bound."""
    largest = max(abs(bounds.lower), abs(bounds.upper))
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise QueryError("the bounds of a SUM or AVG lie beyond 1e200, or all within 1e-200 of zero; rescale it")
    if largest == 0 or (bounds.whole and largest <= 2**BITS):
        return Fraction(1)
    exponent = (largest.numerator.bit_length() - largest.denominator.bit_length()) - BITS
    return Fraction(2) ** exponent


def grid_steps(bounds: Interval, step: Fraction) -> tuple[int, int]:
    """The bounds in steps, rounded outward."""
    lower, upper = bounds.lower / step, bounds.upper / step
    return lower.numerator // lower.denominator, -(-upper.numerator // upper.denominator)
