"""How a report is laid out in bytes: some whole numbers, each below a public limit, and then a row of bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bytes", "Fields", "Integers", "Layout"]

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Reports taken apart: one array of whole numbers for each field, and the bits as packed bytes, a row a report."""

    numbers: tuple[Integers, ...]
    bits: Bytes

    def __len__(self) -> int:
        return len(self.bits)

    def kept(self, mask: NDArray[np.bool_]) -> Fields:
        """Those reports where the mask is true."""
        return self if bool(mask.all()) else Fields(tuple(each[mask] for each in self.numbers), self.bits[mask])


@dataclass(frozen=True, slots=True)
class Layout:
    """`limits`: each number is from 0 to below its limit (at most 2**62), in as many bytes as that needs, least first.

    `bits`: how many bits follow, eight to a byte, the least bit first, the last byte filled up with zeros.
    """

    limits: tuple[int, ...] = ()
    bits: int = 0

    @property
    def width(self) -> int:
        """The bytes of one report."""
        return sum(map(_bytes_below, self.limits)) + -(-self.bits // 8)

    def pack(self, *numbers: Integers, bits: Bytes | None = None) -> Bytes:
        """Reports as rows of bytes, of shape (reports, width)."""
        rows = len(numbers[0]) if bits is None else len(bits)
        packed = np.empty((rows, self.width), dtype=np.uint8)
        at = 0
        for number, limit in zip(numbers, self.limits, strict=True):
            size = _bytes_below(limit)
            packed[:, at : at + size] = number.astype("<u8").view(np.uint8).reshape(rows, 8)[:, :size]
            at += size
        if bits is not None:
            packed[:, at:] = bits
        return packed

    def unpack(self, packed: Bytes) -> tuple[Fields, NDArray[np.bool_]]:
        """The fields of each row, and which rows are reports at all; numbers of the others are cut to be 0."""
        valid = np.ones(len(packed), dtype=np.bool_)
        numbers: list[Integers] = []
        at = 0
        for limit in self.limits:
            size = _bytes_below(limit)
            number = _read(packed[:, at : at + size])
            if limit != 1 << 8 * size:
                low = number < limit  # read as at most 2**63 - 1
                valid &= low
                number = number if bool(low.all()) else np.where(low, number, 0)
            numbers.append(number)
            at += size
        bits = packed[:, at:]
        if self.bits % 8:
            valid &= bits[:, -1] < 1 << self.bits % 8
        return Fields(tuple(numbers), bits), valid


def _bytes_below(limit: int) -> int:
    return max(1, -(-(limit - 1).bit_length() // 8))


def _read(columns: Bytes) -> Integers:
    size = columns.shape[1]
    if size in (2, 4):
        return np.ascontiguousarray(columns).view(f"<u{size}").ravel().astype(np.int64)
    number = columns[:, 0].astype(np.int64)
    for i in range(1, min(size, 7)):
        number |= columns[:, i].astype(np.int64) << 8 * i
    if size == 8:
        number |= np.minimum(columns[:, 7], 127).astype(np.int64) << 56
    return number
