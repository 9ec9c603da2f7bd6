"""Curves by theorem, for the losses that have a closed form."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.accounting._budget import as_pure
from discreet.privacy.accounting._canonical import CanonicalForm, canonical_form
from discreet.privacy.accounting._renyi import renyi_curve
from discreet.privacy.curves._amplification import grouped_curve, sampled_curve, shuffled_curve
from discreet.privacy.curves._base import Curve, FunctionCurve, best, either, leaking, two_sided
from discreet.privacy.curves._binary import LARGEST_COUNT, optimal_curve
from discreet.privacy.curves._bounded_range import bounded_range_curve
from discreet.privacy.curves._finite import (
    discrete_gaussian_curve,
    discrete_laplace_curve,
    laplace_curve,
    response_curve,
)
from discreet.privacy.curves._gaussian import gaussian_curve
from discreet.privacy.curves._rounding import down, log_bounds, up
from discreet.privacy.curves._tradeoff import tradeoff_curve
from discreet.privacy.losses._base import GroupLoss, Loss, ParallelLoss, SampledLoss, ShuffledLoss
from discreet.privacy.losses._leaves import (
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    LaplaceLoss,
    MuLoss,
    NonAdaptiveLoss,
    PureLoss,
    RandomizedResponseLoss,
    RdpLoss,
    RhoLoss,
    TradeoffLoss,
)

__all__ = ["closed_curve"]

_NO_LOSS = FunctionCurve(lambda eps: (-math.inf, -math.inf))  # noqa: ARG005


def closed_curve(form: CanonicalForm) -> Curve | None:
    """The curve of a canonical form by a theorem, or None where only numeric composition is tight."""
    curve = _composed(form.items) if form.items else _NO_LOSS
    return None if curve is None else leaking(curve, form.log_kept)


def _composed(items: tuple[tuple[Loss, int], ...]) -> Curve | None:
    if all(isinstance(leaf, RhoLoss | MuLoss | RdpLoss) for leaf, _ in items) and not _all_gaussian(items):
        # A Gaussian mechanism has these losses too: ρ-zCDP with ρ = μ²/2, and D(α) = αμ²/2 for every α.
        return two_sided(gaussian_curve(sum((_least_squared(leaf) * n for leaf, n in items), Fraction(0))),
                         renyi_curve(items))  # fmt: skip
    if len(items) > 1:
        return None
    leaf, count = next(iter(items))
    match leaf:
        case MuLoss(squared, _):
            return gaussian_curve(squared)
        case PureLoss(eps) if count <= LARGEST_COUNT:
            return optimal_curve((down(eps), up(eps)), count)
        case RandomizedResponseLoss(p, 2) if count <= LARGEST_COUNT:
            return optimal_curve(_log_odds(p), count)
        case BoundedRangeLoss(eps) if 1 < count <= LARGEST_COUNT:
            adaptive = best(optimal_curve((down(eps), up(eps)), count), renyi_curve(items))
            return two_sided(_fixed_range(eps, count), adaptive)
        case _:
            return _single(leaf) if count == 1 else None


def _single(leaf: Loss) -> Curve | None:
    match leaf:
        case RandomizedResponseLoss(p, k):
            return response_curve(p, k)
        case LaplaceLoss(scale):
            return laplace_curve(scale)
        case DiscreteLaplaceLoss(scale, sensitivity):
            return discrete_laplace_curve(scale, sensitivity)
        case DiscreteGaussianLoss(sigma, sensitivity):
            return discrete_gaussian_curve(sigma, sensitivity)
        case BoundedRangeLoss(eps):
            return _fixed_range(eps, 1)
        case NonAdaptiveLoss(count, eps):
            return _fixed_range(eps, count)
        case TradeoffLoss(points):
            return tradeoff_curve(points)
        case SampledLoss(rate, _, term):
            inner = closed_curve(canonical_form(term))
            return None if inner is None else sampled_curve(inner, rate, attained=not _has_sampling(term))
        case GroupLoss(k, term):
            return _grouped(k, term)
        case ParallelLoss(terms, _):
            curves = [closed_curve(canonical_form(term)) for term in terms]
            known = [curve for curve in curves if curve is not None]
            return either(*known) if len(known) == len(curves) else None
        case ShuffledLoss(n, RandomizedResponseLoss(p, 2)):
            return shuffled_curve(_log_odds(p), n, binary=True)
        case ShuffledLoss(n, term):
            eps = as_pure(term)
            if eps is None:
                return None
            return shuffled_curve((down(eps), up(eps)), n, binary=False, attained=isinstance(term, PureLoss))
        case _:
            return None


def _fixed_range(eps: Fraction, count: int) -> Curve:
    """Mechanisms of bounded range that are all fixed in advance."""
    return bounded_range_curve(eps, count, renyi_curve(((BoundedRangeLoss(eps), count),)))


def _grouped(k: int, term: Loss) -> Curve | None:
    inner = closed_curve(canonical_form(term))
    if inner is None:
        return None
    steps = grouped_curve(inner, k)
    if not isinstance(term, SampledLoss) or term.scheme != "poisson":
        return steps
    # None of the k is in the sample with probability (1 − q)^k; given that one is, the unsampled loss of k bounds all.
    unsampled = closed_curve(canonical_form(GroupLoss(k, term.term)))
    rate = 1 - (1 - term.rate) ** k
    return steps if unsampled is None else best(steps, sampled_curve(unsampled, rate, attained=False))


def _all_gaussian(items: tuple[tuple[Loss, int], ...]) -> bool:
    return all(isinstance(leaf, MuLoss) for leaf, _ in items)


def _least_squared(leaf: Loss) -> Fraction:
    """A μ² such that the Gaussian mechanism with it has this loss."""
    match leaf:
        case MuLoss(squared, _):
            return squared
        case RhoLoss(rho, _):
            return 2 * rho
        case RdpLoss(orders, values):
            return min(2 * value / order for order, value in zip(orders, values, strict=True))
        case _:
            return Fraction(0)


def _has_sampling(loss: Loss) -> bool:
    return any(isinstance(leaf, SampledLoss | ParallelLoss | ShuffledLoss) for leaf, _ in canonical_form(loss).items)


def _log_odds(p: Fraction) -> tuple[float, float]:
    low, high = log_bounds(p / (1 - p))
    return (low, high) if low >= 0 else (-high, -low)
