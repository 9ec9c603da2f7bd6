"""Where to cut sorted data, so that a share of them lies below: the exponential mechanism over gaps, exactly.

Proof: ``proofs/quantiles.md``, sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise import bernoulli_exp, exp_bounds, uniform64, uniform_below

__all__ = ["Stretch", "draw_cut"]

_WORD = 64
_BITS = 3 * _WORD
_NEGLIGIBLE = 1 << _WORD


@dataclass(frozen=True, slots=True)
class Stretch:
    """Sorted data, all from `low` to `high`, and the cuts c from `low` to `high`, both included.

    `y` has each record's position; or, with `ends`, each position once, and how many records are there or before.
    Records are told apart up to cells of 2**`cell_bits` positions. a(c) are before the cell of c, and b(c) in it or
    before; c is as far from t records as t is from the interval [a(c), b(c)].
    """

    y: NDArray[np.int64]
    low: int
    high: int
    cell_bits: int
    ends: NDArray[np.int64] | None = None

    @property
    def size(self) -> int:
        """How many records there are."""
        if self.ends is None:
            return self.y.size
        return int(self.ends[-1]) if self.ends.size else 0

    def from_cell(self, i: int) -> int:
        """The least cut with b(c) ≥ i."""
        return self.low if i == 0 else max(self.low, self._record(i) >> self.cell_bits << self.cell_bits)

    def past_cell(self, i: int) -> int:
        """The least cut with a(c) ≥ i, one more than the last if there is none."""
        ends = i > self.size
        return 1 + (self.high if ends else min(self.high, self._record(i) | ((1 << self.cell_bits) - 1)))

    def before(self, c: int) -> int:
        """a(c)."""
        return self._records(int(np.searchsorted(self.y, np.int64(c >> self.cell_bits << self.cell_bits), side="left")))

    def up_to(self, c: int) -> int:
        """b(c)."""
        last = np.int64(c | ((1 << self.cell_bits) - 1))
        return self._records(int(np.searchsorted(self.y, last, side="right")))

    def parted(self, c: int) -> tuple[Stretch, Stretch]:
        """The records below position c, and the others."""
        at = int(np.searchsorted(self.y, np.int64(c)))
        ends = (None, None) if self.ends is None else (self.ends[:at], self.ends[at:] - self._records(at))
        left = Stretch(self.y[:at], self.low, c, self.cell_bits, ends[0])
        return left, Stretch(self.y[at:], c, self.high, self.cell_bits, ends[1])

    def _record(self, i: int) -> int:
        """The position of record i, from 1 on."""
        return int(self.y[i - 1 if self.ends is None else int(np.searchsorted(self.ends, i))])

    def _records(self, positions: int) -> int:
        """How many records are at so many first positions."""
        if self.ends is None:
            return positions
        return int(self.ends[positions - 1]) if positions else 0


@dataclass(frozen=True, slots=True)
class _Block:
    """Cuts start ≤ c < stop at distances from that of gap number `first` on, counted outwards from the target."""

    start: int
    stop: int
    side: int
    first: int


_Weighted = tuple[int, int, _Block]
"""Bounds of 2**bits · (cuts) · exp(−rate · the least distance), and the block."""


def draw_cut(stretch: Stretch, p: Fraction, rate: Fraction) -> int:
    """A cut c with probability proportional to exp(−rate · distance of c from p n records), exactly.

    Costs what ``proofs/quantiles.md``, section 1, says, and charges nobody.
    """
    target = p * stretch.size
    width = max(1, 1 // rate)
    table = list(_blocks(stretch, target, rate, width, _BITS))
    while True:
        block = _pick(stretch, target, rate, width, table)
        c = block.start + int(uniform_below(block.stop - block.start, 1)[0])
        x = rate * _gap(stretch, target, block, c)
        if bernoulli_exp(np.array([float(x)]), lambda _, x=x: x)[0]:
            return c


def _gap(stretch: Stretch, target: Fraction, block: _Block, c: int) -> int:
    """By how many gaps a cut is farther out than the first one of its block."""
    if block.side == 0:
        return 0
    gap = -(-target // 1) - 1 - stretch.up_to(c) if block.side < 0 else stretch.before(c) - target // 1 - 1
    return gap - block.first


def _pick(stretch: Stretch, target: Fraction, rate: Fraction, width: int, table: list[_Weighted]) -> _Block:
    """A block with probability proportional to its weight: on 64 bits of a uniform number, or as many as it takes."""
    digits, known, bits = 0, 0, _BITS
    while True:
        digits, known = (digits << _WORD) | int(uniform64(1)[0]), known + _WORD
        least, most = digits * sum(low for low, _, _ in table), (digits + 1) * sum(high for _, high, _ in table)
        below = above = 0
        for low, high, block in table:
            below += low
            if least >= above << known and most <= below << known:
                return block
            above += high
        bits += _WORD
        table = list(_blocks(stretch, target, rate, width, bits))


def _blocks(stretch: Stretch, target: Fraction, rate: Fraction, width: int, bits: int) -> Iterator[_Weighted]:
    """The cuts at distance 0, then outwards `width` gaps at a time, and as one block all that hardly count."""
    last_below, first_above = -(-target // 1), target // 1 + 1
    middle = _Block(stretch.from_cell(last_below), stretch.past_cell(first_above), 0, 0)
    yield _weighted(middle, 1 << bits, 1 << bits)
    fall = exp_bounds(rate * width, bits)
    for side in (-1, 1):
        gaps = last_below if side < 0 else stretch.size + 1 - first_above
        nearest = target - last_below + 1 if side < 0 else first_above - target
        low, high = exp_bounds(rate * nearest, bits)
        first = 0
        while first < gaps:
            if high < _NEGLIGIBLE:
                low, after = 0, gaps
            else:
                after = min(first + width, gaps)
            if side < 0:
                start, stop = stretch.from_cell(last_below - after), stretch.from_cell(last_below - first)
            else:
                start, stop = stretch.past_cell(first_above + first), stretch.past_cell(first_above + after)
            yield _weighted(_Block(start, stop, side, first), low, high)
            low, high, first = low * fall[0] >> bits, -(-high * fall[1] >> bits), after


def _weighted(block: _Block, low: int, high: int) -> _Weighted:
    size = block.stop - block.start
    return low * size, high * size, block
