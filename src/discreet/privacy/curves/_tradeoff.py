"""Trade-off functions: from corners to a pair of finite distributions, and to a curve."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from discreet.privacy.curves._base import Curve
from discreet.privacy.curves._finite import pair_curve

__all__ = ["tradeoff_curve", "tradeoff_pair"]

Point = tuple[Fraction, Fraction]


def tradeoff_pair(points: tuple[Point, ...]) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """P and Q whose best tests are these corners: on a stretch P loses what α gains, Q what β loses.

    >>> tradeoff_pair(((Fraction(0), Fraction(3, 4)), (Fraction(3, 4), Fraction(0))))[0]
    (Fraction(0, 1), Fraction(3, 4), Fraction(1, 4))
    """
    first, last = points[0], points[-1]
    p = [Fraction(0), *(b[0] - a[0] for a, b in pairwise(points)), 1 - last[0]]
    q = [1 - first[1], *(a[1] - b[1] for a, b in pairwise(points)), Fraction(0)]
    return tuple(p), tuple(q)


def tradeoff_curve(points: tuple[Point, ...]) -> Curve:
    """The exact curve of a table of corners."""
    import numpy as np

    p, q = tradeoff_pair(points)
    ratios = [math.inf if b == 0 else -math.inf if a == 0 else _log(a / b) for a, b in zip(p, q, strict=True)]
    return pair_curve(np.array([float(each) for each in p]), np.array(ratios), 2.0**-46)


def _log(value: Fraction) -> float:
    return math.log1p(float(value - 1)) if Fraction(1, 2) < value < 2 else math.log(float(value))
