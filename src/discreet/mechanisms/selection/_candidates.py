"""The candidates of a selection: their utilities exactly, and quickly as exponents of exp(−x)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["Exponents", "Utilities", "exponents_of", "utilities_of"]

Utilities = Sequence[Any] | NDArray[Any]
"""One number per candidate: ints, floats, fractions or decimals, or a NumPy array of integers or floats."""

Exponents = tuple[NDArray[np.float64], Callable[[int], Fraction]]
"""Per candidate, how far it is below the best times a rate: as floats within 2**−50 of it, and exactly."""

_REFUSED = (
    "utilities must be one finite number per candidate, at least one; a sensitivity says that they are finite for "
    "every data set, so clamp what can be NaN or infinite to public bounds first"
)
_EXACT = {int, Fraction, Decimal}


def utilities_of(utilities: Utilities) -> NDArray[Any]:
    """The same numbers in one dimension: 64-bit integers, float64, or fractions as objects; each without rounding."""
    array = utilities if isinstance(utilities, np.ndarray) else _array(utilities)
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(_REFUSED)
    if array.dtype.kind in "iu":
        return array.astype(np.uint64 if array.dtype == np.uint64 else np.int64)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        array = array.astype(np.float64)
        if not bool(np.isfinite(array).all()):
            raise ParameterError(_REFUSED)
        return array
    if array.dtype == object:
        return _objects([_fraction(item) for item in array.tolist()])
    raise ParameterError(_REFUSED)


def exponents_of(utilities: NDArray[Any], rate: Fraction) -> Exponents:
    """(best − utility) · rate for each, where `utilities` come from `utilities_of` and 2**−500 ≤ rate ≤ 2**500.

    Integers are subtracted modulo 2**64, where the difference fits; floats with one rounding. The conversion of an
    integer, that of the rate and the product are at most two more: 3 roundings, below 2**−51.
    """
    best = utilities.max()
    if utilities.dtype.kind in "iu":
        gaps = (best.astype(np.uint64) - utilities.astype(np.uint64)).astype(np.float64)
    elif utilities.dtype.kind == "f" and np.isfinite(float(best) - float(utilities.min())):
        gaps = best - utilities
    else:
        fractions = utilities if utilities.dtype == object else _objects([Fraction(u) for u in utilities.tolist()])
        top = fractions.max()
        products: list[Fraction] = [(top - each) * rate for each in fractions.tolist()]
        return np.array([_float(product) for product in products]), products.__getitem__
    top = Fraction(best.item())
    with np.errstate(over="ignore"):
        floats = gaps * float(rate)
    return floats, lambda i: (top - Fraction(utilities[i].item())) * rate


def _array(utilities: Sequence[Any]) -> NDArray[Any]:
    if isinstance(utilities, str | bytes | bytearray) or not isinstance(utilities, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(_REFUSED)
    items = list(utilities)
    kinds = {type(item) for item in items}
    if kinds == {float}:
        return np.array(items, dtype=np.float64)
    if kinds == {int} and min(items) >= -(2**63) and max(items) < 2**63:
        return np.array(items, dtype=np.int64)
    return _objects(items)


def _objects(items: list[Any]) -> NDArray[Any]:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _fraction(item: object) -> Fraction:
    if isinstance(item, np.integer | np.floating):
        item = cast("object", item.item())
    try:
        if type(item) in _EXACT or type(item) is float:
            return Fraction(cast("float", item))
    except (ValueError, OverflowError):
        pass
    raise ParameterError(_REFUSED)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
