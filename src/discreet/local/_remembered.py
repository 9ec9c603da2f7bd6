"""Memoized rows: a function of the client's secret and the value, so that the client stores no rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local._reports import Bytes
from discreet.noise import Draws, remembered_draws

__all__ = ["remembered_rows"]


def remembered_rows(
    prepared: NDArray[Any], width: int, draw: Callable[[NDArray[Any], Draws], Bytes], secret: bytes, label: bytes
) -> Bytes:
    """A row of `width` bytes for each value, the same for equal values: `draw` on a value and its draws for life.

    The draws of a value have the label and then the value in UTF-8, or in hexadecimal digits where it is bytes.
    """
    rows = np.empty((len(prepared), width), dtype=np.uint8)
    places: dict[Any, list[int]] = {}
    for place, value in enumerate(prepared.tolist()):
        places.setdefault(value, []).append(place)
    for value, same in places.items():
        text = value.hex() if isinstance(value, bytes) else str(value)
        draws = remembered_draws(secret, label + text.encode("utf-8", "surrogatepass"))
        rows[same] = draw(prepared[same[:1]], draws)
    return rows
