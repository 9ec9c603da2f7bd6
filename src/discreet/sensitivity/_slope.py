"""The slope of the least-squares line, kept between public bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.privacy import Relation
from discreet.sensitivity._data import Bounds, adds_or_removes, clamped, interval, reach
from discreet.sensitivity._exact import integers, round_up
from discreet.sensitivity._statistic import Profile

__all__ = ["Points", "Slope", "SlopesNearby"]


_FINE = 60
"""Bits below the unit of x for the place of an added point."""
_FLAT = 2.0**-900


@dataclass(frozen=True, slots=True)
class Points:
    """Points with whole coordinates (Python ints), their bounds, and the range that a slope is clipped to."""

    x: NDArray[Any]
    y: NDArray[Any]
    x_bounds: tuple[int, int]
    y_bounds: tuple[int, int]
    lower: Fraction
    upper: Fraction

    @property
    def n(self) -> int:
        return len(self.x)

    @property
    def x_width(self) -> int:
        return self.x_bounds[1] - self.x_bounds[0]

    @property
    def y_width(self) -> int:
        return self.y_bounds[1] - self.y_bounds[0]

    def slope(self) -> Fraction:
        """The clipped slope; the midpoint of the range if all x are equal."""
        return self._clipped(self._moments())

    def local(self, *, adds: bool) -> Fraction:
        """Local sensitivity, under add/remove or else under substitution."""
        here = self.slope()
        reached = [each for base in self._bases(adds=adds) for each in base]
        return max((abs(each - here) for each in reached), default=Fraction(0))

    def _bases(self, *, adds: bool) -> Iterator[Iterator[Fraction]]:
        moments = self._moments()
        if adds:
            yield self._with_a_point(moments)
        for x, y in zip(self.x.tolist(), self.y.tolist(), strict=True):
            rest = moments.without(x, y)
            yield iter((self._clipped(rest),)) if adds else self._with_a_point(rest)

    def _with_a_point(self, rest: _Moments) -> Iterator[Fraction]:
        """The slopes that one point more can give at the extremes, clipped."""
        if not rest.n:
            return
        yield self._clipped(rest)  # a point right above or below the mean of the x
        if not rest.spread or rest.spread / (rest.n * self.x_width) ** 2 < _FLAT:
            yield from self._with_a_point_beside(rest)
            return
        for b in self.y_bounds:
            for a in self._places(rest, b):
                yield self._clipped(rest.finer().with_point(a, b << _FINE))

    def _with_a_point_beside(self, rest: _Moments) -> Iterator[Fraction]:
        """The same when the x are all equal, or as good as: the line through their mean and the point."""
        for a in self.x_bounds:
            for b in self.y_bounds:
                side, step = a * rest.n - rest.x, b * rest.n - rest.y
                if side and step:
                    yield self.upper if (side > 0) == (step > 0) else self.lower
                elif side:
                    yield min(max(Fraction(0), self.lower), self.upper)

    def _places(self, rest: _Moments, b: int) -> Iterator[int]:
        """Where to add a point of height b: the ends, and where the slope is stationary in x; in fine units."""
        left, right = (each << _FINE for each in self.x_bounds)
        yield left
        yield right
        n, width = rest.n, self.x_width
        spread = rest.spread / (n * width) ** 2
        slant = rest.slant / (n * n * width * self.y_width)
        height = (b * n - rest.y) / (n * self.y_width)
        root = abs(slant) + math.sqrt(slant**2 + height**2 * spread / (n + 1))
        signed = math.copysign(1.0, slant)
        for step, over in ((signed * height * spread, root), (-signed * (n + 1) * root, height)):
            if over:
                moved = min(max(step / over, -1.0), 1.0)
                place = (rest.x << _FINE) // n + (int(math.ldexp(moved, 120)) * (width << _FINE) >> 120)
                yield min(max(place, left), right)

    def _clipped(self, moments: _Moments) -> Fraction:
        if not moments.spread:
            return (self.lower + self.upper) / 2
        return min(max(Fraction(moments.slant, moments.spread), self.lower), self.upper)

    def _moments(self) -> _Moments:
        xs, ys = self.x.tolist(), self.y.tolist()
        products = sum(x * y for x, y in zip(xs, ys, strict=True))
        return _Moments(len(xs), sum(xs), sum(ys), sum(x * x for x in xs), products)


@dataclass(frozen=True, slots=True)
class _Moments:
    """The number of points, and the sums of x, y, x² and x y."""

    n: int
    x: int
    y: int
    xx: int
    xy: int

    @property
    def spread(self) -> int:
        """The sum of squares of x about its mean, times n."""
        return self.n * self.xx - self.x**2

    @property
    def slant(self) -> int:
        """The sum of products of x and y about their means, times n; slant / spread is the slope."""
        return self.n * self.xy - self.x * self.y

    def with_point(self, x: int, y: int) -> _Moments:
        return _Moments(self.n + 1, self.x + x, self.y + y, self.xx + x * x, self.xy + x * y)

    def without(self, x: int, y: int) -> _Moments:
        return _Moments(self.n - 1, self.x - x, self.y - y, self.xx - x * x, self.xy - x * y)

    def finer(self) -> _Moments:
        """The same points in units 2**-60 as large, which leaves slopes as they are."""
        twice = 2 * _FINE
        return _Moments(self.n, self.x << _FINE, self.y << _FINE, self.xx << twice, self.xy << twice)


@dataclass(frozen=True, slots=True)
class SlopesNearby:
    """Points, their slope, and the prefix sums of their xs, of the squares of those, and of their ys, each sorted."""

    points: Points
    slope: Fraction
    adds: bool
    x: list[int]
    squares: NDArray[Any]
    y: list[int]

    @classmethod
    def around(cls, points: Points, *, adds: bool) -> SlopesNearby:
        xs = sorted(points.x.tolist())
        squares = np.array(_prefix([each * each for each in xs]), dtype=object)
        return cls(points, points.slope(), adds, _prefix(xs), squares, _prefix(sorted(points.y.tolist())))

    def bound(self, k: int) -> Fraction:
        """Source: ``proofs/local_sensitivity.md``, Slope."""
        points = self.points
        width = points.upper - points.lower
        spread = self._least_spread(points.n - k - 1)
        if not spread:
            return width
        steepest = max(abs(points.upper), abs(points.lower))
        step = min(width, points.x_width * (points.y_width + steepest * points.x_width) / spread)
        steps = k + 1 if self.adds else 2 * k + 1
        steepest = min(steepest, abs(self.slope) + steps * step)
        x = reach(self.x, *points.x_bounds, k + 1)
        y = reach(self.y, *points.y_bounds, k + 1)
        return x * (y + steepest * x) / spread * (1 if self.adds else 2)

    def _least_spread(self, remaining: int) -> Fraction:
        """The least sum of squares of x about their mean over `remaining` of the points; 0 for fewer than two."""
        if remaining < 2:
            return Fraction(0)
        sums, squares = np.array(self.x, dtype=object), self.squares
        spreads = remaining * (squares[remaining:] - squares[:-remaining]) - (sums[remaining:] - sums[:-remaining]) ** 2
        return Fraction(int(spreads.min()), remaining)


def _prefix(values: list[int]) -> list[int]:
    return [0, *accumulate(values)]


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
        nearby = SlopesNearby.around(points, adds=adds)

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
