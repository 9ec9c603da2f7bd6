"""Data as the statistics see it: numbers clamped to public bounds, never a NaN, and no error because of a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.rational import Number, rational

__all__ = ["Bounds", "adds_or_removes", "clamped", "interval", "middle", "reach", "unmasked"]


Bounds = tuple[Number, Number]
"""The public range of the data: lower and upper, in the unit of the data."""

_WIDEST = 2.0**1000

_PLAIN = frozenset({bool, float, int, type(None), np.float64, np.int64})
"""Of these, NumPy makes the same floats in a list as alone. Of others it does not: one odd record would change all."""


def interval(bounds: object, name: str = "bounds") -> tuple[float, float]:
    """Lower and upper bound as floats; `ParameterError` unless they are finite numbers, the lower one less."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(f"{name} must be a pair (lower, upper) of public numbers, got {bounds!r}")
    exact = [rational(each, name) for each in bounds]
    if any(abs(each) > _WIDEST for each in exact):
        raise ParameterError(f"{name} must be at most 2**1000 in size, got {bounds!r}")
    lower, upper = (float(each) for each in exact)
    if lower >= upper:
        raise ParameterError(f"{name} must be (lower, upper) with lower < upper, got {bounds!r}")
    return lower, upper


def middle(lower: float, upper: float) -> float:
    """The midpoint of the bounds: what a statistic of location says of the empty data set."""
    return lower / 2 + upper / 2


def clamped(x: Any, lower: float, upper: float) -> NDArray[np.float64]:
    """The values as floats between the bounds, in the order they came in. What comes back is SENSITIVE.

    What a record becomes depends on that record alone. Infinities are clamped like every other value. What is no number
    (NaN, null, text that is not a number) counts as the lower bound, because to refuse it or to drop it would tell that
    it was there.

    Parameters
    ----------
    x
        One-dimensional: a sequence, a NumPy array, an Arrow array, a column of a data frame.
    lower, upper
        As from `interval`.

    Raises `ParameterError` if `x` is not one-dimensional.

    >>> clamped([3, float("nan"), None, float("inf"), 1.5], 1.0, 2.0)
    array([2. , 1. , 1. , 2. , 1.5])
    """
    floats = _floats(x)
    return np.clip(np.where(np.isnan(floats), lower, floats), lower, upper)


def unmasked(x: Any) -> NDArray[Any]:
    """An array of what is there: what a mask hides is NaN among floats and else None, never the value beneath."""
    if not isinstance(x, np.ma.MaskedArray):
        return np.asarray(x)
    if x.dtype.names:
        return x.filled()
    shown = np.array(x.data, dtype=x.dtype if x.dtype.kind == "f" else object)
    shown[np.ma.getmaskarray(x)] = math.nan if x.dtype.kind == "f" else None
    return shown


def _floats(x: Any) -> NDArray[np.float64]:
    given = x if hasattr(x, "__array__") else list(x) if hasattr(x, "__iter__") and not isinstance(x, str) else None
    if given is None:
        raise ParameterError("the data must be a one-dimensional sequence or array of numbers")
    if hasattr(given, "__array__"):
        array = unmasked(given)
        if array.ndim != 1:
            raise ParameterError(f"the data must have one dimension, got {array.ndim}")
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)
        given = array.tolist()
    if _PLAIN.issuperset(map(type, given)):
        with suppress(OverflowError):
            return np.array(given, dtype=np.float64)
    return np.array([_float(each) for each in given], dtype=np.float64)


def _float(value: Any) -> float:
    try:
        return float(value)
    except Exception:  # noqa: BLE001 (whatever one value does, it must not show)
        return math.nan


def adds_or_removes(relation: str) -> bool:
    """Whether neighbours differ by a record present or absent, rather than by a record changed."""
    if relation not in ("add_remove", "substitute"):
        raise ParameterError(f"relation must be 'add_remove' or 'substitute', got {relation!r}")
    return relation == "add_remove"


def reach(sums: Sequence[int], low: int, high: int, k: int) -> Fraction:
    """The largest distance of a bound to the mean of n >= 1 values of which up to k are removed, and up to k added.

    `sums` are the n + 1 prefix sums of the sorted values. Data within k steps are among these; and what is within
    reach of k here is within reach of k + 1 around a neighbour.

    >>> reach([0, 1, 4, 8], 0, 6, 1)
    Fraction(14, 3)
    """
    n = len(sums) - 1
    k = min(k, n)
    return max(high - Fraction(sums[n - k] + k * low, n), Fraction(sums[n] - sums[k] + k * high, n) - low)
