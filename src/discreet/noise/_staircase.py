"""Discrete staircase noise: P(X = x) ∝ exp(−ε ⌊(|x| + Δ − r) / Δ⌋)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.noise._blocks import BLOCKS_FROM, Bounds, Integers, Table, fill
from discreet.noise._exp import exp_bounds
from discreet.noise._laplace import GUARD, geometric_blocks, geometric_tail, narrowed
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._uniform import MAX_SCALE, scale_in_range, size_in_range, words_below
from discreet.rational import Number, rational

__all__ = ["staircase"]

Levels = Callable[[int, BitSource], tuple[Integers, Integers]]
"""``levels(size, source)`` makes up to `size` pairs: the level, and a sign, 0 or −1."""


def staircase(epsilon: Number, width: int, first: int, size: int) -> NDArray[np.int64]:
    """`size` independent integers x, each with probability proportional to exp(−ε · level of |x|), exactly.

    |x| below `first` is on level 0, the next `width` numbers are on level 1, and so on.

    Parameters
    ----------
    epsilon
        From 2**−56 to 1000; a float means its printed decimal.
    width, first
        Whole numbers with 1 ≤ first ≤ width, and width / epsilon at most 2**56.
    size
        How many; 0 or more.

    Returns an int64 array, or Python ints (dtype object) if one does not fit. Costs no privacy by itself: added to an
    integer with sensitivity `width` it gives pure ε-DP. Raises `ParameterError` if an argument is out of its range.
    Source: Geng and Viswanath 2016, the discrete setting (the law); ``proofs/noise.md``, section 11 (the sampler).

    >>> bool((np.abs(staircase(1000, width=100, first=7, size=50)) < 7).all())
    True
    """
    exact = rational(epsilon, "epsilon")
    scale = scale_in_range(1 / exact if exact else 0, "1 / epsilon")
    most = int(min(MAX_SCALE, MAX_SCALE / scale))
    reach = _whole_number(width, "width", most)
    return fill(
        size_in_range(size), _sampler(1 / scale, reach, _whole_number(first, "first", reach)).propose, SecureBits()
    )


def _whole_number(value: int, name: str, most: int) -> int:
    integer = size_in_range(value, name)
    if not 1 <= integer <= most:
        raise ParameterError(f"{name} must be a whole number from 1 to {most}, got {integer}")
    return integer


@lru_cache(maxsize=64)
def _sampler(epsilon: Fraction, width: int, first: int) -> _Staircase:
    levels = _steep if epsilon * BLOCKS_FROM > 1 else _flat
    return _Staircase(levels(epsilon, width, first), width, first)


@dataclass(frozen=True, slots=True)
class _Staircase:
    """A level with its weight, a place in it, and a sign."""

    levels: Levels
    width: int
    first: int

    def propose(self, size: int, source: BitSource) -> Integers:
        """The accepted ones of at most `size` proposals; as Python ints if one does not fit in 64 bits."""
        level, sign = self.levels(size, source)
        place = words_below(self.width, level.size, source)
        lowest = np.flatnonzero(level == 0)
        place[lowest] = words_below(self.first, lowest.size, source) + (self.width - self.first)
        if level.size and (int(level.max()) + 1) * self.width >> 63:
            level, place = level.astype(object), place.astype(object)
        magnitude = (level - 1) * self.width + self.first + place
        once = (magnitude != 0) | (sign == 0)  # -0 is not a second zero
        return ((magnitude ^ sign) - sign)[once]


def _steep(epsilon: Fraction, width: int, first: int) -> Levels:
    def tails(bits: int) -> list[Bounds]:
        """With b = e^−ε: P(Y ≥ 1) = wb / (f(1 − b) + wb), and a factor of b for every further level."""
        precision = bits + GUARD
        one = 1 << precision
        low, high = ratio = exp_bounds(epsilon, precision)
        first_low = (width * low << precision) // (first * (one - low) + width * low)
        first_high = -(-(width * high << precision) // (first * (one - high) + width * high))
        return narrowed(geometric_tail((first_low, first_high), ratio, precision))

    table = Table(tails, signed=False)

    def levels(size: int, source: BitSource) -> tuple[Integers, Integers]:
        level = table.sample(size, source)
        return level, np.frombuffer(source.take(size), dtype=np.int8).astype(np.int64) >> 7

    return levels


def _flat(epsilon: Fraction, width: int, first: int) -> Levels:
    geometric = geometric_blocks(1 / epsilon)

    def levels(size: int, source: BitSource) -> tuple[Integers, Integers]:
        level, sign = geometric.magnitudes(size, source)
        lowest = np.flatnonzero(level == 0)
        accepted = np.ones(level.size, dtype=np.bool_)
        accepted[lowest] = words_below(width, lowest.size, source) < first
        return level[accepted], sign[accepted]

    return levels
