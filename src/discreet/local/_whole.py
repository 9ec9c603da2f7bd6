"""Whole numbers among the parameters of a scheme."""

from __future__ import annotations

from numbers import Integral

from discreet.errors import ParameterError

__all__ = ["whole"]


def whole(value: int, name: str, least: int, most: int) -> int:
    """The value as an int; raises `ParameterError` unless it is a whole number from `least` to `most`.

    >>> whole(3, "buckets", 2, 10)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value <= most:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{name} must be a whole number from {least} to {most:,}, got {value!r}")
    return int(value)
