"""The answer of a statistic as an exact rational between public ends, so that its float rounding can be charged."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity import Mode, Statistic
from discreet.sensitivity import statistic as named

__all__ = ["FLOAT_BITS", "answer", "fixed", "numeric", "power_of_two_below", "to_float"]

FLOAT_BITS = 52
"""Floats of at most 2**52 steps in size are rounded by at most a quarter of a step."""


def numeric(statistic: str | Statistic, bounds: Any, relation: Relation) -> tuple[Statistic, float]:
    """The statistic, and its global sensitivity; `ParameterError` if its answers are not numbers, or for bad bounds."""
    chosen = named(statistic)
    if isinstance(chosen, Mode):
        raise ParameterError(
            "the mode is a category: its sensitivity counts whether it changes, not by how much; "
            "this framework adds noise to a number"
        )
    if relation not in {"add_remove", "substitute"}:
        raise ParameterError(f"relation must be 'add_remove' or 'substitute', got {relation!r}")
    try:
        most = chosen.global_sensitivity(bounds, relation)
    except OverflowError:
        raise ParameterError("these bounds are too wide: answers would be beyond the range of floats") from None
    if not most >= 0:
        raise ParameterError(f"the global sensitivity of a statistic must be 0 or more, got {most!r}")
    return chosen, most


def fixed(bounds: Any) -> Any:
    """The bounds with lists, also nested ones, as tuples: a change of them later would change what noise was made for.

    >>> fixed([0, 1])
    (0, 1)
    """
    return tuple(map(fixed, bounds)) if isinstance(bounds, list | tuple) else bounds  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def answer(statistic: Statistic, x: Any, bounds: Any, step: Fraction) -> Fraction:
    """The value of the statistic as a float, cut to ±2**52 steps. SENSITIVE.

    If the exact values of two data sets are at most s apart, these are at most s + step / 2 apart: floats in that
    range are at most half a step apart, so rounding moves each by at most a quarter. What is no number counts as 0.
    """
    number = _number(statistic.value(x, bounds))
    most = step * 2**FLOAT_BITS
    if math.isnan(number):
        return Fraction(0)
    if math.isinf(number):
        return most if number > 0 else -most
    return max(-most, min(Fraction(number), most))


def _number(value: Any) -> float:
    if not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > Fraction(0) else -math.inf


def power_of_two_below(value: Fraction) -> Fraction:
    """The largest power of two at most `value`, for a value above 0.

    >>> power_of_two_below(Fraction(3, 10))
    Fraction(1, 4)
    """
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    power = Fraction(2) ** exponent
    return power if power <= value else power / 2


def to_float(steps: int, step: Fraction) -> float:
    """The number steps · step as a float: exact up to 2**53 steps, then the nearest one, and never infinite."""
    try:
        return float(steps * step)
    except OverflowError:
        return math.nextafter(math.inf if steps > 0 else -math.inf, 0)
