"""How far one step can move the slope of any data within k steps, from above."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.sensitivity._line import Points
from discreet.sensitivity._reach import reach

__all__ = ["SlopesNearby"]


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
    def of(cls, points: Points, *, adds: bool) -> SlopesNearby:
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

    def _least_spread(self, kept: int) -> Fraction:
        """The least sum of squares of x about their mean over `kept` of the points; 0 for fewer than two."""
        if kept < 2:
            return Fraction(0)
        sums, squares = np.array(self.x, dtype=object), self.squares
        spreads = kept * (squares[kept:] - squares[:-kept]) - (sums[kept:] - sums[:-kept]) ** 2
        return Fraction(int(spreads.min()), kept)


def _prefix(values: list[int]) -> list[int]:
    return [0, *accumulate(values)]
