"""A pair of finite distributions that dominates a certified curve."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.privacy._curves import Curve

if TYPE_CHECKING:
    from discreet.privacy._pld import Pair

__all__ = ["pair_above"]

_LOG_FLOOR = -300.0  # what a dominating pair leaks outright: a factor of 1e-130
_KNOTS = 600


def pair_above(curve: Curve) -> Pair:
    """A symmetric finite pair that dominates a curve: connect the dots (Doroshenko et al. 2022, Section 3).

    δ as a function of x = e^ε is convex; δ(−ε) = 1 − e^{−ε}(1 − δ(ε)) by symmetry. The upper values at knots, exact
    fractions, have a convex hull from below that is still above δ at every knot, for δ itself is convex and below the
    values. Slopes of the hull are the masses of Q; what is left at the last knot is P's mass of infinite loss.
    """
    import numpy as np

    from discreet.privacy._pld import FinitePair

    top = min(curve.epsilon((_LOG_FLOOR, _LOG_FLOOR))[1], 300.0)
    points: list[tuple[Fraction, Fraction]] = [(Fraction(0), Fraction(1))]
    for j in range(_KNOTS + 1):
        x = math.exp(top * (j / _KNOTS) ** 2)
        ratio = Fraction(x)
        delta = Fraction(min(1.0, math.exp(curve.log_delta(math.log(x) * (1 - 2.0**-46))[1]) * (1 + 2.0**-46)))
        points.append((ratio, delta))
        points.append((1 / ratio, 1 - (1 - delta) / ratio))
    hull = _hull(sorted(set(points)))
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(hull)]
    q = [1 + slopes[0], *(right - left for left, right in pairwise(slopes)), -slopes[-1]]
    p = [x * mass for (x, _), mass in zip(hull, q, strict=True)]
    with np.errstate(divide="ignore"):
        return FinitePair((*p, hull[-1][1]), (*q, Fraction(0)))


def _hull(points: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    hull: list[tuple[Fraction, Fraction]] = []
    for x, y in points:
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((x, y))
    return hull
