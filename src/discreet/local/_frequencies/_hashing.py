"""Public hashes of texts, the same in every version and on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from discreet.local._layout import Integers

__all__ = ["HASH", "buckets_of"]

HASH = "blake2b-1"
"""The name of this specification in JSON. Another function gets another name."""

_PREFIX = b"discreet blake2b-1\0"


def buckets_of(texts: Sequence[str], key: int, size: int) -> Integers:
    """For each text, its bucket from 0 to size − 1 under the hash function of this key.

    Specification ``blake2b-1``: the BLAKE2b digest of 8 bytes, without key, of ``discreet blake2b-1``, a zero byte, the
    key in 8 bytes (least first) and the text in UTF-8, is read as a whole number w (least byte first); the bucket is
    ⌊w·size / 2**64⌋. So each bucket has 2**64/size digests, but for one.

    Public and without secrets: it costs and protects nothing. Keys are from 0 to 2**64 − 1, sizes from 1 to 2**32. A
    half of a surrogate pair, which is no character, is read as Python writes it with ``surrogatepass``.
    Source: RFC 7693 (BLAKE2b); Lemire 2019, "Fast Random Integer Generation in an Interval" (the product).

    >>> buckets_of(["a", "ü", ""], key=0, size=1000).tolist()
    [263, 784, 931]
    """
    begun = blake2b(_PREFIX + key.to_bytes(8, "little"), digest_size=8)
    digests = bytearray()
    for text in texts:
        state = begun.copy()
        state.update(text.encode("utf-8", "surrogatepass"))
        digests += state.digest()
    words = np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)
    factor, low_bits = np.uint64(size), np.uint64(0xFFFFFFFF)
    high, low = words >> np.uint64(32), words & low_bits
    return ((high * factor + (low * factor >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)
