"""Discrete Laplace noise that stays in a window. ``proofs/noise.md``, section 12."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise._bernoulli import bernoulli_exp
from discreet.noise._laplace import discrete_laplace
from discreet.noise._uniform import uniform_below

__all__ = ["MAX_WINDOW", "laplace_in_window"]

MAX_WINDOW = 2**62
"""The widest window, so that all places in it are 64-bit integers."""


def laplace_in_window(scale: Fraction, low: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Independent x, the i-th with weight exp(−|x| / scale) on low[i] … low[i] + width, a window that holds 0.

    A window wider than the scale keeps three in ten of the proposals of discrete Laplace noise, or more; a narrower one
    keeps more than a third of its own places. Costs no privacy by itself. Source: ``proofs/noise.md``, section 12.

    >>> laplace_in_window(Fraction(3), np.zeros(2, dtype=np.int64), 0).tolist()
    [0, 0]
    """
    drawn = np.zeros_like(low)
    waiting = np.arange(low.size)
    while waiting.size:
        least = low[waiting]
        if width > scale:
            proposed = discrete_laplace(scale, waiting.size)
            accepted = ((proposed >= least) & (proposed <= least + width)).astype(np.bool_)
        else:
            proposed = least + uniform_below(width + 1, waiting.size)
            accepted = _accepted(proposed, scale)
        drawn[waiting[accepted]] = proposed[accepted].astype(np.int64)
        waiting = waiting[~accepted]
    return drawn


def _accepted(proposed: NDArray[np.int64], scale: Fraction) -> NDArray[np.bool_]:
    return bernoulli_exp(np.abs(proposed) * float(1 / scale), lambda i: abs(int(proposed[i])) / scale)
