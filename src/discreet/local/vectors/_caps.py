"""How far a report slopes on average in the direction of its sender, and which sizes make that longest."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.local._estimate import Floats
from discreet.local._exp_epsilon import exp_epsilon

__all__ = ["MOST_CANDIDATES", "best_candidates", "best_likely", "largest_slope", "likely_share", "slope"]

MOST_CANDIDATES = 2**16

_ENOUGH = 1.02
_PARTS, _ENDS = 8, 40
"""The trapezoid rule has 8 points a standard deviation, and 40 of these on each side."""


def likely_share(epsilon: Fraction, candidates: int, likely: int) -> Fraction:
    """The probability that a report is drawn among the likely candidates: w(e^ε − 1) / (w(e^ε − 1) + N).

    Otherwise it is drawn among all candidates. So a likely one has `exp_epsilon`
    times the probability of another, exactly.
    """
    more = likely * (exp_epsilon(epsilon) - 1)
    return more / (more + candidates)


@lru_cache(maxsize=1024)
def slope(dimension: int, epsilon: Fraction, candidates: int, likely: int) -> float:
    """The mean of ⟨direction reported, sender's direction⟩.

    The candidates are pairs ±z; likely are those w that have the largest inner product, among which is one of a pair at
    most. Source: ``proofs/vectors.md``, section 3.

    >>> round(slope(1000, Fraction(4), 256, 17) ** -2, 2)
    441.55
    """
    return float(likely_share(epsilon, candidates, likely)) * _largest(dimension, candidates // 2, likely) / likely


def largest_slope(dimension: int, epsilon: Fraction) -> float:
    """That of any number of candidates: PrivUnit with the best cap. Source: Asi, Feldman and Talwar 2022, Section 3."""
    return _longest(dimension, float(exp_epsilon(epsilon) - 1))[0]


@lru_cache(maxsize=256)
def best_candidates(dimension: int, epsilon: Fraction) -> int:
    """The least power of two with which the error is within 2 % of that of `largest_slope`; 2**16 at most."""
    enough = largest_slope(dimension, epsilon) / math.sqrt(_ENOUGH)
    candidates = 2
    while candidates < MOST_CANDIDATES and _best(dimension, epsilon, candidates)[0] < enough:
        candidates *= 2
    return candidates


def best_likely(dimension: int, epsilon: Fraction, candidates: int) -> int:
    """How many likely candidates make the slope the largest."""
    return _best(dimension, epsilon, candidates)[1]


@lru_cache(maxsize=1024)
def _best(dimension: int, epsilon: Fraction, candidates: int) -> tuple[float, int]:
    """Climbs from the share of candidates that is best for any number of them."""
    pairs = candidates // 2
    near = round(candidates * _longest(dimension, float(exp_epsilon(epsilon) - 1))[1])
    likely = min(max(near, 1), pairs)
    best = slope(dimension, epsilon, candidates, likely), likely
    for step in (1, -1):
        while 1 <= best[1] + step <= pairs:
            other = slope(dimension, epsilon, candidates, best[1] + step), best[1] + step
            if other[0] <= best[0]:
                break
            best = other
    return best


@lru_cache(maxsize=256)
def _longest(dimension: int, more: float) -> tuple[float, float]:
    """The largest slope of caps, and the share of the sphere that this cap has."""
    shares = np.exp(np.linspace(math.log(1e-12), math.log(0.5), 20_001))
    slopes = more * _cap(dimension)(2 * shares) / 2 / (shares * more + 1)
    best = int(slopes.argmax())
    return float(slopes[best]), float(shares[best])


def _largest(dimension: int, pairs: int, likely: int) -> float:
    """The mean sum of the w largest of `pairs` numbers |⟨z, u⟩|: pairs·E[cap(V)], V the w-th least of pairs − 1 shares.

    V has the distribution Beta(w, pairs − w), and the integral is taken over its log-odds.
    """
    from scipy.special import expit, log_expit  # pyright: ignore[reportMissingTypeStubs]

    rest, cap = pairs - likely, _cap(dimension)
    if rest == 0:
        return pairs * float(cap(np.ones(1))[0])
    step = math.sqrt(1 / likely + 1 / rest) / _PARTS
    x = math.log(likely / rest) + step * np.arange(-_ENDS * _PARTS, _ENDS * _PARTS + 1)
    heights = likely * log_expit(x) + rest * log_expit(-x)
    weights = np.exp(heights - heights.max())
    return pairs * float(weights @ cap(expit(x)) / weights.sum())


def _cap(dimension: int) -> Callable[[Floats], Floats]:
    """E[|s|; |s| is among its largest], for shares v of the sphere that are largest, s the first coordinate.

    It is c·(1 − t²)^((d − 1)/2) with t the quantile of |s| at 1 − v, and c = E|s| = B(d/2, 1/2)/π.
    """
    from scipy.special import beta, betaincinv  # pyright: ignore[reportMissingTypeStubs]

    if dimension == 1:
        return lambda shares: shares
    power = (dimension - 1) / 2
    mean = float(beta(dimension / 2, 0.5)) / math.pi
    return lambda shares: mean * betaincinv(power, 0.5, shares) ** power
