"""Least-squares slopes in whole numbers, and how steep one point more, less or other can make them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

__all__ = ["Points"]

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
