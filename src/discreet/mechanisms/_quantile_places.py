"""Places between records that are spread evenly over their cells, in blocks along which few of them pass.

Proof: ``proofs/quantiles.md``, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["PLACE_BITS", "Places"]

PLACE_BITS = 20
_FEWEST = 256
_NEAR, _FINEST = 16.0, 10

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Places:
    """2**`bits` places in each cell of a histogram. A record counts 2 · 2**bits units, as many before each place."""

    counts: Ints
    bits: int = PLACE_BITS

    @property
    def records(self) -> int:
        """Of all cells, in units."""
        return int(self.counts.sum()) << self.bits + 1

    def below(self, z: Ints) -> Ints:
        """The units before the middle of each place."""
        cells = z >> self.bits
        before = (np.cumsum(self.counts) - self.counts)[cells] << self.bits + 1
        return before + self.counts[cells] * (2 * (z & (1 << self.bits) - 1) + 1)

    def blocks(self, probabilities: tuple[Fraction, ...], rate: Fraction) -> tuple[Ints, Ints]:
        """The first place of each block, and how many places it has; together they hold every place once, in order.

        Near the ranks asked for, rate · units of a block are about 1 / m, and far away a share of the distance.
        """
        scale = float(rate)
        targets = np.array([float(p) for p in probabilities]) * self.records * scale
        finest = 1 / (2 * min(targets.size, _FINEST))
        piece = 1 << max(0, self.bits - (_FEWEST // self.counts.size).bit_length())
        start = np.arange(0, self.counts.size << self.bits, piece)
        size = np.full(start.size, piece)
        done = [(start[:0], size[:0])]
        while start.size:
            low, high = (self.below(z) * scale for z in (start, start + size - 1))
            half, middle = (high - low) / 2, (high + low) / 2
            after = np.searchsorted(targets, middle).clip(0, targets.size - 1)
            far = np.minimum(np.abs(middle - targets[after]), np.abs(middle - targets[(after - 1).clip(0)])) - half
            fine = (size == 1) | (half <= np.maximum(finest, (far - _NEAR) / (2 * targets.size)))
            done.append((start[fine], size[fine]))
            size = np.repeat(size[~fine] // 2, 2)
            start = np.repeat(start[~fine], 2)
            start[1::2] += size[1::2]
        starts, sizes = (np.concatenate(each) for each in zip(*done, strict=True))
        order = np.argsort(starts)
        return starts[order], sizes[order]
