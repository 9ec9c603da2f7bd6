"""Whole numbers of a release as text: the fewest bytes each, compressed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["packed", "unpacked"]

_WIDTHS = ("i1", "i2", "i4", "i8")


def packed(array: NDArray[np.int64]) -> list[str]:
    """An array as the width of its numbers, and their bytes in base 64.

    >>> unpacked(packed(np.array([[1, -300]])), (1, 2))
    array([[   1, -300]])
    """
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    width = next(each for each in _WIDTHS if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
    raw = np.ascontiguousarray(array, f"<{width}").tobytes()
    return [width, base64.b64encode(zlib.compress(raw, 1)).decode()]


def unpacked(data: Any, shape: Sequence[int]) -> NDArray[np.int64]:
    """The inverse of `packed`, of an array of this shape. Raises `ValueError` or `TypeError` for what is none."""
    width, text = data
    if width not in _WIDTHS:
        raise ValueError
    size = int(np.prod(shape, dtype=np.int64)) * int(width[1])
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error:
        raise ValueError from None
    if len(raw) != size or not unpacking.eof:
        raise ValueError
    return np.frombuffer(raw, f"<{width}").reshape(tuple(shape)).astype(np.int64)
