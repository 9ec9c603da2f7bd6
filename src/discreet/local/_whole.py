"""Whole numbers among the parameters of a scheme, and among values."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.sensitivity import unmasked

__all__ = ["array_of", "whole"]


def whole(value: int, name: str, least: int, most: int) -> int:
    """The value as an int; raises `ParameterError` unless it is a whole number from `least` to `most`.

    >>> whole(3, "buckets", 2, 10)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value <= most:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{name} must be a whole number from {least} to {most:,}, got {value!r}")
    return int(value)


def array_of(values: Any) -> NDArray[Any]:
    """Values as an array, which is of no numbers where a mask hides one, or where lists have different lengths.

    >>> array_of([[1, 2], [3]]).dtype.kind, array_of([3, 4]).dtype.kind
    ('O', 'i')
    """
    try:
        shown = unmasked(values)
        return np.asarray(shown.tolist()) if isinstance(values, np.ma.MaskedArray) else shown
    except ValueError:  # lists of different lengths
        return np.array([None])
