"""Discrete Laplace noise: P(X = x) proportional to exp(−|x| / scale)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise._blocks import BLOCKS_FROM, Sampler, fill
from discreet.noise._exp import exp_bounds
from discreet.noise._geometric import GUARD, geometric_tail, narrowed
from discreet.noise._geometric import geometric_blocks as _blocks
from discreet.noise._range import scale_in_range, size_in_range
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._table import Bounds, Table
from discreet.rational import Number

__all__ = ["discrete_laplace"]


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
        width = bits + GUARD
        one = 1 << width
        q_low, q_high = q = exp_bounds(1 / scale, width)
        bounds: list[Bounds] = []
        for low, high in geometric_tail(q, q, width):
            bounds.append(((low << width + 1) // (one + q_high), -(-(high << width + 1) // (one + q_low))))
            bounds.append((low, high))
        return narrowed(bounds)

    return Table(tails, signed=True)
