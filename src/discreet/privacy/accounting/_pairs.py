"""The pair of distributions of one leaf: exact, or above it, or attained by a release that has the loss."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import as_rho
from discreet.privacy.accounting._canonical import canonical_form
from discreet.privacy.curves._base import Curve
from discreet.privacy.curves._rounding import down, up
from discreet.privacy.curves._tradeoff import tradeoff_pair
from discreet.privacy.losses._base import GroupLoss, Loss, ParallelLoss, SampledLoss
from discreet.privacy.losses._leaves import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    LaplaceLoss,
    MuLoss,
    PureLoss,
    RandomizedResponseLoss,
    RhoLoss,
    TradeoffLoss,
)

if TYPE_CHECKING:
    from discreet.privacy.pld import FinitePair, Pair

__all__ = ["pair_above", "pairs_of"]


_MOST_LOSS = 600
_MOST_ATOMS = 100_000
_NEARLY_ALL = Fraction(1, 10**6)
_WIDEST = 20_000  # sigma of a discrete Gaussian whose masses are listed


@lru_cache(maxsize=4096)
def pairs_of(leaf: Loss, *, upper: bool) -> tuple[Pair, ...]:
    """The pair of one leaf; empty if there is none. The core allows for parameters that are off by a few round-offs."""
    from discreet.privacy.pld import FinitePair, approximate_pair, bounded_range_pair, response_pair

    match leaf:
        case PureLoss(eps) | ApproxLoss(eps, _) if eps > _MOST_LOSS:
            return (FinitePair((1, 0), (0, 1)) if upper else approximate_pair(_MOST_LOSS),)
        case PureLoss(eps):
            return (approximate_pair(up(eps)),)
        case ApproxLoss(eps, delta):
            return (approximate_pair(up(eps), delta),)
        case RandomizedResponseLoss(p, k):
            return (response_pair(p, k),)
        case BoundedRangeLoss(eps) if upper:
            return (approximate_pair(up(eps)),)
        case BoundedRangeLoss(eps) if eps < _MOST_LOSS:
            return (bounded_range_pair(float(eps), float(eps) / 2),)
        case TradeoffLoss(points):
            return (FinitePair(*tradeoff_pair(points)),)
        case SampledLoss(rate, "poisson", (PureLoss() | ApproxLoss() | BoundedRangeLoss() | TradeoffLoss()) as term):
            return tuple(
                _sampled(pair, _rate(rate, upper=upper))
                for pair in pairs_of(term, upper=upper)
                if isinstance(pair, FinitePair)
            )
        case SampledLoss(
            rate, "poisson", MuLoss() | LaplaceLoss() | DiscreteLaplaceLoss() | DiscreteGaussianLoss() as term
        ):
            return _noise(term, _rate(rate, upper=upper), upper=upper)
        case SampledLoss(rate, "without_replacement", term) if not upper:
            # Attained: all other records are equal, so whether the one is in the sample is all that matters.
            return pairs_of(SampledLoss(rate, "poisson", term), upper=False)
        case SampledLoss(rate, "poisson", term) if not upper:
            simpler = _strongest(SampledLoss(rate, "poisson", _strongest(term)))
            return () if simpler == leaf else pairs_of(simpler, upper=False)
        case GroupLoss(_, term) if not upper:
            return pairs_of(_strongest(term), upper=False)  # the others may not change
        case ParallelLoss(terms, _) if not upper:
            return pairs_of(max(map(_strongest, terms), key=_strength), upper=False)
        case _:
            return _noise(leaf, 1.0, upper=upper)


def _strongest(term: Loss) -> Loss:
    """The leaf with the largest ρ of a composition: an adversary may ignore all other leaves."""
    leaves = [
        MuLoss(2 * leaf.rho_value) if isinstance(leaf, RhoLoss) else leaf for leaf, _ in canonical_form(term).items
    ]
    return max(leaves, key=_strength, default=PureLoss(Fraction(0)))


def _strength(leaf: Loss) -> Fraction:
    try:
        return as_rho(leaf)[0]
    except ParameterError:
        return Fraction(0)


def _noise(leaf: Loss, rate: float, *, upper: bool) -> tuple[Pair, ...]:
    """The pair of additive noise. The likelihood ratio of a loss past `_MOST_LOSS` is no float. A leaf with such losses
    reveals everything in an upper end, and is replaced by more noise, or a smaller step, in a lower end.
    """
    from discreet.privacy.pld import (
        FinitePair,
        GaussianPair,
        LaplacePair,
        discrete_gaussian_pair,
        discrete_laplace_pair,
    )

    revealed = FinitePair((1, 0), (0, 1))
    match leaf:
        case MuLoss(squared, _) if squared > 0:
            if squared <= 2 * _MOST_LOSS:
                return (GaussianPair(1 / math.sqrt(float(squared)), rate),)
            return (revealed if upper else GaussianPair(1 / math.sqrt(2 * _MOST_LOSS), rate),)
        case LaplaceLoss(scale):
            if scale * _MOST_LOSS >= 1:
                return (LaplacePair(float(scale), rate),)
            return (revealed if upper else LaplacePair(1 / _MOST_LOSS, rate),)
        case DiscreteLaplaceLoss(scale, sensitivity):
            if sensitivity <= min(_MOST_ATOMS, scale * _MOST_LOSS):
                return (discrete_laplace_pair(float(scale), sensitivity, rate),)
            step = min(_MOST_ATOMS, int(scale * _MOST_LOSS))
            return () if upper or step < 1 else (discrete_laplace_pair(float(scale), step, rate),)
        case DiscreteGaussianLoss(sigma, sensitivity) if sigma < _WIDEST:
            if sensitivity <= _MOST_ATOMS:
                return (discrete_gaussian_pair(float(sigma), sensitivity, rate),)
            return () if upper else (discrete_gaussian_pair(float(sigma), _MOST_ATOMS, rate),)
        case _:
            return ()


def _rate(rate: Fraction, *, upper: bool) -> float:
    """A sampling rate as a float, on the safe side where 1 − q would lose digits: more is never cheaper."""
    if rate <= Fraction(1, 2):
        return float(rate)
    if upper:
        return 1.0 if 1 - rate < _NEARLY_ALL else up(rate)
    return down(rate)


def _sampled(pair: FinitePair, rate: float) -> Pair:
    """(1−q)Q + qP against Q, for the removal of a record."""
    from discreet.privacy.pld import FinitePair

    def mixed(a: float | Fraction, b: float | Fraction) -> float | Fraction:
        return 0 if a == b == 0 and not isinstance(a, float) and not isinstance(b, float) else (
            (1 - rate) * float(b) + rate * float(a)
        )  # fmt: skip

    p = tuple(mixed(a, b) for a, b in zip(pair.p, pair.q, strict=True))
    return FinitePair(p, pair.q, error=pair.error + 2.0**-49)


_LOG_FLOOR = -300.0  # what a dominating pair leaks outright: a factor of 1e-130
_KNOTS = 600


def pair_above(curve: Curve) -> Pair:
    """A symmetric finite pair that dominates a curve: connect the dots (Doroshenko et al. 2022, Section 3).

    δ as a function of x = e^ε is convex; δ(−ε) = 1 − e^{−ε}(1 − δ(ε)) by symmetry. The upper values at knots, exact
    fractions, have a convex hull from below that is still above δ at every knot, for δ itself is convex and below the
    values. Slopes of the hull are the masses of Q; what is left at the last knot is P's mass of infinite loss.
    """
    import numpy as np

    from discreet.privacy.pld import FinitePair

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
