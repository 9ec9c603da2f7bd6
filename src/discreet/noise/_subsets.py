"""Subsets of a given size, all equally likely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.noise._source import BitSource

__all__ = ["packed_subsets_from"]

_KEYS_AT_ONCE = 1 << 18


def packed_subsets_from(n: int, size: int, rows: int, source: BitSource) -> NDArray[np.uint8]:
    """Those of n independent keys that are the `size` smallest; drawn anew where that is no set, for a tie."""
    packed = np.zeros((rows, -(-n // 8)), dtype=np.uint8)
    if size == 0:
        return packed
    if size == n:
        packed[:] = np.packbits(np.ones(n, dtype=np.bool_), bitorder="little")
        return packed
    step = max(1, _KEYS_AT_ONCE // n)
    for start in range(0, rows, step):
        left = np.arange(start, min(start + step, rows))
        while left.size:
            keys = np.frombuffer(source.take(4 * n * left.size), dtype="<u4").reshape(left.size, n)
            ranked = np.sort(keys, axis=1)
            settled = ranked[:, size - 1] < ranked[:, size]
            packed[left[settled]] = np.packbits((keys < ranked[:, size, None])[settled], axis=1, bitorder="little")
            left = left[~settled]
    return packed
