"""Noise of a large scale: |X| = 2**shift · H + L, a block H from a table and a place L in it by rejection.

Both noises share this; they differ in the table of H and in the exponent x(H, L) that L is accepted with.
Proof: ``proofs/noise.md``, section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise._exp import exp_bounds
from discreet.noise._source import BitSource

__all__ = [
    "BLOCKS_FROM",
    "FILTER_LIMIT",
    "FILTER_SLACK",
    "Blocks",
    "Bounds",
    "Floats",
    "Integers",
    "Sampler",
    "Table",
    "Tails",
    "accept",
    "below_exp",
    "block_shift",
    "fill",
    "scaled_exp",
]


FILTER_LIMIT = 0.25
"""Above this x the filter has no opinion."""

FILTER_SLACK = 4.0
"""In units of 2**−32; the error of `scaled_exp` is below 2."""

_COEFFICIENTS = [(-1) ** k * 2.0**32 / factorial(k) for k in range(7, -1, -1)]


def accept(
    x: NDArray[np.floating[Any]],
    settle: Callable[[int, int], bool],
    source: BitSource,
    slack: float = FILTER_SLACK,
) -> NDArray[np.bool_]:
    """Element i is true with probability exactly exp(−x), independently, where x is the exact number behind `x[i]`.

    `x` holds it in float64 with relative error at most 2**−50. ``settle(i, prefix)`` decides exactly whether a uniform
    U that begins with the 32 bits of `prefix` is below exp(−x), see `below_exp`. A `slack` of infinity sends every
    decision there.
    """
    uniform = np.frombuffer(source.take(4 * x.size), dtype="<u4")
    margin = scaled_exp(x)
    margin -= uniform
    accepted = margin >= slack + 1
    unsure = ~accepted
    unsure &= margin > -slack
    unsure |= x >= FILTER_LIMIT
    for i in np.flatnonzero(unsure):
        accepted[i] = settle(int(i), int(uniform[i]))
    return accepted


def scaled_exp(x: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """2**32 · exp(−x) for 0 ≤ x < 1/4 with error below 2, by float64 additions and multiplications alone."""
    total = x * _COEFFICIENTS[0]
    for coefficient in _COEFFICIENTS[1:-1]:
        total += coefficient
        total *= x
    total += _COEFFICIENTS[-1]
    return total


def below_exp(prefix: int, bits: int, x: Fraction, source: BitSource) -> bool:
    """Whether U < exp(−x), where U is uniform on [0, 1) and its first `bits` bits are `prefix`."""
    while True:
        prefix = (prefix << 64) | int.from_bytes(source.take(8), "little")
        bits += 64
        low, high = exp_bounds(x, bits)
        if prefix < low:
            return True
        if prefix >= high:
            return False


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


BLOCKS_FROM = 64
"""Scales below this are sampled from one table."""

_CHUNK = 1 << 16  # a chunk's arrays stay in the cache

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]
Sampler = Callable[[int, BitSource], Integers]
"""``sampler(size, source)`` makes `size` proposals and returns those accepted, in order."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """A symmetric distribution on the integers with weight w(2**shift · H) · exp(−x(H, L)) at ±(2**shift · H + L)."""

    table: Table
    shift: int
    exponent: Callable[[Integers, Integers], Floats]
    exact_exponent: Callable[[int, int], Fraction]

    def propose(self, size: int, source: BitSource, slack: float = FILTER_SLACK) -> Integers:
        """The accepted ones of `size` independent proposals; as Python ints if one does not fit in 64 bits."""
        magnitude, sign = self.magnitudes(size, source, slack)
        once = (magnitude != 0) | (sign == 0)  # -0 is not a second zero
        return ((magnitude ^ sign) - sign)[once]

    def magnitudes(self, size: int, source: BitSource, slack: float = FILTER_SLACK) -> tuple[Integers, Integers]:
        """The accepted magnitudes, and for each an independent sign, 0 or -1, so that 0 comes with both."""
        block = self.table.sample(size, source)
        word = np.frombuffer(source.take(8 * size), dtype="<i8")
        place = word & ((1 << self.shift) - 1)
        sign = word >> 63  # from a bit that `place` does not use
        accepted = accept(
            self.exponent(block, place),
            lambda i, prefix: below_exp(prefix, 32, self.exact_exponent(int(block[i]), int(place[i])), source),
            source,
            slack,
        )
        if size and int(block.max()) >> (63 - self.shift):
            block, place = block.astype(object), place.astype(object)
        return ((block << self.shift) + place)[accepted], sign[accepted]


def block_shift(scale: Fraction) -> int:
    """The largest j with 2**j ≤ scale / 32."""
    return (scale.numerator // (32 * scale.denominator)).bit_length() - 1


def fill(size: int, sampler: Sampler, source: BitSource) -> Integers:
    """The first `size` accepted draws of a sampler."""
    drawn = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        want = size - done
        some = sampler(min(_CHUNK, want + want // 32 + 8), source)[:want]
        if some.dtype == object and drawn.dtype != object:
            drawn = drawn.astype(object)
        drawn[done : done + some.size] = some
        done += some.size
    return drawn
