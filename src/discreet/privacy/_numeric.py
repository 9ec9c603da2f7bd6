"""From a loss to the pairs of distributions that the numeric core composes.

Where no pair is exact, one that dominates is built from the certified curve of the loss, and for the lower end one of a
release that has the loss. Valid for leaves fixed in advance (Zhu, Dong and Wang 2022, Theorem 10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.privacy._closed import closed_curve
from discreet.privacy._combinators import Sampled
from discreet.privacy._curves import Bounds, Curve, leaking
from discreet.privacy._loss import Loss
from discreet.privacy._nodes import (
    Approx,
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    Mu,
    NonAdaptive,
    Pure,
    RandomizedResponse,
    Rdp,
    Rho,
    Tradeoff,
)
from discreet.privacy._normal import Normal, normal
from discreet.privacy._renyi import RenyiCurve, renyi_curve
from discreet.privacy._rounding import up
from discreet.privacy._tradeoffs import tradeoff_pair

if TYPE_CHECKING:
    from discreet.privacy._pld import Pair

    Parts = list[tuple[Pair, int]]

__all__ = ["combined_curve", "numeric_curve"]

_LOG_FLOOR = -300.0  # what a dominating pair leaks outright: a factor of 1e-130
_KNOTS = 600
_LOG_TINY = -250.0
_LOG_LEAST = -667.0  # ln of the least δ that numbers are asked for
_FEW = 50
_COARSE = 1e-6  # how far a bisection goes whose every step reads a composition


def numeric_curve(form: Normal, gap: float, *, upper: bool = False) -> Curve:
    """The composition of a plain form by privacy-loss distributions, beside what Rényi divergences say of it.

    With `upper` its lower ends say nothing: then a composition is read at many points, and is as tight as it can be.
    """
    high = _parts(form.items, upper=True)
    low = high if upper else _parts(form.items, upper=False)
    pairs: Curve = _Uppers(high) if upper else _Pairs(high, high if low == high else low, gap)
    # Rényi divergences help leaves without an exact pair, if these are few, and where δ is below all floats.
    exact = low == high and all(_pair(leaf, upper=True) for leaf, _ in form.items)
    if len(form.items) > _FEW:
        return leaking(pairs, form.log_kept)
    return leaking(Numeric(renyi_curve(form.items), pairs, exact), form.log_kept)


def combined_curve(form: Normal, gap: float, *, upper: bool = False) -> Curve | None:
    """The curve of a single combinator over a composition that is itself numeric; None for anything else."""
    if len(form.items) != 1 or form.items[0][1] != 1:
        return None
    inner = _inner(form.items[0][0], gap, upper=upper)
    return None if inner is None else leaking(inner, form.log_kept)


@dataclass(frozen=True, slots=True)
class Numeric:
    """Rényi divergences and numbers side by side; numbers are not asked where δ is below e^{−250} anyway."""

    renyi: RenyiCurve
    pairs: Curve
    exact: bool

    def log_delta(self, eps: float) -> Bounds:
        """A bracket of ln δ at ε."""
        if self.exact:
            low, high = self.pairs.log_delta(eps)
            if high > _LOG_TINY:
                return low, high
        ceiling = self.renyi.log_delta(eps)[1]
        if ceiling < _LOG_TINY:
            return -math.inf, ceiling
        low, high = self.pairs.log_delta(eps)
        return min(low, ceiling), min(high, ceiling)

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A bracket of ε."""
        if self.exact and log_delta[0] > _LOG_LEAST:
            return self.pairs.epsilon(log_delta)
        ceiling = self.renyi.epsilon(log_delta)[1]
        low, high = self.pairs.epsilon(log_delta)
        return min(low, ceiling), min(high, ceiling)


class _Uppers:
    """Upper ends only, from few compositions."""

    def __init__(self, parts: Parts) -> None:
        from discreet.privacy._pld import Profile

        self._profile = Profile(parts)

    def log_delta(self, eps: float) -> Bounds:
        """Nothing, and an upper bound of ln δ at ε."""
        return -math.inf, _log(self._profile.delta(eps))

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """Nothing, and an upper bound of ε."""
        if log_delta[0] < _LOG_LEAST:
            return 0.0, math.inf
        return 0.0, self._profile.epsilon(_delta_at(log_delta))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The curve of two compositions: one that dominates, one that is attained."""

    high: Parts
    low: Parts
    gap: float

    def log_delta(self, eps: float) -> Bounds:
        """A bracket of ln δ at ε."""
        from discreet.privacy._pld import delta_bounds

        low, high = delta_bounds(self.high, eps, self.gap)
        if self.low is not self.high:
            low = delta_bounds(self.low, eps, self.gap)[0] if self.low else 0.0
        return _log(low), _log(high)

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A bracket of ε. The lower end holds at the δ that the float stands for, and a little above."""
        from discreet.privacy._pld import epsilon_bounds

        if log_delta[0] < _LOG_LEAST:
            return 0.0, math.inf
        low, high = epsilon_bounds(self.high, _delta_at(log_delta), self.gap)
        if self.low is not self.high:
            low = epsilon_bounds(self.low, _delta_at(log_delta), self.gap)[0] if self.low else 0.0
        elif log_delta[1] - log_delta[0] > 1e-12:
            low = epsilon_bounds(self.low, math.exp(log_delta[1]), self.gap)[0]
        return low, high


def _delta_at(log_delta: Bounds) -> float:
    """δ as a float, rounded down by 1e-12 of it."""
    return math.exp(log_delta[0]) * (1 - 2.0**-45)


def _parts(items: Iterable[tuple[Loss, int]], *, upper: bool) -> Parts:
    parts: Parts = []
    concentrated: list[tuple[Loss, int]] = []
    for leaf, count in items:
        if isinstance(leaf, Rho | Rdp):
            concentrated.append((leaf, count))
        elif isinstance(leaf, NonAdaptive) and not upper:
            parts.extend((pair, count * leaf.count) for pair in _pair(BoundedRange(leaf.eps), upper=False))
        else:
            pair = _pair(leaf, upper=upper)
            if pair:
                parts.extend((each, count) for each in pair)
            elif upper:
                parts.append(_dominating(leaf, count))
    if concentrated:
        curve = closed_curve(Normal(tuple(concentrated), ()))
        if curve is not None and upper:
            parts.append((_pair_above(curve), 1))
        elif not upper:
            squared = sum(n * (2 * leaf.r if isinstance(leaf, Rho) else 0) for leaf, n in concentrated)
            parts.extend((pair, 1) for pair in _pair(Mu(Fraction(squared)), upper=False) if squared)
    return parts


@lru_cache(maxsize=4096)
def _pair(leaf: Loss, *, upper: bool) -> tuple[Pair, ...]:
    """The pair of one leaf; empty if there is none. The core allows for parameters that are off by a few round-offs."""
    from discreet.privacy._pld import (
        FinitePair,
        GaussianPair,
        LaplacePair,
        approximate_pair,
        bounded_range_pair,
        discrete_gaussian_pair,
        discrete_laplace_pair,
        response_pair,
    )

    match leaf:
        case Pure(eps):
            return (approximate_pair(up(eps)),)
        case Approx(eps, delta):
            return (approximate_pair(up(eps), delta),)
        case RandomizedResponse(p, k):
            return (response_pair(p, k),)
        case BoundedRange(eps):
            return (approximate_pair(up(eps)) if upper else bounded_range_pair(float(eps), float(eps) / 2),)
        case Tradeoff(points):
            return (FinitePair(*tradeoff_pair(points)),)
        case Mu(squared, _) if squared > 0:
            return (GaussianPair(1 / math.sqrt(float(squared))),)
        case Laplace(scale):
            return (LaplacePair(float(scale)),)
        case DiscreteLaplace(scale, sensitivity):
            return (discrete_laplace_pair(float(scale), sensitivity),)
        case DiscreteGaussian(sigma, sensitivity) if sigma < 20_000:
            return (discrete_gaussian_pair(float(sigma), sensitivity),)
        case Sampled():
            return _sample(leaf, upper=upper)
        case _:
            return ()


def _sample(leaf: Sampled, *, upper: bool) -> tuple[Pair, ...]:
    from discreet.privacy._pld import (
        FinitePair,
        GaussianPair,
        LaplacePair,
        discrete_gaussian_pair,
        discrete_laplace_pair,
    )

    match leaf:
        case Sampled(rate, "poisson", Mu(squared, _)):
            return (GaussianPair(1 / math.sqrt(float(squared)), float(rate)),)
        case Sampled(rate, "poisson", Laplace(scale)):
            return (LaplacePair(float(scale), float(rate)),)
        case Sampled(rate, "poisson", DiscreteLaplace(scale, sensitivity)):
            return (discrete_laplace_pair(float(scale), sensitivity, float(rate)),)
        case Sampled(rate, "poisson", DiscreteGaussian(sigma, sensitivity)) if sigma < 20_000:
            return (discrete_gaussian_pair(float(sigma), sensitivity, float(rate)),)
        case Sampled(rate, "poisson", (Pure() | Approx() | BoundedRange() | Tradeoff()) as term):
            return tuple(
                _sampled(pair, float(rate)) for pair in _pair(term, upper=upper) if isinstance(pair, FinitePair)
            )
        case Sampled(rate, "without_replacement", term) if not upper:
            # Attained: all other records are equal, so whether the one is in the sample is all that matters.
            return _pair(Sampled(rate, "poisson", term), upper=False)
        case _:
            return ()


def _sampled(pair: Pair, rate: float) -> Pair:
    """(1−q)Q + qP against Q, for the removal of a record."""
    from discreet.privacy._pld import FinitePair

    if not isinstance(pair, FinitePair):
        return pair
    p = tuple((1 - rate) * float(b) + rate * float(a) for a, b in zip(pair.p, pair.q, strict=True))
    return FinitePair(p, tuple(float(b) for b in pair.q), error=pair.error + 2.0**-49)


def _dominating(leaf: Loss, count: int) -> tuple[Pair, int]:
    together = closed_curve(Normal(((leaf, count),), ())) if count > 1 else None
    if together is not None:
        return _pair_above(together), 1
    alone = closed_curve(Normal(((leaf, 1),), ()))
    if alone is None:
        alone = _inner(leaf, 1e-3, upper=True) or renyi_curve(((leaf, 1),))
    return _pair_above(alone), count


def _inner(leaf: Loss, gap: float, *, upper: bool) -> Curve | None:
    from discreet.privacy._amplified import grouped_curve, sampled_curve
    from discreet.privacy._combinators import Group, Parallel
    from discreet.privacy._curves import either

    def of(term: Loss, *, upper: bool = upper) -> Curve:
        form = normal(term)
        closed = closed_curve(form) or combined_curve(form, gap, upper=upper)
        return closed or numeric_curve(form, gap, upper=upper)

    match leaf:
        case Sampled(rate, _, term):
            return sampled_curve(of(term), rate, attained=False)
        case Group(k, term):
            return grouped_curve(of(term), k, of(term, upper=True), tolerance=_COARSE)
        case Parallel(terms, _):
            return either(*map(of, terms))
        case _:
            return None


def _pair_above(curve: Curve) -> Pair:
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


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
