"""Integers of any size, in the shapes that mechanisms release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["add_noise", "in_shape", "sums", "whole_in", "whole_number", "whole_numbers"]


def add_noise(
    value: int | Sequence[int] | NDArray[Any], noise: Callable[[int], NDArray[np.int64]]
) -> int | list[int] | NDArray[Any]:
    """The value plus `noise(how many)`, as exact Python ints: an int, a list, or an array of objects."""
    return in_shape(value, lambda exact: sums(exact, noise(len(exact))))


def in_shape(
    value: int | Sequence[int] | NDArray[Any], change: Callable[[list[int]], list[int]]
) -> int | list[int] | NDArray[Any]:
    """What `change` makes of the entries, which it gets as exact ints: an int, a list, or an array of objects."""
    if isinstance(value, np.ndarray):
        exact = [whole_number(item) for item in value.ravel().tolist()]
        changed = np.empty(len(exact), dtype=object)
        changed[:] = change(exact)
        return changed.reshape(value.shape)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return change([whole_number(item) for item in value])
    return change([whole_number(value)])[0]


def sums(exact: list[int], noise: NDArray[np.int64]) -> list[int]:
    """Each entry plus its noise."""
    return [item + drawn for item, drawn in zip(exact, noise.tolist(), strict=True)]


def whole_numbers(values: object) -> list[int]:
    """The items of a sequence, or of an array of one dimension, as exact ints, or a `ParameterError`."""
    if isinstance(values, np.ndarray):
        values = values.tolist() if values.ndim == 1 else None
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | bytearray):
        raise ParameterError("a release of many takes a list of whole numbers, or an array of one dimension")
    return [whole_number(item) for item in values]


def whole_in(value: object, name: str, lowest: int, highest: int) -> int:
    """A public whole number from `lowest` to `highest`, or a `ParameterError`."""
    if isinstance(value, Integral) and not isinstance(value, bool | np.bool_):
        exact = int(cast("int", value))
        if lowest <= exact <= highest:
            return exact
    raise ParameterError(f"{name} must be a whole number from {lowest} to {highest}, got {value!r}")


def whole_number(item: object) -> int:
    """The item as an exact int, or a `ParameterError`."""
    if type(item) is int:  # nearly all are, and asking an abstract class of each would take most of a release
        return item
    if isinstance(item, Integral) and not isinstance(item, bool | np.bool_):
        return int(cast("int", item))
    raise ParameterError(
        f"a release takes whole numbers, not {type(item).__name__}; "
        "for real numbers use OnGrid, which rounds them to a grid and counts the rounding in the sensitivity"
    )
