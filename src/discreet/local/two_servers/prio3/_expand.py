"""Expand secrets into other secrets and field elements, many at a time.

Source: XofTurboShake128 of draft-irtf-cfrg-vdaf-20, Section 6.2.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3._field import Field, Vector

__all__ = ["RATE", "SECRET", "Rows", "derived", "expanded", "turboshake128"]


RATE = 168
"""Bytes that are absorbed or squeezed out between two permutations."""

_LANES = 25
_ROUNDS = 12


def _round_constants() -> list[np.uint64]:
    """The round constants of the last 12 of 24 rounds, from the shift register of FIPS 202, Section 3.2.5."""
    state, bits = 1, list[int]()
    for _ in range(7 * 24):
        bits.append(state & 1)
        state = (state << 1) ^ (0x171 if state & 0x80 else 0)
    constants = [sum(bits[7 * i + j] << (2**j - 1) for j in range(7)) for i in range(24)]
    return [np.uint64(constant) for constant in constants[-_ROUNDS:]]


def _rho_and_pi() -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """The rotation of each lane, and the lane that each then moves from; lane x + 5y is at (x, y)."""
    turns, source = [0] * _LANES, [0] * _LANES
    x, y = 1, 0
    for t in range(24):
        turns[x + 5 * y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    for x in range(5):
        for y in range(5):
            source[y + 5 * ((2 * x + 3 * y) % 5)] = x + 5 * y
    return np.array(turns, dtype=np.uint64)[:, None], np.array(source)


_CONSTANTS = _round_constants()
_TURNS, _SOURCE = _rho_and_pi()
_BACK = (np.uint64(64) - _TURNS) % np.uint64(64)
_LEFT, _RIGHT = np.array([4, 0, 1, 2, 3]), np.array([1, 2, 3, 4, 0])
_NEXT = np.array([2, 3, 4, 0, 1])
_ONE, _LAST = np.uint64(1), np.uint64(63)


def _permute(lanes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keccak-p[1600, 12] of states of shape (25, messages)."""
    for constant in _CONSTANTS:
        columns = np.bitwise_xor.reduce(lanes.reshape(5, 5, -1), axis=0)
        right = columns[_RIGHT]
        theta = columns[_LEFT] ^ ((right << _ONE) | (right >> _LAST))
        mixed = (lanes.reshape(5, 5, -1) ^ theta).reshape(lanes.shape)
        turned = ((mixed << _TURNS) | (mixed >> _BACK))[_SOURCE].reshape(5, 5, -1)
        lanes = (turned ^ (~turned[:, _RIGHT] & turned[:, _NEXT])).reshape(lanes.shape)
        lanes[0] ^= constant
    return lanes


def turboshake128(messages: NDArray[np.uint8], domain: int, length: int) -> NDArray[np.uint8]:
    """The first `length` bytes of output for each row of `messages`, in rows.

    >>> import numpy as np
    >>> bytes(turboshake128(np.zeros((1, 0), dtype=np.uint8), 0x1F, 8)[0]).hex()
    '1e415f1c5983aff2'
    """
    rows, size = messages.shape
    padded = np.zeros((rows, (size // RATE + 1) * RATE), dtype=np.uint8)
    padded[:, :size] = messages
    padded[:, size] = domain
    padded[:, -1] ^= 0x80
    state = np.zeros((_LANES, rows), dtype=np.uint64)
    for start in range(0, padded.shape[1], RATE):
        block = np.ascontiguousarray(padded[:, start : start + RATE]).view("<u8")
        state[: RATE // 8] ^= block.T
        state = _permute(state)
    blocks: list[NDArray[np.uint8]] = []
    for start in range(0, length, RATE):
        if start:
            state = _permute(state)
        blocks.append(np.ascontiguousarray(state[: RATE // 8].T).astype("<u8").view(np.uint8))
    return np.concatenate(blocks, axis=1)[:, :length] if blocks else np.zeros((rows, 0), dtype=np.uint8)


SECRET = 32
"""Bytes of a secret, and of one derived from it."""

Rows = NDArray[np.uint8]

_DOMAIN = 1


def derived(secrets: Rows, tag: bytes, binder: Rows) -> Rows:
    """A secret from each: `secrets` and `binder` are rows, or one row for all."""
    return turboshake128(_messages(secrets, tag, binder), _DOMAIN, SECRET)


def expanded(field: Field, secrets: Rows, tag: bytes, binder: Rows, length: int) -> Vector:
    """`length` uniform elements from each, by rejection of what is not below the modulus."""
    messages = _messages(secrets, tag, binder)
    raw, below = _drawn(field, messages, length)
    short = np.flatnonzero(~below.all(axis=1))
    for row in short:
        more = length
        while True:
            more += RATE // field.size
            longer, valid = _drawn(field, messages[row : row + 1], more)
            if int(valid.sum()) >= length:
                raw[row] = longer[valid][:length]
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
