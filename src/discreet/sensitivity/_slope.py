"""The slope of the least-squares line, kept between public bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity._data import Bounds, clamped, interval
from discreet.sensitivity._exact import integers, round_up
from discreet.sensitivity._line import Points
from discreet.sensitivity._relation import adds_or_removes
from discreet.sensitivity._slopes_nearby import SlopesNearby
from discreet.sensitivity._statistic import Profile

__all__ = ["Slope"]

_HERE = 1 + Fraction(1, 2**30)
_FARTHER = 1 + Fraction(1, 2**28)


@dataclass(frozen=True, slots=True)
class Slope:
    """The least-squares slope of y on x, clipped to `within`; the midpoint of `within` if all x are equal.

    Without the clip no finite local sensitivity exists within two steps of data whose x are nearly equal: two points
    can be as steep as one likes. So `within` is required, and its width is the global sensitivity.

    The data are a pair of columns (xs, ys) of equal length, the bounds a pair of pairs, of x and of y. The local
    sensitivity (k = 0) is exact up to a factor of 1 + 2**-29. A(x, k) for k >= 1 is an UPPER BOUND: within twice the
    exact one on ordinary data (four times under substitution), far above it on small or nearly flat data, never above
    the width of `within`. Exact arithmetic, O(n) for k = 0 and O(k) for k >= 1; slow, and meant for up to 10**5 rows.

    Parameters
    ----------
    within
        The public (lower, upper) of the answer, in units of y per unit of x.

    Raises `ParameterError` if `within` is not a range. Source: ``proofs/local_sensitivity.md``, Slope.

    >>> line = Slope(within=(-5, 5))
    >>> line.value(([0, 1, 2], [1, 3, 5]), bounds=((0, 2), (0, 10)))
    2.0
    >>> line.profile(([1], [1]), ((0, 2), (0, 10)), "add_remove").at_distance(0) < 5.000001
    True
    """

    within: Bounds

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", interval(self.within, "within"))

    def value(self, x: Any, bounds: tuple[Bounds, Bounds]) -> float:
        """The clipped slope, the float nearest to it. SENSITIVE."""
        points, unit = self._points(x, bounds)
        return float(points.slope() * unit)

    def global_sensitivity(self, bounds: tuple[Bounds, Bounds], relation: Relation, n: int | None = None) -> float:
        """The width of `within`; 0 under substitution in fewer than two points."""
        _pair(bounds)
        moves = adds_or_removes(relation) or n is None or n > 1
        lower, upper = interval(self.within)
        return round_up(Fraction(upper) - Fraction(lower)) if moves else 0.0

    def profile(self, x: Any, bounds: tuple[Bounds, Bounds], relation: Relation) -> Profile:
        """Local sensitivity around x at every distance; an upper bound from k = 1 on. SENSITIVE."""
        points, unit = self._points(x, bounds)
        n, adds = points.n, adds_or_removes(relation)
        if not adds and n < 2:
            return Profile(lambda _: 0.0, last=0)
        nearby = SlopesNearby.of(points, adds=adds)

        @cache
        def at_distance(k: int) -> float:
            exact = points.local(adds=adds) * _HERE if k == 0 else nearby.bound(k) * _FARTHER
            return round_up(min(points.upper - points.lower, exact) * unit)

        return Profile(at_distance, last=max(n - 2, 1))

    def _points(self, x: Any, bounds: tuple[Bounds, Bounds]) -> tuple[Points, Fraction]:
        """The data as whole numbers, and the unit of a slope between them."""
        sides = _pair(bounds)
        if not isinstance(x, tuple | list) or len(x) != 2:
            raise ParameterError("the data of a slope must be a pair of columns (xs, ys)")
        columns = [clamped(column, *side) for column, side in zip(x, sides, strict=True)]
        if len(columns[0]) != len(columns[1]):
            raise ParameterError("the two columns of a slope must have the same length")
        (xs, x_unit), (ys, y_unit) = (
            integers(np.concatenate([column, side])) for column, side in zip(columns, sides, strict=True)
        )
        unit = y_unit / x_unit
        lower, upper = (Fraction(each) / unit for each in interval(self.within))
        return Points(xs[:-2], ys[:-2], tuple(xs[-2:]), tuple(ys[-2:]), lower, upper), unit


def _pair(bounds: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds of a slope must be a pair, the bounds of x and the bounds of y")
    return interval(bounds[0], "bounds of x"), interval(bounds[1], "bounds of y")
