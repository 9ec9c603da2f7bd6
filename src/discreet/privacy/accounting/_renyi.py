"""Rényi divergences: an upper bound at every order, and what they mean for (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet.privacy.accounting._budget import as_pure
from discreet.privacy.accounting._canonical import canonical_form
from discreet.privacy.curves._base import Bounds
from discreet.privacy.curves._rounding import log_bounds, up
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
)

__all__ = ["RenyiCurve", "divergence", "renyi_curve", "total"]

_SAFE = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class RenyiCurve:
    """The (ε, δ) that follow from Rényi divergences D(α): an upper curve only.

    Canonne, Kamath and Steinke 2020, Proposition 12: for every α > 1, δ(ε) ≤ e^{(α−1)(D−ε)}(1 − 1/α)^α/(α − 1). Any
    α gives a bound, so only one evaluation has to be rounded up; the search for the best one need not be exact.
    """

    divergence: Callable[[float], float]

    def log_delta(self, eps: float) -> Bounds:
        """Ln δ ≤ (α−1)(D − ε + ln(1 − 1/α)) − ln α."""
        return -math.inf, min(0.0, self._least(lambda order, excess: (
            excess * self.divergence(order), -excess * eps, excess * (math.log(excess) - math.log1p(excess)),
            -math.log1p(excess),
        )))  # fmt: skip

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """ε ≤ D + ln(1 − 1/α) + (ln(1/δ) − ln α)/(α − 1)."""
        if log_delta[0] == -math.inf:
            return 0.0, math.inf
        return 0.0, max(0.0, self._least(lambda order, excess: (
            self.divergence(order), math.log(excess) - math.log1p(excess), -log_delta[0] / excess,
            -math.log1p(excess) / excess,
        )))  # fmt: skip

    @staticmethod
    def _least(terms: Callable[[float, float], tuple[float, ...]]) -> float:
        """Least sum over ln(α − 1) in [−20, 60], by a coarse grid and golden section; rounded up."""

        def value(log_excess: float) -> float:
            excess = math.exp(log_excess)
            summands = terms(1 + excess, excess)
            # Each term is right to 1e-14 of itself, the sum too.
            total = sum(summands) + 1e-13 * sum(abs(term) for term in summands)
            return total if not math.isnan(total) else math.inf

        centre = min((-20 + 0.5 * step for step in range(161)), key=value)
        low, high = centre - 0.5, centre + 0.5
        golden = (math.sqrt(5) - 1) / 2
        least = value(centre)
        for _ in range(60):
            left, right = high - golden * (high - low), low + golden * (high - low)
            at_left, at_right = value(left), value(right)
            least = min(least, at_left, at_right)
            if at_left < at_right:
                high = right
            else:
                low = left
        return least


def renyi_curve(items: tuple[tuple[Loss, int], ...]) -> RenyiCurve:
    """The curve of a composition of leaves: their divergences add (Mironov 2017, Proposition 1)."""
    return RenyiCurve(lambda order: total(items, order))


def total(items: tuple[tuple[Loss, int], ...], order: float) -> float:
    """Σ count·D_α(leaf), rounded up."""
    return sum(count * divergence(leaf, order) for leaf, count in items) * _SAFE


def divergence(leaf: Loss, order: float) -> float:
    """D_α of a plain leaf without a δ, rounded up; ``inf`` where nothing finite is known."""
    match leaf:
        case PureLoss(eps):
            return _pure(up(eps), order)
        case RandomizedResponseLoss(p, k):
            return _response(p, k, order)
        case RhoLoss(rho, _):
            return order * up(rho) * _SAFE
        case MuLoss(squared, _):
            return order * up(squared) / 2 * _SAFE
        case BoundedRangeLoss(eps):
            return min(order * up(eps) ** 2 / 8 * _SAFE, _pure(up(eps), order))
        case NonAdaptiveLoss(count, eps):
            return count * divergence(BoundedRangeLoss(eps), order)
        case DiscreteGaussianLoss(sigma, sensitivity):
            return order * up((sensitivity / sigma) ** 2) / 2 * _SAFE
        case LaplaceLoss(scale):
            return _laplace(up(1 / scale), order)
        case DiscreteLaplaceLoss(scale, sensitivity):
            return _pure(up(sensitivity / scale), order)
        case RdpLoss(orders, values):
            return _interpolated(orders, values, order)
        case SampledLoss(rate, _, term):
            return _sampled(rate, leaf.scheme == "poisson", term, order)
        case ParallelLoss(terms, _):
            return max(_total_divergence(term, order) for term in terms)
        case ShuffledLoss() | GroupLoss():
            eps = as_pure(leaf)
            return math.inf if eps is None else _pure(up(eps), order)
        case _:
            return math.inf


def _total_divergence(loss: Loss, order: float) -> float:
    form = canonical_form(loss)
    return math.inf if form.leaks else total(form.items, order)


def _log_moment(order: float, *parts: tuple[float, float]) -> float:
    """Ln Σ e^{log weight + (α−1)·loss} / (α−1), rounded up by what the logarithm of a sum near 1 may lose."""
    exponents = [weight + (order - 1) * loss for weight, loss in parts]
    top = max(exponents)
    size = max(abs(weight) + (order - 1) * abs(loss) for weight, loss in parts)
    return (top + math.log(math.fsum(math.exp(e - top) for e in exponents)) + 1e-15 * (2 + size)) / (order - 1)


def _pure(eps: float, order: float) -> float:
    """Randomized response, the worst of ε-DP (Mironov 2017, Proposition 5); αε²/2 (Bun and Steinke 2016, 1.4); ε."""
    if eps > 700:
        return eps
    likely, unlikely = -math.log1p(math.exp(-eps)), -eps - math.log1p(math.exp(-eps))
    exact = _log_moment(order, (likely, eps), (unlikely, -eps)) if order - 1 > 1e-6 else math.inf
    return min(exact, order * eps * eps / 2 * _SAFE, eps)


def _response(p: Fraction, k: int, order: float) -> float:
    """p·e^{(α−1)r} + other·e^{−(α−1)r} + the rest, r = ln(p/other): it grows with |r|, so r is moved away from 0."""
    other = (1 - p) / (k - 1)
    low, high = log_bounds(p / other)
    ratio = high if high > -low else low
    bound = order * ratio * ratio / 2 * _SAFE
    rest = 1 - p - other
    parts = [(log_bounds(p)[1], ratio), (log_bounds(other)[1], -ratio)]
    if rest:
        parts.append((log_bounds(rest)[1], 0.0))
    return min(_log_moment(order, *parts), bound) if order - 1 > 1e-6 else bound


def _laplace(eps: float, order: float) -> float:
    """Mironov 2017, Proposition 6, and what holds of every ε-DP mechanism."""
    if order - 1 < 1e-6 or eps > 700:
        return _pure(eps, order)
    first, second = math.log(order) - math.log(2 * order - 1), math.log(order - 1) - math.log(2 * order - 1)
    top = first + (order - 1) * eps
    exact = (top + math.log1p(math.exp(second - order * eps - top)) + 1e-14 * (2 + order * eps)) / (order - 1)
    return min(exact, _pure(eps, order))


def _interpolated(orders: tuple[Fraction, ...], values: tuple[Fraction, ...], order: float) -> float:
    """(α−1)D(α) is convex in α and 0 at 1, so it lies below its chords; nothing is known past the last order."""
    knots = [(0.0, 0.0), *((float(a) - 1, (float(a) - 1) * up(v)) for a, v in zip(orders, values, strict=True))]
    excess = order - 1
    for (x0, y0), (x1, y1) in pairwise(knots):
        if excess <= x1 * (1 + 1e-15):
            weight = min(1.0, (excess - x0) / (x1 - x0))
            return (y0 + weight * (y1 - y0)) / excess * _SAFE
    return math.inf


def _sampled(rate: Fraction, poisson: bool, term: Loss, order: float) -> float:  # noqa: FBT001
    if poisson and isinstance(term, MuLoss):
        below = math.floor(order)
        if below >= 4096:
            return divergence(term, order)
        low = 0.0 if below < 2 else (below - 1) * _sampled_gaussian(up(rate), up(term.mu_squared), below)
        if order == below and below >= 2:
            return low / (below - 1)
        high = below * _sampled_gaussian(up(rate), up(term.mu_squared), below + 1)
        return (low + (order - below) * (high - low)) / (order - 1) * _SAFE
    return _mixed(up(rate), _total_divergence(term, order), order)


def _mixed(rate: float, unsampled: float, order: float) -> float:
    """e^{(α−1)D} is jointly convex: the sample holds the record with probability q, and is the same otherwise."""
    exponent = (order - 1) * unsampled
    if exponent > 700:
        return unsampled
    return min(unsampled, math.log1p(rate * math.expm1(exponent)) / (order - 1) * _SAFE + 1e-15)


@lru_cache(maxsize=100_000)
def _sampled_gaussian(rate: float, squared: float, order: int) -> float:
    """Mironov, Talwar and Zhang 2019, Section 3.3: ln Σ_j C(α,j)(1−q)^{α−j} q^j e^{j(j−1)μ²/2} / (α−1)."""
    import numpy as np
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    j = np.arange(order + 1, dtype=np.float64)
    log_terms = (
        gammaln(order + 1) - gammaln(j + 1) - gammaln(order - j + 1)
        + (order - j) * math.log1p(-rate) + j * math.log(rate) + j * (j - 1) * squared / 2
    )  # fmt: skip
    top = float(np.max(log_terms))
    lost = 1e-15 * (8 + 3 * order * math.log(order) - order * math.log(rate) + order * order * squared)
    exact = (top + math.log(float(np.sum(np.exp(log_terms - top)))) + lost) / (order - 1)
    return max(0.0, min(exact, order * squared / 2 * _SAFE))
