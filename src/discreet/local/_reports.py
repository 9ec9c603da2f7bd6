"""A batch of reports: what travels from clients to the collector."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError

__all__ = ["FINGERPRINT", "Bytes", "Fields", "Integers", "Layout", "Reports"]


Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Parsed reports: an array of integers for each field, and the bits as packed bytes, a row a report."""

    numbers: tuple[Integers, ...]
    bits: Bytes

    def __len__(self) -> int:
        return len(self.bits)

    def select(self, mask: NDArray[np.bool_]) -> Fields:
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


FINGERPRINT = 8
"""The bytes by which a report names its scheme."""

_MAGIC = b"dr\x01"
_HEAD = len(_MAGIC) + FINGERPRINT + 4
_CHECK = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reports:
    """Reports of one scheme, as bytes; nothing in them says who sent them or in which order they were made.

    In binary: ``dr``, the version 1, eight bytes of fingerprint of the scheme, the number of reports (4 bytes, least
    first), the reports, all of the same width, and their CRC-32. In JSON: the version, the fingerprint in hex, and each
    report in base64. What a report's bytes mean is for the scheme to say. Neither form is trusted: `from_bytes` and
    `from_json` raise `DataError` for what is not a batch, and a server drops and counts invalid reports.

    >>> from discreet.local import KaryRandomizedResponse
    >>> reports = KaryRandomizedResponse(domain=5, epsilon=1).client().encode([0, 1, 2])
    >>> len(reports), len(bytes(reports)), len(Reports.from_bytes(bytes(reports)))
    (3, 22, 3)
    """

    fingerprint: bytes
    rows: Bytes

    def __post_init__(self) -> None:
        rows: Any = self.rows
        is_rows = isinstance(rows, np.ndarray) and rows.dtype == np.uint8 and rows.ndim == 2
        if not is_rows or not isinstance(self.fingerprint, bytes) or len(self.fingerprint) != FINGERPRINT:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DataError(
                f"reports are a fingerprint of {FINGERPRINT} bytes and an array of bytes (uint8), a row a report; "
                "clients make them, and from_bytes and from_json read them"
            )

    @property
    def width(self) -> int:
        """The bytes of one report."""
        return self.rows.shape[1]

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reports) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return f"<{len(self)} reports of {self.width} bytes for scheme {self.fingerprint.hex()}>"

    def __bytes__(self) -> bytes:
        body = b"".join((_MAGIC, self.fingerprint, len(self).to_bytes(4, "little"), self.rows.tobytes()))
        return body + zlib.crc32(body).to_bytes(_CHECK, "little")

    @classmethod
    def from_bytes(cls, data: bytes) -> Reports:
        """The batch that `bytes(reports)` made. Raises `DataError` for anything else."""
        view = memoryview(_bytes_of(data))
        if len(view) < _HEAD + _CHECK or bytes(view[:2]) != _MAGIC[:2]:
            raise DataError("this is not a batch of reports: it must begin with 'dr' and have 19 bytes or more")
        if view[2] != _MAGIC[2]:
            raise DataError(f"this batch is of version {view[2]}, and only 1 is known; a newer discreet may read it")
        if zlib.crc32(view[:-_CHECK]) != int.from_bytes(view[-_CHECK:], "little"):
            raise DataError("this batch was damaged on its way: its checksum does not match; send it again")
        count = int.from_bytes(view[_HEAD - 4 : _HEAD], "little")
        body = np.frombuffer(view[_HEAD:-_CHECK], dtype=np.uint8)
        if body.size % max(count, 1) or (count == 0) != (body.size == 0):
            raise DataError(f"this batch states {count} reports, and its {body.size} bytes are no multiple of that")
        return cls(bytes(view[3 : 3 + FINGERPRINT]), body.reshape(count, -1) if count else body.reshape(0, 0))

    def to_json(self) -> str:
        """The batch as a JSON object: ``version``, ``scheme``, ``reports``."""
        rows = [base64.b64encode(row).decode() for row in self.rows]
        return json.dumps({"version": 1, "scheme": self.fingerprint.hex(), "reports": rows})

    @classmethod
    def from_json(cls, text: str | bytes) -> Reports:
        """The batch that `to_json` made. Raises `DataError` for anything else."""
        try:
            document: Any = json.loads(text)
            if (
                document.keys() != {"version", "scheme", "reports"}
                or document["version"] != 1
                or document["version"] is True
            ):
                raise ValueError
            if not isinstance(document["reports"], list):
                raise ValueError
            rows = [base64.b64decode(row, validate=True) for row in document["reports"]]
            fingerprint = bytes.fromhex(document["scheme"])
            if len(fingerprint) != FINGERPRINT or len({*map(len, rows)}) > 1 or b"" in rows:
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error, RecursionError):
            raise DataError(
                "this is not a batch of reports in JSON: it must be an object with version 1, a scheme of "
                f"{2 * FINGERPRINT} hex digits, and reports of one length in base64"
            ) from None
        return cls(fingerprint, np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1 if rows else 0))

    @classmethod
    def together(cls, batches: Iterable[Reports]) -> Reports:
        """One batch of several. Raises `DataError` unless there is one at least, all of one scheme."""
        every = list(batches)
        some = [each.rows for each in every if len(each)] or [each.rows for each in every[:1]]
        if len({each.fingerprint for each in every}) != 1 or len({rows.shape[1] for rows in some}) != 1:
            raise DataError("batches are put together when there are some, all of one scheme and of one width")
        return cls(every[0].fingerprint, np.concatenate(some))


def _bytes_of(data: Any) -> bytes:
    """A copy of the bytes of a buffer, which no other thread can change; empty for what is no buffer."""
    try:
        return data if isinstance(data, bytes) else memoryview(data).tobytes()
    except TypeError:
        return b""
