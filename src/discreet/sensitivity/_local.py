"""Local sensitivity, at a distance, smoothed, and the distance at which it gets large: for any statistic."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.rational import Number, rational
from discreet.sensitivity._data import adds_or_removes
from discreet.sensitivity._exact import round_up
from discreet.sensitivity._registry import statistic as named
from discreet.sensitivity._statistic import Profile, Statistic

__all__ = ["at_distance", "distance", "local", "smooth", "smooth_bound"]


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
    greatest = profile.smooth(rate) if profile.smooth else _greatest(profile, rate)
    return math.nextafter(max(greatest * _OUTWARD, _FLOOR * max(1.0, top)), math.inf)


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


def local(statistic: str | Statistic, x: Any, *, bounds: Any = None, relation: Relation = "add_remove") -> float:
    """Local sensitivity: how far the statistic of x can be from that of a neighbour of x. SENSITIVE.

    Noise scaled to it is not private: its scale tells about x. It is here to be looked at and to be smoothed.

    Parameters
    ----------
    statistic
        A name for `discreet.sensitivity.statistic`, such as ``"median"``, or a `Statistic`.
    x
        The data: a sequence, a NumPy or Arrow array, of numbers unless the statistic says otherwise. Values are
        clamped to the bounds; what is no number counts as the lower bound.
    bounds
        The public (lower, upper) of the data.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``.

    Returns a float in the unit of the statistic, rounded up. Raises `ParameterError` for a public argument out of its
    range, never because of a value in x. Source: Nissim, Raskhodnikova and Smith 2007, definition 2.1.

    >>> local("mean", [0, 0, 1], bounds=(0, 1), relation="substitute") * 3
    1.0
    """
    return _profile(statistic, x, bounds, relation).at_distance(0)


def at_distance(
    statistic: str | Statistic, x: Any, k: int, *, bounds: Any = None, relation: Relation = "add_remove"
) -> float:
    """A(x, k): the largest local sensitivity of any data set within k steps of x. SENSITIVE.

    k is a whole number of steps, 0 or more; the other arguments, what is returned and raised as for `local`. Some
    statistics bound it from above and say so. Source: Nissim, Raskhodnikova and Smith 2007, definition 3.1.

    >>> [at_distance("median", [0.5], k, bounds=(0, 1)) for k in range(3)]
    [0.5, 0.5, 1.0]
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"k must be a whole number of steps, 0 or more, got {k!r}")
    profile = _profile(statistic, x, bounds, relation)
    return profile.at_distance(min(k, profile.last))


def smooth(
    statistic: str | Statistic, x: Any, beta: Number, *, bounds: Any = None, relation: Relation = "add_remove"
) -> float:
    """Smooth sensitivity: S, the maximum over all k >= 0 of exp(-beta k) A(x, k). SENSITIVE.

    A noise scale made of it is SENSITIVE too: never print it. What is returned is at least S and at least the local
    sensitivity, and as it stands, a float, it is beta-smooth: at most e**beta times what is returned for a neighbour.
    For that it is computed with beta less 2**-34 and rounded up, so it is at most (1 + 2**-35) exp(k 2**-33) S, k being
    a distance at which that maximum is attained; or it is a floor, 2**-1000 times the largest sensitivity or 1.

    Parameters
    ----------
    beta
        How much the logarithm of S may change per step: 1e-8 or more, public.

    The other arguments, and what is raised, as for `local`. O(n log n) for means, medians and other quantiles.
    Source: Nissim, Raskhodnikova and Smith 2007, definition 2.2 and lemma 2.3; Rounding in
    ``proofs/local_sensitivity.md``.

    >>> s = smooth("median", [0.5], beta=0.1, bounds=(0, 1))
    >>> round(s, 6) == round(math.exp(-0.2), 6)
    True
    """
    return smooth_bound(_profile(statistic, x, bounds, relation), beta)


def distance(
    statistic: str | Statistic, x: Any, bound: Number, *, bounds: Any = None, relation: Relation = "add_remove"
) -> float:
    """The fewest steps from x to a data set whose local sensitivity exceeds `bound`. SENSITIVE.

    This is the number that propose-test-release tests. It changes by at most 1 between neighbours, also when it is
    computed. Exact where A(x, k) is; where that is an upper bound, it is at most the number.

    Parameters
    ----------
    bound
        The proposed sensitivity, public, 0 or more, in the unit of the statistic; rounded down to a float.

    Returns a whole number as a float, or infinity if there is no such data set. The other arguments, and what is
    raised, as for `local`. Source: Dwork and Lei 2009, section 4; ``proofs/local_sensitivity.md``, Distance.

    >>> distance("mean", [0, 1] * 50, bound=1 / 64, bounds=(0, 1))
    43.0
    """
    exact = rational(bound, "bound")
    proposed = -round_up(-exact)
    if exact < 0:
        raise ParameterError(f"bound must be 0 or more, got {bound!r}")
    profile = _profile(statistic, x, bounds, relation)
    if profile.at_distance(profile.last) <= proposed:
        return math.inf
    low, high = 0, profile.last
    while low < high:
        middle = (low + high) // 2
        if profile.at_distance(middle) > proposed:
            high = middle
        else:
            low = middle + 1
    return float(low)


def _profile(statistic: str | Statistic, x: Any, bounds: Any, relation: Relation) -> Profile:
    adds_or_removes(relation)
    return named(statistic).profile(x, bounds, relation)
