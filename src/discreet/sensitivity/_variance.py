"""The variance of numbers between public bounds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity._data import Bounds, adds_or_removes, clamped, interval, reach
from discreet.sensitivity._exact import integers, round_up
from discreet.sensitivity._statistic import Profile

__all__ = ["Variance"]

_WIDEST = 2.0**511
"""Squares of what is within it are floats."""


@dataclass(frozen=True, slots=True)
class Variance:
    """The population variance, the mean square distance to the mean; of no values, 0.

    Under substitution A(x, k) is exact. Under add/remove the local sensitivity (k = 0) is exact, and A(x, k) for
    k >= 1 is an UPPER BOUND, about twice the exact one at most while k is small beside n. Exact arithmetic, O(log n)
    for each k after O(n log n). Bounds are at most 2**511 apart, so that no variance is beyond the range of floats;
    otherwise `ParameterError`. Source: ``proofs/local_sensitivity.md``, Variance.

    >>> around = Variance().profile([0, 1, 1, 0], bounds=(0, 1), relation="substitute")
    >>> around.at_distance(0), around.at_distance(4)
    (0.08333333333333334, 0.1875)
    """

    def value(self, x: Any, bounds: Bounds) -> float:
        """The variance of the clamped values, the float nearest to it. SENSITIVE."""
        multiples, unit = integers(clamped(x, *_ends(bounds)))
        numbers = multiples.tolist()
        return float(_variance(len(numbers), sum(numbers), sum(each * each for each in numbers)) * unit**2)

    def global_sensitivity(self, bounds: Bounds, relation: Relation, n: int | None = None) -> float:
        """w² / 4 under add/remove; w² (n - 1) / n² under substitution, at n = 2 if not given; w = upper - lower."""
        lower, upper = (Fraction(each) for each in _ends(bounds))
        size = 2 if adds_or_removes(relation) or n is None else n
        return round_up((upper - lower) ** 2 * Fraction(size - 1, size**2)) if size > 0 else 0.0

    def profile(self, x: Any, bounds: Bounds, relation: Relation) -> Profile:
        """Local sensitivity around x at every distance; under add/remove an upper bound from k = 1 on. SENSITIVE."""
        lower, upper = _ends(bounds)
        values = np.sort(clamped(x, lower, upper))
        multiples, unit = integers(np.concatenate([[lower], values, [upper]]))
        low, *ordered, high = multiples.tolist()
        n = len(ordered)
        up = _Side(ordered, low, high, [0, *accumulate(ordered)])
        if not adds_or_removes(relation):
            return _substitute(up, unit)
        widest = Fraction((high - low) ** 2, 4)
        here = round_up(_here(up) * unit**2)

        def at_distance(k: int) -> float:
            if k == 0:
                return here
            bound = reach(up.sums, low, high, k + 1) ** 2 / (n - k) if k < n else widest
            return round_up(min(widest, bound) * unit**2)

        return Profile(at_distance, last=max(n, 1))


def _ends(bounds: Bounds) -> tuple[float, float]:
    lower, upper = interval(bounds)
    if upper - lower > _WIDEST:
        raise ParameterError(
            "the bounds of a variance must be at most 2**511 apart, or it may leave the range of floats; "
            "give narrower ones, or rescale"
        )
    return lower, upper


@dataclass(frozen=True, slots=True)
class _Side:
    """Sorted whole numbers between `low` and `high`, seen as data to push down, with their prefix sums."""

    ordered: list[int]
    low: int
    high: int
    sums: list[int]

    def mirrored(self) -> _Side:
        turned = [-each for each in reversed(self.ordered)]
        return _Side(turned, -self.high, -self.low, [0, *accumulate(turned)])

    def moves(self, k: int) -> Iterator[Fraction]:
        """How far substitution after k others can move the variance, in units of (n - 1) / n²: the candidates."""
        n, x, high, low, sums = len(self.ordered), self.ordered, self.high, self.low, self.sums
        if k >= 1:  # one of the k is the value that moves, put on the mean of the others
            yield (high - Fraction(sums[n - k] + (k - 1) * low, n - 1)) ** 2
        if k >= n:
            return
        rest = Fraction(sums[n - k - 1] + k * low, n - 1)
        yield (x[-1] - rest) ** 2  # the largest moves onto the mean of the others
        if k >= 1:
            yield (high - x[n - k]) * (high + x[n - k] - 2 * rest)
        total = sums[n - k] + k * low
        near = bisect_left(x, Fraction(high + total, n + 1), 0, n - k)
        for value in x[max(0, near - 1) : min(near + 1, n - k)]:  # one of those that stay moves to `high`
            yield (high - value) * (high + value - 2 * Fraction(total - value, n - 1))


def _substitute(up: _Side, unit: Fraction) -> Profile:
    n = len(up.ordered)
    if n < 2:
        return Profile(lambda _: 0.0, last=0)
    sides = (up, up.mirrored())
    scale = unit**2 * Fraction(n - 1, n**2)
    return Profile(lambda k: round_up(max(move for side in sides for move in side.moves(min(k, n))) * scale), last=n)


def _here(up: _Side) -> Fraction:
    """Local sensitivity under add/remove."""
    n, x = len(up.ordered), up.ordered
    if n == 0:
        return Fraction(0)
    mean = Fraction(up.sums[n], n)
    spread = _variance(n, up.sums[n], sum(each * each for each in x))
    farthest = max(up.high - mean, mean - up.low)
    moves = [spread / (n + 1), n * farthest**2 / (n + 1) ** 2 - spread / (n + 1)]
    if n >= 2:
        near = bisect_left(x, mean)
        values = (x[0], x[-1], *x[max(0, near - 1) : near + 1])
        moves += [abs(spread / (n - 1) - n * (value - mean) ** 2 / (n - 1) ** 2) for value in values]
    return max(moves)


def _variance(n: int, total: int, squares: int) -> Fraction:
    return Fraction(n * squares - total**2, n**2) if n else Fraction(0)
