"""Discrete Gaussian noise: P(X = x) proportional to exp(−x² / (2 sigma²))."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise._blocks import BLOCKS_FROM, Blocks, Bounds, Floats, Integers, Sampler, Table, block_shift, fill
from discreet.noise._exp import exp_bounds
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._uniform import scale_in_range, size_in_range
from discreet.rational import Number

__all__ = ["block_table", "discrete_gaussian", "gaussian_blocks"]

_GUARD = 64
_END = 40  # sums are cut where what is left is 2**-24 of the last place, so that bounds stay close


def discrete_gaussian(sigma: Number, size: int) -> NDArray[np.int64]:
    """`size` independent integers x, each with probability proportional to exp(−x² / (2 sigma²)), exactly.

    Parameters
    ----------
    sigma
        From 0.001 to 2**56; a float means its printed decimal. The standard deviation is sigma or less, and within
        1e-6 of it once sigma is 1 or more.
    size
        How many; 0 or more.

    Returns
    -------
    An int64 array. A draw outside 64 bits (probability below e**−8000) is not cut, which would cost privacy: the
    array then holds Python ints (dtype object).

    Costs no privacy by itself: added to an integer query of L2 sensitivity Δ it gives Δ²/(2 sigma²)-zCDP.
    Raises `ParameterError` if an argument is out of its range. Source: Canonne, Kamath and Steinke 2020,
    Definition 1 (the distribution); ``proofs/noise.md`` (the sampler).

    >>> discrete_gaussian(0.001, 3)
    array([0, 0, 0])
    """
    exact = scale_in_range(sigma, "sigma")
    return _discrete_gaussian(size_in_range(size), exact, SecureBits())


def _discrete_gaussian(size: int, sigma: Fraction, source: BitSource) -> NDArray[np.int64]:
    return fill(size, _sampler(sigma), source)


@lru_cache(maxsize=64)
def _sampler(sigma: Fraction) -> Sampler:
    return _table(sigma).sample if sigma < BLOCKS_FROM else gaussian_blocks(sigma).propose


def _table(sigma: Fraction) -> Table:
    rate = 1 / (2 * sigma * sigma)

    def tails(bits: int) -> list[Bounds]:
        """With S_j = Σ_{i ≥ j} exp(−rate · i²), in the order 0, 1, −1, 2, …, and Z = 1 + 2 S_1:

        P(Y ≥ 2j − 1) = 2 S_j / Z and P(Y ≥ 2j) = (S_j + S_{j+1}) / Z.
        """
        sums = _suffix_sums(rate, bits + _GUARD)
        one = 1 << bits + _GUARD
        total = one + 2 * sums[1][0], one + 2 * sums[1][1]
        parts: list[Bounds] = []
        for (low, high), (next_low, next_high) in zip(sums[1:], [*sums[2:], (0, sums[-1][1])], strict=True):
            parts.append((2 * low, 2 * high))
            parts.append((low + next_low, high + next_high))
        return _shares(parts, total, bits)

    return Table(tails, signed=True)


def block_table(sigma: Fraction) -> tuple[Table, int]:
    """The table of H, with weight exp(−(2**shift · H)² / (2 sigma²)) on 0, 1, 2, …, and the shift; sigma ≥ 64."""
    shift = block_shift(sigma)

    def tails(bits: int) -> list[Bounds]:
        sums = _suffix_sums(4**shift / (2 * sigma * sigma), bits + _GUARD)
        return _shares(sums[1:], sums[0], bits)

    return Table(tails, signed=False), shift


def gaussian_blocks(sigma: Fraction) -> Blocks:
    table, shift = block_table(sigma)
    variance = sigma * sigma
    inverse = float(1 / (2 * variance))
    twice = 2.0 ** (shift + 1)

    def exponent(block: Integers, place: Integers) -> Floats:
        x = block * twice
        x += place
        x *= place
        x *= inverse
        return x

    return Blocks(
        table,
        shift,
        exponent,
        exact_exponent=lambda block, place: place * ((block << shift + 1) + place) / (2 * variance),
    )


def _suffix_sums(rate: Fraction, width: int) -> list[Bounds]:
    """Bounds on 2**width · Σ_{i ≥ j} exp(−rate · i²) for j = 0, 1, 2, …, down to and with a sum below 2**_END.

    The weights follow w_{i+1} = w_i r_i and r_{i+1} = r_i g, with r_0 = exp(−rate) and g = exp(−2 rate). As the r_i
    fall, what comes after w_i is at most w_i r_i / (1 − r_i).
    """
    one = 1 << width
    ratio, factor = exp_bounds(rate, width), exp_bounds(2 * rate, width)
    weight = (one, one)
    weights: list[Bounds] = []
    while True:
        weights.append(weight)
        after = -(-weight[1] * ratio[1] // (one - ratio[1]))
        if weight[1] + after < 1 << _END:
            break
        weight, ratio = _product(weight, ratio, width), _product(ratio, factor, width)
    low, high = 0, after
    sums: list[Bounds] = []
    for weight in reversed(weights):
        low, high = low + weight[0], high + weight[1]
        sums.append((low, high))
    return sums[::-1]


def _product(a: Bounds, b: Bounds, width: int) -> Bounds:
    return a[0] * b[0] >> width, -(-a[1] * b[1] >> width)


def _shares(parts: list[Bounds], total: Bounds, bits: int) -> list[Bounds]:
    """Each part of the total, times 2**bits, rounded outward, without those that say nothing (high ≤ 1)."""
    shares = [((low << bits) // total[1], -(-(high << bits) // total[0])) for low, high in parts]
    return [(low, high) for low, high in shares if high > 1]
