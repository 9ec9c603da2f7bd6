"""Discrete Laplace noise in a window: its powers, its second moment, and how it is drawn. ``proofs/noise.md``, section 12."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise import bernoulli_exp, discrete_laplace, exp_bounds, uniform_below

__all__ = ["MAX_WINDOW", "Bracket", "in_window", "powers", "second_moment"]

MAX_WINDOW = 2**62
"""The widest window, so that all places in it are 64-bit integers."""

Bracket = tuple[Fraction, Fraction]


def in_window(scale: Fraction, low: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Independent x, the i-th with weight exp(−|x| / scale) on low[i] … low[i] + width, a window that holds 0.

    A window wider than the scale keeps three in ten of the proposals of discrete Laplace noise, or more; a narrower one
    keeps more than a third of its own places.
    """
    drawn = np.zeros_like(low)
    waiting = np.arange(low.size)
    while waiting.size:
        least = low[waiting]
        if width > scale:
            proposed = discrete_laplace(scale, waiting.size)
            kept = ((proposed >= least) & (proposed <= least + width)).astype(np.bool_)
        else:
            proposed = least + uniform_below(width + 1, waiting.size)
            kept = _kept(proposed, scale)
        drawn[waiting[kept]] = proposed[kept].astype(np.int64)
        waiting = waiting[~kept]
    return drawn


def _kept(proposed: NDArray[np.int64], scale: Fraction) -> NDArray[np.bool_]:
    return bernoulli_exp(np.abs(proposed) * float(1 / scale), lambda i: abs(int(proposed[i])) / scale)


def powers(scale: Fraction, bits: int) -> Callable[[int], Bracket]:
    """N ↦ rationals between which exp(−n / scale) lies, about 2**−bits apart."""

    def power(n: int) -> Bracket:
        if n == 0:
            return Fraction(1), Fraction(1)
        low, high = exp_bounds(n / scale, bits)
        return Fraction(low, 1 << bits), Fraction(high, 1 << bits)

    return power


def second_moment(scale: Fraction, reach: int) -> Bracket:
    """Σ q^d and Σ d² q^d over d = 1, …, reach, for q = exp(−1 / scale), nearly: far beyond float precision."""
    power = powers(scale, 512 + 4 * math.ceil(scale).bit_length())
    (q, _), (last, _) = power(1), power(reach + 1)
    n = reach
    rest = last * ((n + 1) ** 2 - (2 * n * n + 2 * n - 1) * q + n * n * q * q)
    return (q - last) / (1 - q), (q * (1 + q) - rest) / (1 - q) ** 3
