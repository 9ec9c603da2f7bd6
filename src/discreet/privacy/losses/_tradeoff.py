"""The constructor of trade-off functions: from a callable or a table to symmetric, convex corners."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._leaves import TradeoffLoss
from discreet.privacy.losses._validation import probability
from discreet.rational import Number

__all__ = ["tradeoff"]

Point = tuple[Fraction, Fraction]


def tradeoff(f: Callable[[float], float] | Iterable[tuple[Number, Number]]) -> Loss:
    """f-differential privacy: an adversary with type I error α has a type II error of at least f(α).

    `f` is a convex, decreasing function of α in [0, 1] with f(α) ≤ 1 − α, or a table of its corners (α, f(α)) from
    α = 0 on, joined by straight lines. Neighbours come in both orders, so the loss is the larger of f and its inverse
    (Dong, Roth and Su 2022, on symmetric trade-off functions). A callable is replaced by the prolonged chords between
    200 samples, which lie below a convex f and close to it, so the loss is never understated.

    Raises `ParameterError` if f is not convex, not decreasing, or leaves [0, 1 − α].

    >>> round(tradeoff([(0, 0.9), (0.2, 0.5), (0.9, 0)]).delta(0), 9)
    0.25
    """
    points = _sampled(f) if callable(f) else [(probability(a, "alpha"), probability(b, "beta")) for a, b in f]
    if len(points) < 2 or points[0][0] != 0:
        raise ParameterError("a trade-off table needs 2 points or more, the first of them at alpha 0")
    if points[-1][1] != 0:
        points = [*points, (Fraction(1), Fraction(0))]
    if any(b > 1 - a for a, b in points):
        raise ParameterError("a trade-off function must not exceed 1 - alpha: guessing at random achieves that")
    slopes = [_slope(p, q) for p, q in pairwise(points)]
    if any(slope > 0 for slope in slopes):
        raise ParameterError("a trade-off function must not increase with alpha, and alphas must increase")
    if any(s > t for s, t in pairwise(slopes)):
        raise ParameterError("a trade-off function must be convex: a mixture of two tests is a test")
    return TradeoffLoss(_symmetric(_corners(points)))


def _sampled(f: Callable[[float], float]) -> list[Point]:
    """Corners below a convex f: on each stretch the two neighbouring chords, prolonged, meet below f."""
    alphas = sorted(
        {0.0, 1.0, *(2.0 ** (-i / 4) / 2 for i in range(160)), *(1 - 2.0 ** (-i / 4) / 2 for i in range(160))}
    )
    values: list[Fraction] = []
    for alpha in alphas:
        value = f(alpha)
        if not isinstance(value, int | float) or not -1e-12 <= value <= 1 - alpha + 1e-12:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a trade-off function must lie between 0 and 1 - alpha, got {value!r} at {alpha!r}")
        # A function in floats is right to 1e-15 or so; what it may overstate is taken off.
        values.append(max(Fraction(0), Fraction(min(value, 1 - alpha)) - Fraction(1, 10**14)))
    points = list(zip(map(Fraction, alphas), values, strict=True))
    hull = _hull(points)
    if any(b - _at(hull, a) > Fraction(1, 10**9) for a, b in points):
        raise ParameterError("a trade-off function must be convex and decreasing in alpha")
    return _hull([*hull[:1], *_undercut(hull), hull[-1]])


def _undercut(points: list[Point]) -> list[Point]:
    """Between inner neighbours, where the chords on the left and on the right meet; at the ends, the chord beside."""
    corners: list[Point] = []
    for i in range(len(points) - 1):
        (a, fa), (b, fb) = points[i], points[i + 1]
        left = None if i == 0 else (points[i], _slope(points[i - 1], points[i]))
        right = None if i + 2 == len(points) else (points[i + 1], _slope(points[i + 1], points[i + 2]))
        if left is None and right is not None:
            corners.append((a, max(Fraction(0), fb - right[1] * (b - a))))
        elif right is None and left is not None:
            corners.append((b, max(Fraction(0), fa + left[1] * (b - a))))
        elif left is not None and right is not None and right[1] != left[1]:
            x = ((fb - right[1] * b) - (fa - left[1] * a)) / (left[1] - right[1])
            corners.append((x, max(Fraction(0), fa + left[1] * (x - a))))
    return corners


def _at(points: list[Point], alpha: Fraction) -> Fraction:
    """The straight line between corners; 0 past the last."""
    after = bisect_right(points, alpha, key=lambda point: point[0])
    if after == len(points):
        return points[-1][1] if alpha == points[-1][0] else Fraction(0)
    (a, fa), (b, fb) = points[after - 1], points[after]
    return fa + (fb - fa) * (alpha - a) / (b - a)


def _slope(p: Point, q: Point) -> Fraction:
    if q[0] <= p[0]:
        raise ParameterError("alphas of a trade-off table must increase")
    return (q[1] - p[1]) / (q[0] - p[0])


def _hull(points: list[Point]) -> list[Point]:
    """The lower convex hull, from left to right."""
    lowest: dict[Fraction, Fraction] = {}
    for a, b in points:
        lowest[a] = min(b, lowest.get(a, b))
    hull: list[Point] = []
    for point in sorted(lowest.items()):
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (point[0] - hull[-2][0]) >= (point[1] - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append(point)
    return hull


def _corners(points: list[Point]) -> list[Point]:
    """Without points inside a straight line, and ending at the first α where f is 0."""
    hull = _hull(points)
    while len(hull) > 1 and hull[-1][1] == hull[-2][1] == 0:
        hull.pop()
    return hull


def _symmetric(points: list[Point]) -> tuple[Point, ...]:
    """The larger of f and its inverse: corners of both, and where the two cross on a stretch."""
    inverse = _corners([(b, a) for a, b in points])
    if inverse[0][0] > 0:
        inverse = [(Fraction(0), inverse[0][1]), *inverse]
    cuts = sorted({a for a, _ in points} | {a for a, _ in inverse} | {Fraction(0)})
    corners: list[Point] = []
    for a, b in pairwise(cuts):
        left, right = _at(points, a) - _at(inverse, a), _at(points, b) - _at(inverse, b)
        corners.append((a, max(_at(points, a), _at(inverse, a))))
        if left * right < 0:
            x = a + (b - a) * left / (left - right)
            corners.append((x, _at(points, x)))
    last = cuts[-1]
    corners.append((last, max(_at(points, last), _at(inverse, last))))
    return tuple(_corners(corners))
