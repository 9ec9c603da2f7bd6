"""The grid that numbers lie on: their last binary digit, and the step that all are multiples of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["Exact", "common_step", "exact", "leading_bit", "lowest_bit", "near_step", "significant_bits"]

Exact = tuple[int, int]
"""A number as numerator and denominator."""

_NEAR = 1e-6
"""How far from a multiple, in steps, a rounded float may lie."""

_MOST = 2**25
"""The most steps in the largest number: fractions with smaller denominators differ by more than rounding, 2^−52."""


def exact(value: object) -> Exact | None:
    """The number without rounding; None for NaN, infinities and what is no number.

    >>> exact(0.25), exact(3), exact(float("nan")), exact("3")
    ((1, 4), (3, 1), None, None)
    """
    plain: Any = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str) or not hasattr(plain, "as_integer_ratio"):
        return None
    try:
        top, bottom = plain.as_integer_ratio()
    except (ValueError, OverflowError):
        return None
    return int(top), int(bottom)


def lowest_bit(number: Exact) -> int | None:
    """The exponent of the last binary digit that is not zero; for a fraction, of the numerator over its denominator.

    >>> lowest_bit((3, 4)), lowest_bit((12, 1)), lowest_bit((0, 1))
    (-2, 2, None)
    """
    top, bottom = number
    return (top & -top).bit_length() - bottom.bit_length() if top else None


def leading_bit(number: Exact) -> int | None:
    """The exponent of the first binary digit, up to one for fractions.

    >>> leading_bit((3, 4)), leading_bit((12, 1))
    (-1, 3)
    """
    top, bottom = number
    return abs(top).bit_length() - bottom.bit_length() if top else None


def significant_bits(number: Exact) -> int:
    """From the first binary digit that is not zero to the last; 0 for 0.

    >>> significant_bits((3, 4)), significant_bits((0.1).as_integer_ratio())
    (2, 52)
    """
    top, _ = number
    return abs(top).bit_length() - (top & -top).bit_length() + 1 if top else 0


def common_step(numbers: Sequence[Exact]) -> Fraction | None:
    """The greatest step that all are multiples of, exactly; None if all are 0.

    >>> common_step([(3, 4), (5, 2), (0, 1)])
    Fraction(1, 4)
    """
    bottom = math.lcm(*{each for _, each in numbers}) if numbers else 1
    top = math.gcd(*(each * (bottom // under) for each, under in numbers))
    return Fraction(top, bottom) if top else None


def near_step(numbers: Sequence[float]) -> float | None:
    """The step that floats are multiples of up to their rounding, such as 1/63; None if no such step is found.

    The ratio of each to the greatest is the nearest fraction of a small denominator; what that finds is checked.

    >>> round(1 / near_step([k / 63 for k in (5, 8, 100, 33)]), 6), near_step([2**0.5, 3**0.5, 5**0.5, 7**0.5])
    (63.0, None)
    """
    values = {abs(each) for each in numbers if each}
    if len(values) < 3 or not all(map(math.isfinite, values)):
        return None
    greatest, steps = max(values), 1
    for value in values:
        ratio = Fraction(value) / Fraction(greatest)
        steps = math.lcm(steps, ratio.limit_denominator(_MOST).denominator)
        if steps > _MOST:
            return None
    step = greatest / steps
    return step if all(abs(each / step - round(each / step)) <= _NEAR for each in values) else None
