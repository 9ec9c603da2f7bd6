"""The arguments that samplers accept."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral

from discreet.errors import ParameterError
from discreet.rational import Number, decimal_text, rational

__all__ = ["MAX_SCALE", "MIN_SCALE", "scale_in_range", "size_in_range"]

MIN_SCALE = Fraction(1, 1000)
"""The least scale or sigma: below it, noise is zero but for one draw in e^1000."""

MAX_SCALE = Fraction(2**56)
"""The largest scale or sigma, about 7.2e16."""


def scale_in_range(value: Number, name: str) -> Fraction:
    """The exact scale or sigma, called `name` in errors. Costs no privacy.

    Raises `ParameterError` unless it is between `MIN_SCALE` and `MAX_SCALE`. Source: the ranges proved in
    ``proofs/noise.md``.

    >>> scale_in_range(0.1, "scale")
    Fraction(1, 10)
    """
    exact = rational(value, name)
    if not MIN_SCALE <= exact <= MAX_SCALE:
        shown = decimal_text(exact) if abs(exact) < 10**300 else "a larger number"
        raise ParameterError(f"{name} must be between 0.001 and 2**56 (about 7.2e16), got {shown}")
    return exact


def size_in_range(value: int, name: str = "size") -> int:
    """The size as an int, or a `ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, Integral):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{name} must be a whole number, 0 or more, got {value!r}")
    if value < 0:
        raise ParameterError(f"{name} must be a whole number, 0 or more, got {value}")
    return int(value)
