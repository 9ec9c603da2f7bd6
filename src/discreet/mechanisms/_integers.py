"""Integers of any size, in the shapes that mechanisms release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["add_noise", "whole_number", "whole_numbers"]


def add_noise(
    value: int | Sequence[int] | NDArray[Any], noise: Callable[[int], NDArray[np.int64]]
) -> int | list[int] | NDArray[Any]:
    """The value plus `noise(how many)`, as exact Python ints: an int, a list, or an array of objects."""
    if isinstance(value, np.ndarray):
        exact = [whole_number(item) for item in value.ravel().tolist()]
        noisy = np.empty(len(exact), dtype=object)
        noisy[:] = _sums(exact, noise)
        return noisy.reshape(value.shape)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return _sums([whole_number(item) for item in value], noise)
    return _sums([whole_number(value)], noise)[0]


def _sums(exact: list[int], noise: Callable[[int], NDArray[np.int64]]) -> list[int]:
    return [item + drawn for item, drawn in zip(exact, noise(len(exact)).tolist(), strict=True)]


def whole_numbers(values: object) -> list[int]:
    """The items of a sequence, or of an array of one dimension, as exact ints, or a `ParameterError`."""
    if isinstance(values, np.ndarray):
        values = values.tolist() if values.ndim == 1 else None
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | bytearray):
        raise ParameterError("a release of many takes a list of whole numbers, or an array of one dimension")
    return [whole_number(item) for item in values]


def whole_number(item: object) -> int:
    """The item as an exact int, or a `ParameterError`."""
    if type(item) is int:  # nearly all are, and asking an abstract class of each would take most of a release
        return item
    if isinstance(item, Integral) and not isinstance(item, bool | np.bool_):
        return int(cast("int", item))
    raise ParameterError(
        f"a release takes whole numbers, not {type(item).__name__}; "
        "put the values on an integer grid first, and count the rounding in the sensitivity"
    )
