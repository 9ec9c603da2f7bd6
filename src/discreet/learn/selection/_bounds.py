"""What the best of a random number of tries loses, from what one try loses. Proof: ``proofs/learning_search.md``."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.learn.selection._tries import Tries
from discreet.privacy import MuLoss

__all__ = ["delta_of_best", "epsilon_of_best"]

Reals = NDArray[np.float64]

_FINE, _DEEP, _CHUNK = 256, 50, 1024
_CELL = math.log(2) / _FINE
_TAILS: Reals = 2.0 ** (np.arange(-_DEEP * _FINE, 1) / _FINE)
"""Probabilities from 2^-50 to 1, each of them 1.0027 times the one before."""
_LOST = 1e-10
"""Relative: for what the functions of the C library and of scipy, and sums of 1,024 terms above 0, may lose."""
_UNDERFLOW = 700.0
_ROUGH = 2.0**-46


@lru_cache(maxsize=64)
def _falls(tries: Tries) -> tuple[Reals, float]:
    """How far ln f′(1 − u) falls at most from the first tail to each; f(x) is the mean of x to the power of the tries.

    In ln u it falls at the rate u f″(1 − u)/f′(1 − u), which on a cell between two tails is at most its ends allow. And
    how far it falls from u = 0 to the first tail.
    """
    weights = np.array(tries.weights, np.float64) / float(sum(tries.weights))
    counts = np.arange(len(weights), dtype=np.float64)
    first, second = weights * (counts + 1), (weights * (counts + 1) * counts)[1:]
    slopes, curves = np.zeros(len(_TAILS)), np.zeros(len(_TAILS))
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log1p(-_TAILS), -_UNDERFLOW)
    for start in range(0, len(logs), _CHUNK):
        powers = np.exp(np.maximum(np.outer(logs[start : start + _CHUNK], counts), -_UNDERFLOW))
        slopes[start : start + _CHUNK] = powers @ first
        curves[start : start + _CHUNK] = powers[:, :-1] @ second
    rates = _TAILS[1:] * curves[:-1] / slopes[1:]
    return np.concatenate([[0.0], np.cumsum(rates)]) * _CELL, float(_TAILS[0] * second.sum() / slopes[0])


def _spread(tries: Tries, grown: Callable[[Reals], Reals]) -> float:
    """The most that a selection adds to a log-likelihood ratio: sup of ln f′(1 − u)/f′(1 − v), from above.

    u and v are the chances, on two neighbouring tables, that a try beats a given result: v is at most `grown` of u,
    which grows with u, and by a factor that falls. On a cell, that of its lower end is taken; how far ln f′ falls from
    u to v is a broken line in ln u then, greatest at an end of the cell or where v passes a tail.
    """
    falls, before = _falls(tries)
    places = np.log(_TAILS)
    growth = np.log(np.minimum(grown(_TAILS), 1.0)) - places + _LOST
    lower, upper, factor = places[:-1], places[1:], growth[:-1]
    passing = np.clip(np.ceil((lower + factor - places[0]) / _CELL) * _CELL + places[0] - factor, lower, upper)
    fallen = [np.interp(at + factor, places, falls) - np.interp(at, places, falls) for at in (lower, passing, upper)]
    from_nothing = before + float(np.interp(places[0] + growth[0], places, falls))
    return max(*(float(each.max()) for each in fallen), from_nothing, 0.0) * (1 + _LOST) + _LOST


def epsilon_of_best(tries: Tries, epsilon: Fraction) -> Fraction:
    """The pure ε of the best of some tries, each of pure `epsilon`, from above."""
    exact = float(epsilon) * (1 + _ROUGH)
    if exact > _UNDERFLOW:
        return tries.most * epsilon

    def grown(u: Reals) -> Reals:
        return np.minimum(math.exp(exact) * u, 1 - math.exp(-exact) * (1 - u))

    return min(epsilon + Fraction(_spread(tries, grown)), tries.most * epsilon)


def _gaussian_spread(tries: Tries, squared: Fraction) -> float:
    from scipy.special import ndtr, ndtri

    mu = math.sqrt(float(squared)) * (1 + _ROUGH)
    return _spread(tries, lambda u: ndtr(ndtri(u) + mu))


def delta_of_best(tries: Tries, squared: Fraction, epsilon: Fraction) -> Fraction:
    """A δ that the best of some tries has at `epsilon`, from above, if each try has μ² = `squared`; 1 at most."""
    rest = epsilon - Fraction(_gaussian_spread(tries, squared))
    if rest <= 0:
        return Fraction(1)
    return min(tries.mean * Fraction(MuLoss(squared).delta(rest)), Fraction(1))
