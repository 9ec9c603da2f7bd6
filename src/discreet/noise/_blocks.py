"""Noise of a large scale: |X| = 2**shift · H + L, a block H from a table and a place L in it by rejection.

Both noises share this; they differ in the table of H and in the exponent x(H, L) that L is accepted with.
Proof: ``proofs/noise.md``, section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise._reject import FILTER_SLACK, accept, below_exp
from discreet.noise._source import BitSource
from discreet.noise._table import Table

__all__ = ["BLOCKS_FROM", "Blocks", "Floats", "Integers", "Sampler", "block_shift", "fill"]

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
