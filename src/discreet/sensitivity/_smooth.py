"""The maximum of exp(-beta k) A(k) over all k, and its rounding."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.rational import Number, rational
from discreet.sensitivity._statistic import Profile

__all__ = ["smooth_bound"]

_TURN = 2.0**-34
"""Taken off beta, so that what rounding adds, a factor of up to 1 + 2**-35, is paid for."""
_OUTWARD = 1 + 2.0**-36
_NEAR = 1 + 2.0**-40
_FLOOR = 2.0**-1000
_LEAST = Fraction(1, 10**8)


def smooth_bound(profile: Profile, beta: Number) -> float:
    """A beta-smooth upper bound of the local sensitivity; see `smooth`."""
    exact = rational(beta, "beta")
    if exact < _LEAST:
        raise ParameterError(f"beta must be {float(_LEAST)} or more, got {beta!r}")
    rate = math.nextafter(min(float(exact), 1e9) - _TURN, 0.0)
    top = profile.at_distance(profile.last)
    if top <= 0:
        return 0.0
    found = profile.smooth(rate) if profile.smooth else _greatest(profile, rate)
    return math.nextafter(max(found * _OUTWARD, _FLOOR * max(1.0, top)), math.inf)


def _greatest(profile: Profile, beta: float) -> float:
    """The maximum up to a factor of 1 + 2**-40, with few calls of A.

    A does not decrease, so on a <= k <= b nothing exceeds exp(-beta a) A(b); intervals are halved, best first.
    """
    top = profile.at_distance(profile.last)
    best = profile.at_distance(0)
    waiting: list[tuple[float, int, int, float]] = []
    first = 1
    while first <= profile.last and math.exp(-beta * first) * top > best * _NEAR:
        last = min(2 * first - 1, profile.last)
        end = profile.at_distance(last)
        best = max(best, math.exp(-beta * last) * end)
        heapq.heappush(waiting, (-math.exp(-beta * first) * end, first, last, end))
        first = last + 1
    while waiting and -waiting[0][0] > best * _NEAR:
        _, first, last, end = heapq.heappop(waiting)
        start = profile.at_distance(first)
        best = max(best, math.exp(-beta * first) * start)
        if start < end and first < last:
            middle = (first + last) // 2
            for a, b in ((first + 1, middle), (middle + 1, last)):
                if a <= b:
                    value = end if b == last else profile.at_distance(b)
                    best = max(best, math.exp(-beta * b) * value)
                    heapq.heappush(waiting, (-math.exp(-beta * a) * value, a, b, value))
    return best
