"""A distribution on 0, 1, 2, … sampled by inverting its tail: Y = #{k ≥ 1 : U < P(Y ≥ k)}.

U is one uniform real, revealed bit by bit: 16 bits settle most draws by one look-up, 64 bits nearly all the rest, and
a draw that 64 bits leave open is settled in exact arithmetic. Proof: ``proofs/noise.md``, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise._source import BitSource

__all__ = ["Bounds", "Table", "Tails"]

Bounds = tuple[int, int]

Tails = Callable[[int], list[Bounds]]
"""``tails(bits)`` bounds 2**bits · P(Y ≥ k) for k = 1, 2, …: lows and highs never rise, and every k beyond the end of
the list has 2**bits · P(Y ≥ k) ≤ 1."""

_OPEN = np.iinfo(np.int16).min
_REST = np.uint64(2**48 - 1)


class Table:
    """Draws Y, or, if `signed`, Y read in the order 0, 1, −1, 2, −2, …"""

    __slots__ = ("_guide", "_high", "_low", "_signed", "_tails")

    def __init__(self, tails: Tails, *, signed: bool) -> None:
        self._tails = tails
        self._signed = signed
        bounds = tails(64)
        self._low = np.array([low for low, _ in reversed(bounds)], dtype=np.uint64)
        self._high = np.array([high for _, high in reversed(bounds)], dtype=np.uint64)
        first = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
        least, most = _count_above(self._low, first | _REST), _count_above(self._high, first)
        closed = (least == most) & (first > 0)
        self._guide = np.where(closed, self._read(least), _OPEN).astype(np.int16)

    def sample(self, size: int, source: BitSource) -> NDArray[np.int64]:
        """`size` independent draws."""
        prefix = np.frombuffer(source.take(2 * size), dtype="<u2")
        guessed = self._guide.take(prefix)
        drawn = guessed.astype(np.int64)
        still_open = np.flatnonzero(guessed == _OPEN)
        if still_open.size:
            drawn[still_open] = self._settle(prefix[still_open], source)
        return drawn

    def _settle(self, prefix: NDArray[Any], source: BitSource) -> NDArray[np.int64]:
        rest = np.frombuffer(source.take(8 * prefix.size), dtype="<u8") & _REST
        uniform = (prefix.astype(np.uint64) << np.uint64(48)) | rest
        least, most = _count_above(self._low, uniform), _count_above(self._high, uniform)
        for i in np.flatnonzero((least != most) | (uniform == 0)):
            least[i] = self._extend(int(uniform[i]), source)
        return self._read(least)

    def _extend(self, uniform: int, source: BitSource) -> int:
        bits = 64
        while True:
            bits += 64
            uniform = (uniform << 64) | int.from_bytes(source.take(8), "little")
            bounds = self._tails(bits)
            least = sum(uniform < low for low, _ in bounds)
            if uniform > 0 and least == sum(uniform < high for _, high in bounds):
                return least

    def _read(self, y: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(y % 2 == 1, (y + 1) // 2, -(y // 2)) if self._signed else y


def _count_above(ascending: NDArray[np.uint64], uniform: NDArray[np.uint64]) -> NDArray[np.int64]:
    return ascending.size - np.searchsorted(ascending, uniform, side="right").astype(np.int64)
