"""Discrete Laplace noise: P(X = x) proportional to exp(−|x| / scale)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise._blocks import BLOCKS_FROM, Blocks, Bounds, Sampler, Table, Tails, block_shift, fill
from discreet.noise._exp import exp_bounds
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._uniform import scale_in_range, size_in_range
from discreet.rational import Number

__all__ = ["GUARD", "discrete_laplace", "geometric_blocks", "geometric_tail", "geometric_tails", "narrowed"]


GUARD = 64
"""The bits that tails are computed with beyond those that are asked for."""


def geometric_blocks(scale: Fraction) -> Blocks:
    r"""Weight exp(−\|x\| / scale) on the integers, for scales of 64 and up."""
    shift = block_shift(scale)
    inverse = float(1 / scale)
    return Blocks(
        Table(geometric_tails(2**shift / scale), signed=False),
        shift,
        exponent=lambda _, place: place * inverse,
        exact_exponent=lambda _, place: place / scale,
    )


def geometric_tails(step: Fraction) -> Tails:
    """P(H ≥ k) = exp(−k · step)."""

    def tails(bits: int) -> list[Bounds]:
        width = bits + GUARD
        ratio = exp_bounds(step, width)
        return narrowed(geometric_tail(ratio, ratio, width))

    return tails


def geometric_tail(first: Bounds, ratio: Bounds, width: int) -> list[Bounds]:
    """Bounds on c, cq, cq², … at `width` bits, down to and with the first that is at most 2**(GUARD − 2)."""
    tail = [first]
    while tail[-1][1] >> (GUARD - 2):
        tail.append((tail[-1][0] * ratio[0] >> width, -(-tail[-1][1] * ratio[1] >> width)))
    return tail


def narrowed(bounds: list[Bounds]) -> list[Bounds]:
    """The same bounds with `GUARD` bits fewer, rounded outward, without those that say nothing (high ≤ 1)."""
    narrow = [(low >> GUARD, -(-high >> GUARD)) for low, high in bounds]
    return [(low, high) for low, high in narrow if high > 1]


def discrete_laplace(scale: Number, size: int) -> NDArray[np.int64]:
    """`size` independent integers x, each with probability proportional to exp(−|x| / scale), exactly.

    Parameters
    ----------
    scale
        From 0.001 to 2**56; a float means its printed decimal.
    size
        How many; 0 or more.

    Returns
    -------
    An int64 array. A draw outside 64 bits (probability below e**−128 at the largest scale) is not cut, which would
    cost privacy: the array then holds Python ints (dtype object).

    Costs no privacy by itself: added to an integer query of L1 sensitivity Δ it gives pure Δ/scale-DP.
    Raises `ParameterError` if an argument is out of its range. Source: Ghosh, Roughgarden and Sundararajan 2012,
    section 2 (the distribution); ``proofs/noise.md`` (the sampler).

    >>> discrete_laplace("1/1000", 3)
    array([0, 0, 0])
    """
    exact = scale_in_range(scale, "scale")
    return _discrete_laplace(size_in_range(size), exact, SecureBits())


def _discrete_laplace(size: int, scale: Fraction, source: BitSource) -> NDArray[np.int64]:
    return fill(size, _sampler(scale), source)


@lru_cache(maxsize=64)
def _sampler(scale: Fraction) -> Sampler:
    return _table(scale).sample if scale < BLOCKS_FROM else geometric_blocks(scale).propose


def _table(scale: Fraction) -> Table:
    def tails(bits: int) -> list[Bounds]:
        """With q = exp(−1/scale), in the order 0, 1, −1, 2, …: P(Y ≥ 2j − 1) = 2 q^j / (1 + q), P(Y ≥ 2j) = q^j."""
        width = bits + GUARD
        one = 1 << width
        q_low, q_high = q = exp_bounds(1 / scale, width)
        bounds: list[Bounds] = []
        for low, high in geometric_tail(q, q, width):
            bounds.append(((low << width + 1) // (one + q_high), -(-(high << width + 1) // (one + q_low))))
            bounds.append((low, high))
        return narrowed(bounds)

    return Table(tails, signed=True)
