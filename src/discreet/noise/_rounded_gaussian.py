"""Continuous Gaussian noise, rounded exactly to the integers: P(X = x) = P(x − ½ < Z < x + ½) with Z ~ N(0, sigma²)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise._blocks import BLOCKS_FROM, FILTER_SLACK, Floats, Integers, Table, accept, fill
from discreet.noise._exp import exp_bounds
from discreet.noise._gaussian import block_table
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._uniform import scale_in_range, size_in_range
from discreet.rational import Number

__all__ = ["rounded_gaussian"]

_PLACE_BITS = 63
_FAR = 1 << 20  # blocks from here on are decided in exact arithmetic


def rounded_gaussian(sigma: Number, size: int) -> NDArray[np.int64]:
    """`size` independent integers, each the rounding of a continuous Gaussian of standard deviation `sigma`, exactly.

    Added to an integer it is the rounding of the integer with continuous noise: post-processing of a Gaussian
    mechanism, which is what makes it μ-GDP (discrete Gaussian noise is not). Between 0.001 and 2**56; a float means its
    printed decimal. Returns an int64 array, or Python ints (dtype object) if one does not fit. Costs no privacy by
    itself. Raises `ParameterError` if an argument is out of its range. Source: ``proofs/noise.md``, section 6.

    >>> rounded_gaussian(0.001, 3)
    array([0, 0, 0])
    """
    return _rounded_gaussian(size_in_range(size), scale_in_range(sigma, "sigma"), SecureBits())


def _rounded_gaussian(size: int, sigma: Fraction, source: BitSource) -> NDArray[np.int64]:
    return fill(size, _sampler(sigma).propose, source)


@lru_cache(maxsize=64)
def _sampler(sigma: Fraction) -> _Rounded:
    finer = 0
    while sigma * 2**finer < BLOCKS_FROM:
        finer += 1
    return _Rounded(*block_table(sigma * 2**finer), sigma * 2**finer, finer)


@dataclass(frozen=True, slots=True)
class _Rounded:
    r"""\|Z\| · 2**finer = 2**shift · (H + F): a block H from a table and a place F in [0, 1) by rejection."""

    table: Table
    shift: int
    sigma: Fraction
    finer: int

    def propose(self, size: int, source: BitSource, slack: float = FILTER_SLACK) -> Integers:
        """The accepted ones of `size` independent proposals; as Python ints if one does not fit in 64 bits."""
        block = self.table.sample(size, source)
        word = np.frombuffer(source.take(8 * size), dtype="<i8")
        sign, place = word >> 63, word & ((1 << _PLACE_BITS) - 1)
        accepted = accept(
            self._exponents(block, place),
            lambda i, prefix: self._settle(int(block[i]), int(place[i]), prefix, source),
            source,
            slack,
        )
        if size and int(block.max()) >> (61 - self.shift):
            block, place = block.astype(object), place.astype(object)
        # Twice the magnitude, rounded down: its last bit is what rounding to the nearest asks for.
        doubled = (block << (self.shift + 1)) + (place >> (_PLACE_BITS - 1 - self.shift))
        magnitude = (doubled + (1 << self.finer)) >> (self.finer + 1)
        return ((magnitude ^ sign) - sign)[accepted]

    def _exponents(self, block: Integers, place: Integers) -> Floats:
        """X = P(2mH + P)/2σ² with P = mF, at the F that its 63 bits begin."""
        x = place * 2.0 ** (self.shift - _PLACE_BITS)
        total = block * 2.0 ** (self.shift + 1)
        total += x
        total *= x
        total *= float(1 / (2 * self.sigma * self.sigma))
        total[block >= _FAR] = 1.0
        return total

    def _settle(self, block: int, place: int, prefix: int, source: BitSource) -> bool:
        """Whether U < e^{−x}, with the bits of U and of F revealed until they decide."""
        bits, known = 32, _PLACE_BITS
        while True:
            prefix, bits = (prefix << 64) | int.from_bytes(source.take(8), "little"), bits + 64
            low, _ = exp_bounds(self._exact(block, place + 1, known), bits)
            _, high = exp_bounds(self._exact(block, place, known), bits)
            if prefix < low:
                return True
            if prefix >= high:
                return False
            place, known = (place << 64) | int.from_bytes(source.take(8), "little"), known + 64

    def _exact(self, block: int, place: int, known: int) -> Fraction:
        at = Fraction(place << self.shift, 1 << known)
        return at * ((block << self.shift + 1) + at) / (2 * self.sigma * self.sigma)
