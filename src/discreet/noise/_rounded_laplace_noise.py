"""Continuous Laplace noise, rounded exactly to the integers: P(X = x) = P(x − ½ < bL < x + ½)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise._blocks import BLOCKS_FROM, Bounds, Integers, Sampler, Table, fill
from discreet.noise._exp import exp_bounds
from discreet.noise._laplace import GUARD, geometric_blocks, geometric_tail, narrowed
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._uniform import scale_in_range, size_in_range
from discreet.rational import Number

__all__ = ["rounded_laplace_noise"]


def rounded_laplace_noise(scale: Number, size: int) -> NDArray[np.int64]:
    """`size` independent integers, each the rounding of a continuous Laplace variable of this scale, exactly.

    Added to an integer it is the rounding of the integer with continuous noise: post-processing of the Laplace
    mechanism. `rounded_laplace` rounds around a center that need not be an integer, one number at a time. Scales are
    from 0.001 to 2**56; a float means its printed decimal. Returns an int64 array, or Python ints (dtype object) if one
    does not fit. Costs no privacy by itself. Raises `ParameterError` if an argument is out of its range.
    Source: ``proofs/noise.md``, section 10.

    >>> rounded_laplace_noise(0.001, 3)
    array([0, 0, 0])
    """
    return _rounded_laplace_noise(size_in_range(size), scale_in_range(scale, "scale"), SecureBits())


def _rounded_laplace_noise(size: int, scale: Fraction, source: BitSource) -> NDArray[np.int64]:
    return fill(size, _sampler(scale), source)


@lru_cache(maxsize=64)
def _sampler(scale: Fraction) -> Sampler:
    return _table(scale).sample if scale < BLOCKS_FROM else _halved(scale)


def _table(scale: Fraction) -> Table:
    def tails(bits: int) -> list[Bounds]:
        """With h = exp(−1/2scale), in the order 0, 1, −1, 2, …:

        P(Y ≥ 2j − 1) = h^(2j − 1), and P(Y ≥ 2j) = P(Y ≥ 2j − 1) (1 + h²) / 2.
        """
        width = bits + GUARD
        ratio = q_low, q_high = exp_bounds(1 / scale, width)
        one = 1 << width
        bounds: list[Bounds] = []
        for low, high in geometric_tail(exp_bounds(1 / (2 * scale), width), ratio, width):
            bounds.append((low, high))
            bounds.append((low * (one + q_low) >> width + 1, -(-high * (one + q_high) >> width + 1)))
        return narrowed(bounds)

    return Table(tails, signed=True)


def _halved(scale: Fraction) -> Sampler:
    r"""N = ⌊2\|bL\|⌋ is geometric, and \|bL\| rounds to ⌈N/2⌉."""
    halves = geometric_blocks(2 * scale)

    def sample(size: int, source: BitSource) -> Integers:
        magnitude, sign = halves.magnitudes(size, source)
        return (((magnitude >> 1) + (magnitude & 1)) ^ sign) - sign

    return sample
