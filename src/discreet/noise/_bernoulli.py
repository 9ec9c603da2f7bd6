"""Coins: exactly p for a rational p, and exactly exp(−x) for a rational x of any size.

Proof, with the error of the filter: ``proofs/noise.md``, section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.noise._blocks import FILTER_SLACK, below_exp, scaled_exp
from discreet.noise._exp import exp_bounds
from discreet.noise._source import BitSource, SecureBits
from discreet.noise._uniform import size_in_range
from discreet.rational import Number, rational

__all__ = ["bernoulli", "bernoulli_exp", "bernoulli_from", "quick_bernoulli_from"]

_WORD = 1 << 64
_CHUNK = 1 << 16
"""Decisions that are drawn at a time, so that their bits stay in the cache."""
_STEPS = 256
"""Quarters of x that the filter tells apart; from x = 64 on, exp(−x) is 0 to it."""


def bernoulli(p: Number, size: int) -> NDArray[np.bool_]:
    """`size` independent decisions, each true with probability exactly `p`; a float means its printed decimal.

    Costs no privacy by itself. Raises `ParameterError` unless 0 ≤ p ≤ 1 and `size` is a whole number, 0 or more.
    Source: ``proofs/noise.md``, section 7.

    >>> bernoulli(1, 2), bernoulli(0, 2)
    (array([ True,  True]), array([False, False]))
    """
    exact = rational(p, "p")
    if not 0 <= exact <= 1:
        raise ParameterError("p must be from 0 to 1")
    size, source = size_in_range(size), SecureBits()
    drawn = np.empty(size, dtype=np.bool_)
    for start in range(0, size, _CHUNK):
        part = drawn[start : start + _CHUNK]
        part[:] = quick_bernoulli_from(exact, part.size, source)
    return drawn


def bernoulli_exp(x: NDArray[np.float64], exact: Callable[[int], Fraction]) -> NDArray[np.bool_]:
    """Independent decisions: the i-th is true with probability exactly exp(−exact(i)), for exponents of 0 or more.

    Parameters
    ----------
    x
        For speed: each exponent as a float, wrong by at most 2**−50 · max(1, the exponent); it may be infinite where
        the exponent is above 1e308. It never enters the probability.
    exact
        The exponent of the i-th decision, asked for about twice in 2**30 decisions.

    Costs no privacy by itself. Raises `ParameterError` unless every x is 0 or more.
    Source: Canonne, Kamath and Steinke 2020, Algorithm 1 (the task); ``proofs/noise.md``, sections 5 and 6.

    >>> bernoulli_exp(np.array([0.0, 1e6]), [Fraction(0), Fraction(10**6)].__getitem__)
    array([ True, False])
    """
    if not bool((x >= 0).all()):
        raise ParameterError("bernoulli_exp takes exponents of 0 or more")
    return _bernoulli_exp(x, exact, SecureBits())


def quick_bernoulli_from(p: Fraction, size: int, source: BitSource) -> NDArray[np.bool_]:
    """U < p on the first 8 bits of U; where they are those of p, on the next ones."""
    threshold, rest = divmod(p * 256, 1)
    if threshold == 256:
        return np.ones(size, dtype=np.bool_)
    first = np.frombuffer(source.take(size), dtype=np.uint8)
    drawn = first < threshold
    if rest:
        tied = np.flatnonzero(first == threshold)
        drawn[tied] = bernoulli_from(rest, tied.size, source)
    return drawn


def bernoulli_from(p: Fraction, size: int, source: BitSource) -> NDArray[np.bool_]:
    """U < p on the first 64 bits of U; where they are those of p, on the next ones."""
    if p == 1:
        return np.ones(size, dtype=np.bool_)
    threshold, rest = divmod(p * _WORD, 1)
    word = np.frombuffer(source.take(8 * size), dtype="<u8")
    drawn = word < threshold
    if rest:
        for i in np.flatnonzero(word == threshold):
            drawn[i] = bernoulli_from(rest, 1, source)[0]
    return drawn


def _bernoulli_exp(
    x: NDArray[np.floating[Any]],
    exact: Callable[[int], Fraction],
    source: BitSource,
    slack: float = FILTER_SLACK,
) -> NDArray[np.bool_]:
    uniform = np.frombuffer(source.take(4 * x.size), dtype="<u4")
    margin = _scaled_exp_of_any(x)
    margin -= uniform
    accepted = margin >= slack + 1
    for i in np.flatnonzero(~accepted & (margin > -slack)):
        accepted[i] = below_exp(int(uniform[i]), 32, exact(int(i)), source)
    return accepted


def _scaled_exp_of_any(x: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """2**32 · exp(−x) for any x ≥ 0 with error below 2: exp(−m/4) from a table, times exp(−r) with r = x − m/4."""
    quarters = np.minimum(np.floor(4 * np.minimum(x, _STEPS)), _STEPS)
    rest = np.where(quarters < _STEPS, x - quarters / 4, 0.0)
    return scaled_exp(rest) * _powers()[quarters.astype(np.intp)]


@lru_cache(maxsize=1)
def _powers() -> NDArray[np.float64]:
    """exp(−m/4) to the nearest float or the one beside it, for m below `_STEPS`, and then a 0."""
    bits = 256
    lows = [exp_bounds(Fraction(m, 4), bits)[0] for m in range(_STEPS)]
    return np.array([*(float(Fraction(low, 1 << bits)) for low in lows), 0.0])
