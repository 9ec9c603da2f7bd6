"""Secrets, and what they are expanded into: many at a time.

Source: XofTurboShake128 of draft-irtf-cfrg-vdaf-20, Section 6.2.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.local._two_servers._prio3._field import Field, Vector
from discreet.local._two_servers._prio3._keccak import RATE, turboshake128

__all__ = ["SECRET", "Rows", "derived", "expanded"]

SECRET = 32
"""Bytes of a secret, and of what one is derived into."""

Rows = NDArray[np.uint8]

_DOMAIN = 1


def derived(secrets: Rows, tag: bytes, binder: Rows) -> Rows:
    """A secret from each: `secrets` and `binder` are rows, or one row for all."""
    return turboshake128(_messages(secrets, tag, binder), _DOMAIN, SECRET)


def expanded(field: Field, secrets: Rows, tag: bytes, binder: Rows, length: int) -> Vector:
    """`length` uniform elements from each, by leaving out what is past the modulus."""
    messages = _messages(secrets, tag, binder)
    raw, below = _drawn(field, messages, length)
    short = np.flatnonzero(~below.all(axis=1))
    for row in short:
        more = length
        while True:
            more += RATE // field.size
            longer, kept = _drawn(field, messages[row : row + 1], more)
            if int(kept.sum()) >= length:
                raw[row] = longer[kept][:length]
                break
    return raw


def _drawn(field: Field, messages: Rows, length: int) -> tuple[Vector, NDArray[np.bool_]]:
    drawn = turboshake128(messages, _DOMAIN, length * field.size).view("<u8").astype(np.uint64)
    raw = drawn.reshape(len(messages), length, field.limbs)
    return raw, field.canonical(raw)


def _messages(secrets: Rows, tag: bytes, binder: Rows) -> Rows:
    head = np.frombuffer(len(tag).to_bytes(2, "little") + tag + bytes([SECRET]), dtype=np.uint8)
    rows = max(len(secrets), len(binder)) if len(secrets) and len(binder) else 0
    parts = (head[None], secrets, binder)
    return np.concatenate([np.broadcast_to(part, (rows, part.shape[1])) for part in parts], axis=1)
