"""Discrete Laplace noise: P(X = x) proportional to exp(−|x| / scale)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise._blocks import BLOCKS_FROM, Blocks, Sampler, block_shift, fill
from discreet.noise._exp import exp_bounds
from discreet.noise._range import scale_in_range, size_in_range
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._table import Bounds, Table, Tails
from discreet.rational import Number

__all__ = ["discrete_laplace", "geometric_tails"]

_GUARD = 64


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
    return _table(scale).sample if scale < BLOCKS_FROM else _blocks(scale).propose


def _table(scale: Fraction) -> Table:
    def tails(bits: int) -> list[Bounds]:
        """With q = exp(−1/scale), in the order 0, 1, −1, 2, …: P(Y ≥ 2j − 1) = 2 q^j / (1 + q), P(Y ≥ 2j) = q^j."""
        width = bits + _GUARD
        one = 1 << width
        q_low, q_high = exp_bounds(1 / scale, width)
        bounds: list[Bounds] = []
        for low, high in _powers(q_low, q_high, width):
            bounds.append(((low << width + 1) // (one + q_high), -(-(high << width + 1) // (one + q_low))))
            bounds.append((low, high))
        return _narrowed(bounds)

    return Table(tails, signed=True)


def _blocks(scale: Fraction) -> Blocks:
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
        width = bits + _GUARD
        return _narrowed(_powers(*exp_bounds(step, width), width))

    return tails


def _powers(low: int, high: int, width: int) -> list[Bounds]:
    """Bounds on q, q², q³, … at `width` bits, down to and with the first that is at most 2**(_GUARD − 2)."""
    powers = [(low, high)]
    while powers[-1][1] >> (_GUARD - 2):
        powers.append((powers[-1][0] * low >> width, -(-powers[-1][1] * high >> width)))
    return powers


def _narrowed(bounds: list[Bounds]) -> list[Bounds]:
    """The same bounds with `_GUARD` bits fewer, rounded outward, without those that say nothing (high ≤ 1)."""
    narrow = [(low >> _GUARD, -(-high >> _GUARD)) for low, high in bounds]
    return [(low, high) for low, high in narrow if high > 1]
