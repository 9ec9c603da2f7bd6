"""From a loss to the pairs of distributions that the numeric core composes.

Where no pair is exact, one that dominates is built from the certified curve of the loss, and for the lower end one of a
release that has the loss. Valid for leaves fixed in advance (Zhu, Dong and Wang 2022, Theorem 10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy.accounting._canonical import CanonicalForm, canonical_form
from discreet.privacy.accounting._closed_form import closed_curve
from discreet.privacy.accounting._pairs import pair_above, pairs_of
from discreet.privacy.accounting._renyi import RenyiCurve, renyi_curve
from discreet.privacy.curves._base import Bounds, Curve, best, either, leaking
from discreet.privacy.losses._base import GroupLoss, Loss, ParallelLoss, SampledLoss
from discreet.privacy.losses._leaves import BoundedRangeLoss, MuLoss, NonAdaptiveLoss, RdpLoss, RhoLoss

if TYPE_CHECKING:
    from discreet.privacy.pld import Pair

    Parts = list[tuple[Pair, int]]

__all__ = ["combined_curve", "numeric_curve"]

_LOG_TINY = -250.0
_LOG_LEAST = -667.0  # ln of the least δ at which numeric composition is used
_FEW = 50
_MOST_COPIES = 10**8  # past them no mesh is fine enough
_COARSE = 1e-6  # how far a bisection goes whose every step reads a composition


def numeric_curve(form: CanonicalForm, gap: float, *, upper: bool = False) -> Curve:
    """The composition of a canonical form by privacy-loss distributions, combined with its Rényi divergences.

    With `upper` its lower ends are trivial: then one composition is read at many points, and is as tight as it can be.
    """
    high = _parts(form.items, upper=True)
    low = high if upper else _parts(form.items, upper=False)
    pairs: Curve = _Pessimistic(high) if upper else _Pairs(high, high if low == high else low, gap)
    # Rényi divergences help leaves without an exact pair, if these are few, and where δ is below all floats.
    exact = low == high and all(pairs_of(leaf, upper=True) and count <= _MOST_COPIES for leaf, count in form.items)
    if len(form.items) > _FEW:
        return leaking(pairs, form.log_kept)
    return leaking(Numeric(renyi_curve(form.items), pairs, exact), form.log_kept)


def combined_curve(form: CanonicalForm, gap: float, *, upper: bool = False) -> Curve | None:
    """The curve of a single combinator over a composition that is itself numeric; None for anything else."""
    if len(form.items) != 1 or form.items[0][1] != 1:
        return None
    inner = _inner(form.items[0][0], gap, upper=upper)
    if inner is not None and not upper:
        parts = _parts(form.items, upper=False)
        inner = best(inner, _Optimistic(parts, gap)) if parts else inner
    return None if inner is None else leaking(inner, form.log_kept)


@dataclass(frozen=True, slots=True)
class Numeric:
    """Rényi divergences and numeric composition, the latter skipped where δ is below e^{−250}."""

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
            low, high = self.pairs.epsilon(log_delta)
            if high < math.inf:
                return low, high
        ceiling = self.renyi.epsilon(log_delta)[1]
        low, high = self.pairs.epsilon(log_delta)
        return min(low, ceiling), min(high, ceiling)


class _Pessimistic:
    """Upper ends only, from few compositions."""

    def __init__(self, parts: Parts) -> None:
        from discreet.privacy.pld import Profile

        self._profile = Profile(parts)

    def log_delta(self, eps: float) -> Bounds:
        """A trivial lower end, and an upper bound of ln δ at ε."""
        return -math.inf, _log(self._profile.delta(eps))

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A trivial lower end, and an upper bound of ε."""
        if log_delta[0] < _LOG_LEAST:
            return 0.0, math.inf
        return 0.0, self._profile.epsilon(_delta_at(log_delta))


@dataclass(frozen=True, slots=True)
class _Optimistic:
    """Lower ends only, from a composition that is attained."""

    parts: Parts
    gap: float

    def log_delta(self, eps: float) -> Bounds:
        """A lower bound of ln δ at ε, and a trivial upper end."""
        from discreet.privacy.pld import delta_bounds

        return _log(delta_bounds(self.parts, eps, self.gap)[0]), 0.0

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A lower bound of ε, and a trivial upper end."""
        from discreet.privacy.pld import epsilon_bounds

        if log_delta[1] < _LOG_LEAST:
            return 0.0, math.inf
        return epsilon_bounds(self.parts, math.exp(log_delta[1]) * (1 + 2.0**-45), self.gap)[0], math.inf


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The curve of two compositions: one that dominates, one that is attained."""

    high: Parts
    low: Parts
    gap: float

    def log_delta(self, eps: float) -> Bounds:
        """A bracket of ln δ at ε."""
        from discreet.privacy.pld import delta_bounds

        low, high = delta_bounds(self.high, eps, self.gap)
        if self.low is not self.high:
            low = delta_bounds(self.low, eps, self.gap)[0] if self.low else 0.0
        return _log(low), _log(high)

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A bracket of ε. The lower end holds at the δ that the float stands for, and a little above."""
        from discreet.privacy.pld import epsilon_bounds

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
        if isinstance(leaf, RhoLoss | RdpLoss):
            concentrated.append((leaf, count))
        elif isinstance(leaf, NonAdaptiveLoss) and not upper:
            parts.extend((pair, count * leaf.count) for pair in pairs_of(BoundedRangeLoss(leaf.eps), upper=False))
        else:
            pair = pairs_of(leaf, upper=upper)
            if pair:
                parts.extend((each, count) for each in pair)
            elif upper:
                parts.append(_dominating(leaf, count))
    if concentrated:
        curve = closed_curve(CanonicalForm(tuple(concentrated), ()))
        if curve is not None and upper:
            parts.append((pair_above(curve), 1))
        elif not upper:
            squared = sum(n * (2 * leaf.rho_value if isinstance(leaf, RhoLoss) else 0) for leaf, n in concentrated)
            parts.extend((pair, 1) for pair in pairs_of(MuLoss(Fraction(squared)), upper=False) if squared)
    return parts


def _dominating(leaf: Loss, count: int) -> tuple[Pair, int]:
    together = closed_curve(CanonicalForm(((leaf, count),), ())) if count > 1 else None
    if together is not None:
        return pair_above(together), 1
    alone = closed_curve(CanonicalForm(((leaf, 1),), ()))
    if alone is None:
        alone = _inner(leaf, 1e-3, upper=True) or renyi_curve(((leaf, 1),))
    return pair_above(alone), count


def _inner(leaf: Loss, gap: float, *, upper: bool) -> Curve | None:
    from discreet.privacy.curves._amplification import grouped_curve, sampled_curve

    def inner_curve(term: Loss, *, upper: bool = upper) -> Curve:
        form = canonical_form(term)
        closed = closed_curve(form) or combined_curve(form, gap, upper=upper)
        return closed or numeric_curve(form, gap, upper=upper)

    match leaf:
        case SampledLoss(rate, _, term):
            return sampled_curve(inner_curve(term), rate, attained=False)
        case GroupLoss(k, term):
            return grouped_curve(inner_curve(term), k, inner_curve(term, upper=True), tolerance=_COARSE)
        case ParallelLoss(terms, _):
            return either(*map(inner_curve, terms))
        case _:
            return None


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
