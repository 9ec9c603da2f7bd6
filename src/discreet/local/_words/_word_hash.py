"""Public hash functions of texts that are fast where one text is hashed under many of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from discreet.local._layout import Integers

__all__ = ["WORD_HASH", "Fingerprints", "fingerprints", "hashed", "piece_of"]

WORD_HASH = "blake2b-shift-1"
"""The name of this specification in JSON. Another function gets another name."""

Fingerprints = NDArray[np.uint64]

_TEXT, _ROW, _PIECE = b"discreet words-1 text\0", b"discreet words-1 row\0", b"discreet words-1 piece\0"
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def fingerprints(texts: Iterable[tuple[int, str]], key: int) -> Fingerprints:
    """A word of 64 bits for each text and the label beside it: what `hashed` hashes.

    Specification ``blake2b-shift-1``: the BLAKE2b digest of 8 bytes of ``discreet words-1 text``, a zero byte, the key
    in 8 bytes (least first), the label in 8 bytes and the text in UTF-8, read as a whole number, least byte first. The
    bytes of a text that was given in UTF-8 are the characters of its latin-1 reading here.

    >>> fingerprints([(0, "ant"), (1, "ant")], key=0).tolist()
    [3470803266355398859, 13027501830686131914]
    """
    begun = blake2b(_TEXT + key.to_bytes(8, "little"), digest_size=8)
    digests = bytearray()
    for label, text in texts:
        state = begun.copy()
        state.update(label.to_bytes(8, "little") + text.encode())
        digests += state.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


def hashed(marks: Fingerprints, rows: Integers, functions: int, key: int, size: int) -> Integers:
    """The bucket of each fingerprint, from 0 to size − 1, under the function of its row; both broadcast.

    For the halves x₁ and x₂ of a fingerprint, low and high, w is the high half of (a·x₁ + b·x₂ + c) mod 2**64, and the
    bucket ⌊w·size / 2**32⌋; a, b and c are the three words of the 24-byte BLAKE2b digest of ``discreet words-1 row``, a
    zero byte, the key and the row in 8 bytes each. For any two fingerprints the pair of w is uniform over the choice of
    a, b and c. Sizes are from 2 to 2**20. Source: Dietzfelbinger 1996 (multiply and shift, for vectors).
    """
    a, b, c = _coefficients(functions, key)
    high = (a[rows] * (marks & _LOW) + b[rows] * (marks >> _HALF) + c[rows]) >> _HALF
    return ((high * np.uint64(size)) >> _HALF).astype(np.int64)


def piece_of(text: str, key: int, pieces: int) -> int:
    """The puzzle piece of a whole text, from 0 to pieces − 1: ⌊w·pieces / 2**64⌋ for 8 bytes of BLAKE2b, as above."""
    digest = blake2b(_PIECE + key.to_bytes(8, "little") + text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") * pieces >> 64


@lru_cache(maxsize=16)
def _coefficients(functions: int, key: int) -> Fingerprints:
    start = _ROW + key.to_bytes(8, "little")
    digests = (blake2b(start + row.to_bytes(8, "little"), digest_size=24).digest() for row in range(functions))
    return np.ascontiguousarray(np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 3).T)
