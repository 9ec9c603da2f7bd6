"""Integers of any size, in the shapes that mechanisms release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from operator import add
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["in_shape", "least", "sums", "whole_in", "whole_number", "whole_numbers"]


_LONGEST_SHOWN = 10**100


def in_shape(
    value: int | Sequence[int] | NDArray[Any], change: Callable[[list[int]], list[int]]
) -> int | list[int] | NDArray[Any]:
    """`change` applied to the entries as exact ints; an int, a list, or an array of objects, shaped as the input."""
    if isinstance(value, np.ndarray):
        changed = np.empty(value.size, dtype=object)
        changed[:] = change(_exact(value.ravel().tolist()))
        return changed.reshape(value.shape)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return change(_exact(value))
    return change([whole_number(value)])[0]


def sums(exact: list[int], noise: NDArray[np.int64]) -> list[int]:
    """Each entry plus its noise."""
    return list(map(add, exact, noise.tolist()))


def whole_numbers(values: object) -> list[int]:
    """The items of a sequence, or of an array of one dimension, as exact ints, or a `ParameterError`."""
    if isinstance(values, np.ndarray):
        values = values.tolist() if values.ndim == 1 else None
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | bytearray):
        raise ParameterError("a release of many takes a list of whole numbers, or an array of one dimension")
    return _exact(values)


def _exact(values: Sequence[Any]) -> list[int]:
    if set(map(type, values)) <= {int}:  # nearly always; asking an abstract class of each would take most of a release
        return list(values)
    return [whole_number(item) for item in values]


def whole_in(value: object, name: str, lowest: int, highest: int) -> int:
    """A public whole number from `lowest` to `highest`, or a `ParameterError`."""
    if isinstance(value, Integral) and not isinstance(value, bool | np.bool_):
        exact = int(cast("int", value))
        if lowest <= exact <= highest:
            return exact
        value = exact if abs(exact) < _LONGEST_SHOWN else "a larger one"
    raise ParameterError(f"{name} must be a whole number from {lowest} to {highest}, got {value!r}")


def whole_number(item: object) -> int:
    """The item as an exact int, or a `ParameterError`."""
    if isinstance(item, Integral) and not isinstance(item, bool | np.bool_):
        return int(cast("int", item))
    raise ParameterError(
        f"a release takes whole numbers, not {type(item).__name__}; "
        "for real numbers use OnGrid, which rounds them to a grid and counts the rounding in the sensitivity"
    )


def least(enough: Callable[[int], bool]) -> int:
    """The least k ≥ 0 with ``enough(k)``, which holds from some k on; `enough` has been checked for what is returned.

    >>> least(lambda k: k * k >= 30)
    6
    """
    low, high = -1, 0  # not enough at `low`, enough at `high`
    while not enough(high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
