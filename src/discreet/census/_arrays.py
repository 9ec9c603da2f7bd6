"""Whole numbers of a release as JSON: the fewest bytes each, compressed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["integers_from_json", "integers_to_json"]

_WIDTHS = ("<i1", "<i2", "<i4", "<i8")
_MOST_BYTES = 2**32
_MOST_DIMENSIONS = 2


def integers_to_json(array: NDArray[np.int64]) -> dict[str, Any]:
    """An array of areas by cells as plain JSON.

    >>> integers_from_json(integers_to_json(np.array([[1, -300]])))
    array([[   1, -300]])
    """
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    width = next(each for each in _WIDTHS if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
    packed = zlib.compress(np.ascontiguousarray(array, width).tobytes(), 1)
    return {"shape": list(array.shape), "width": width, "data": base64.b64encode(packed).decode()}


def integers_from_json(data: Mapping[str, Any]) -> NDArray[np.int64]:
    """The inverse of `integers_to_json`. Raises `ValueError` or `zlib.error` for what is none."""
    shape, width = data["shape"], data["width"]
    if (
        width not in _WIDTHS
        or len(shape) != _MOST_DIMENSIONS
        or any(type(each) is not int or each < 0 for each in shape)
    ):
        raise ValueError
    size = shape[0] * shape[1] * int(width[2])
    if size > _MOST_BYTES:
        raise ValueError
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(base64.b64decode(data["data"], validate=True), size + 1)
    except zlib.error:
        raise ValueError from None
    if len(raw) != size or not unpacking.eof:
        raise ValueError
    return np.frombuffer(raw, width).reshape(shape).astype(np.int64)
