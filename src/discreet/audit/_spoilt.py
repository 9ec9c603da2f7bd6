"""Data with one entry that no one expected: NaN, infinities, None, huge and tiny numbers, text."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

__all__ = ["BAD", "CANARIES", "spoilt"]

BAD: dict[str, Any] = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "None": None,
    "2**70": 2**70,
    "10**400": 10**400,
    "a subnormal": 5e-324,
    "minus zero": -0.0,
    "a text": "a word-64207",
}
"""What is put in, by name."""

CANARIES = {"2**70": 2**70 + 64_207, "10**400": 10**400 + 64_207, "a text": "a word-91813"}
"""Another value of the same kind: words about the first one that differ from words about this one quote the data."""


def spoilt(data: Any, name: str, *, other: bool = False) -> Any:
    """A copy of the data with its first entry replaced; `other` takes another value of the same kind.

    Raises `TypeError` or `ValueError` where the data have no place for the value.

    >>> spoilt([1, [2, 3]], "None"), spoilt(5, "minus zero"), spoilt((1, 2), "infinity")
    ([None, [2, 3]], -0.0, (inf, 2))
    """
    value = CANARIES.get(name, BAD[name]) if other else BAD[name]
    return _replaced(data, value)


def _replaced(data: Any, value: Any) -> Any:
    if isinstance(data, np.ndarray):
        return _in_array(cast("np.ndarray[Any, Any]", data), value)
    if isinstance(data, list | tuple):
        entries = cast("list[Any] | tuple[Any, ...]", data)
        if not entries:
            raise ValueError("there is no entry to replace")
        changed = [_replaced(entries[0], value), *entries[1:]]
        return changed if isinstance(entries, list) else tuple(changed)
    if isinstance(data, dict):
        known = cast("dict[Any, Any]", data)
        if not known:
            raise ValueError("there is no entry to replace")
        first = next(iter(known))
        return {**known, first: _replaced(known[first], value)}
    if isinstance(data, int | float | str | np.generic) or data is None:
        return value
    raise TypeError(f"no entry of {type(data).__name__} is known; give `spoil`")


def _in_array(data: np.ndarray[Any, Any], value: Any) -> np.ndarray[Any, Any]:
    if not data.size:
        raise ValueError("there is no entry to replace")
    changed = data.astype(np.float64) if isinstance(value, float) and data.dtype.kind in "biu" else data.copy()
    try:
        changed.flat[0] = value
    except OverflowError as error:
        raise ValueError("the array has no place for so large a number") from error
    return changed
