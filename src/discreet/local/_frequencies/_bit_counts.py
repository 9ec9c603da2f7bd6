"""How often each bit is 1 over many rows of packed bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.local._layout import Bytes, Integers

__all__ = ["bit_counts"]

_BYTES_AT_ONCE = 1 << 19  # what the steps of a chunk touch stays in the cache
_FEW = 255  # rows whose sums fit a byte

Words = NDArray[np.uint64]


def bit_counts(rows: Bytes, bits: int) -> Integers:
    """For each of the first `bits` places, in how many rows it is 1; eight places a byte, the least bit first.

    Three rows are replaced by two, their sum without carry and the carries, on 64 places at once, until two are left of
    each weight: five operations on words for each row.
    Source: Harley and Seal, in Warren 2012, "Hacker's Delight", 5-1.

    >>> bit_counts(np.array([[0b101], [0b001], [0b011]], dtype=np.uint8), 3).tolist()
    [3, 1, 1]
    """
    count, width = rows.shape
    if count <= _FEW:
        each = np.unpackbits(rows, axis=1, count=bits, bitorder="little")
        return each.sum(axis=0, dtype=np.uint8).astype(np.int64)
    total = np.zeros(bits, dtype=np.int64)
    padded = -(-width // 8) * 8
    step = max(3, _BYTES_AT_ONCE // max(padded, 1))
    for start in range(0, count, step):
        some = rows[start : start + step]
        words = np.zeros((len(some), padded), dtype=np.uint8)
        words[:, :width] = some
        _add(words.view(np.uint64), total)
    return total


def _add(words: Words, total: Integers) -> None:
    weight = 1
    while len(words):
        carries: list[Words] = []
        while len(words) >= 3:
            third = len(words) // 3
            a, b, c, rest = np.split(words, (third, 2 * third, 3 * third))
            odd = a ^ b
            carries.append((a & b) | (odd & c))
            words = np.concatenate((odd ^ c, rest))
        for row in words:
            total += weight * np.unpackbits(row.view(np.uint8), count=total.size, bitorder="little").astype(np.int64)
        words = np.concatenate(carries) if carries else words[:0]
        weight *= 2
