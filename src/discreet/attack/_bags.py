"""Guesses of several values at once: as frequent as they are at large."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bag", "shared"]

_Ints = NDArray[np.int64]


def bag(size: int, shares: NDArray[np.int64] | NDArray[np.float64], needed: _Ints) -> _Ints:
    """So many values: those that are needed, then as the shares are, by largest remainders.

    >>> bag(4, np.array([5, 3, 2]), np.array([0, 0, 1]))
    array([2, 1, 1])
    """
    filled = needed.copy()
    left = size - int(filled.sum())
    if left <= 0 or not shares.sum():
        return filled
    wanted = np.maximum(size * shares / shares.sum() - filled, 0)
    wanted = wanted * left / wanted.sum() if wanted.sum() else left * shares / shares.sum()
    floor = np.floor(wanted).astype(np.int64)
    rest = left - int(floor.sum())
    floor[np.argsort(floor - wanted, kind="stable")[:rest]] += 1
    return filled + floor


def shared(guess: _Ints, own: _Ints) -> int:
    """How many values two bags share."""
    return int(np.minimum(guess, own).sum())
