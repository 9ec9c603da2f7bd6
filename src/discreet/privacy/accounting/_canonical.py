"""Canonical form of a loss: a multiset of leaves, and the δ's beside them.

(ε, δ)-DP is the mixture of ε-DP with weight 1 − δ and a full leak with weight δ (Kairouz, Oh and Viswanath 2015,
Theorem 3.4), and δ-approximate zCDP and GDP are so by definition. So the δ's of a composition come apart from the rest:
δ(ε) = 1 − Π(1 − δ_i)·(1 − δ_rest(ε)).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.accounting._budget import as_approx
from discreet.privacy.curves._rounding import log_bounds
from discreet.privacy.losses._base import (
    GroupLoss,
    Loss,
    ParallelLoss,
    SampledLoss,
    SubstitutedLoss,
    SumLoss,
    TimesLoss,
)
from discreet.privacy.losses._leaves import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    MuLoss,
    NonAdaptiveLoss,
    PureLoss,
    RandomizedResponseLoss,
    RhoLoss,
)

__all__ = ["CanonicalForm", "canonical_form"]

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class CanonicalForm:
    """Leaves with their counts, of which all Gaussian ones are one leaf. `leaks` holds (δ, count)."""

    items: tuple[tuple[Loss, int], ...]
    leaks: tuple[tuple[Fraction, int], ...]

    @property
    def log_kept(self) -> tuple[float, float]:
        """A bracket of ln Π(1 − δ_i)."""
        low, high = 0.0, 0.0
        for delta, count in self.leaks:
            below, above = log_bounds(1 - delta)
            low, high = low + count * below, high + count * above
        return low * (1 + 1e-13), high * (1 - 1e-13)

    @property
    def leaked(self) -> Fraction:
        """Σδ_i, which is at least the probability that something leaks."""
        return sum((delta * count for delta, count in self.leaks), _ZERO)


def canonical_form(loss: Loss) -> CanonicalForm:
    """The canonical form of a loss. It never understates the loss; only groups and mixed parallel parts are inexact.

    >>> from discreet.privacy import approx, gaussian, mu
    >>> canonical_form(9 * gaussian(1) + 2 * approx(1, 0.1) + mu(4)).items
    ((mu(5), 1), (pure(1), 2))
    """
    items: dict[Loss, int] = {}
    leaks: dict[Fraction, int] = {}
    squares: list[Fraction] = []
    for leaf, count in _leaves(loss, 1):
        counted = leaf
        match leaf:
            case MuLoss(each, delta):
                squares.append(each * count)
                counted = None
            case ApproxLoss(eps, delta):
                counted = PureLoss(eps)
            case RhoLoss(rho, delta):
                counted = RhoLoss(rho, _ZERO) if rho else None
            case DiscreteLaplaceLoss(scale, 1):
                # Its loss is ±1/scale, as P(x ≤ 0) = 1/(1 + e^{−1/scale}): it is randomized response.
                counted, delta = PureLoss(1 / scale), _ZERO
            case _:
                delta = _ZERO
        if delta:
            leaks[delta] = leaks.get(delta, 0) + count
        if counted is not None and counted != PureLoss(_ZERO):
            items[counted] = items.get(counted, 0) + count
    squared = _total(squares)
    gaussian = ((MuLoss(squared), 1),) if squared else ()
    return CanonicalForm((*gaussian, *items.items()), tuple(leaks.items()))


def _total(squares: list[Fraction]) -> Fraction:
    """The sum; of more than 64, which may have no common denominator, rounded up by 2⁻¹⁰⁰ of it at most.

    Far less than the margins of every curve, at either end.
    """
    if len(squares) <= 64 or max(squares) > 2**64:
        return sum(squares, _ZERO)
    unit = int(2 ** (128 + len(squares).bit_length()) / max(squares))
    return Fraction(sum(-(-each.numerator * unit // each.denominator) for each in squares), unit)


def _leaves(loss: Loss, count: int) -> Iterator[tuple[Loss, int]]:
    """Leaves with counts, without recursion over sums, which may be deep."""
    stack = [(loss, count)]
    while stack:
        node, times = stack.pop()
        match node:
            case SumLoss(terms):
                stack.extend((term, times) for term in reversed(terms))
            case TimesLoss(number, term):
                if number:
                    stack.append((term, times * number))
            case SampledLoss() | GroupLoss() | SubstitutedLoss() | ParallelLoss():
                rewritten = _rewritten(node)
                if rewritten is None:
                    yield node, times
                elif rewritten == node:
                    yield rewritten, times
                else:
                    stack.append((rewritten, times))
            case _:
                yield _leaf(node), times


def _leaf(node: Loss) -> Loss:
    match node:
        case GaussianLoss(noise):
            return MuLoss(1 / (noise * noise))
        case _:
            return node


def _rewritten(node: Loss) -> Loss | None:
    """The same loss with fewer combinators; the node itself where no rule applies; None for other nodes."""
    match node:
        case SampledLoss(rate, scheme, term):
            if rate == 1:
                return term
            if rate == 0:
                return PureLoss(_ZERO)
            inner = _plain(term)
            if isinstance(inner, SampledLoss) and inner.scheme == scheme == "poisson":
                return SampledLoss(rate * inner.rate, scheme, inner.term)
            return SampledLoss(rate, scheme, inner)
        case SubstitutedLoss(term):
            return GroupLoss(2, term)
        case GroupLoss(k, term):
            # Each leaf for the group: the groups of a composition compose.
            return _sum((_grouped(leaf, k) or GroupLoss(k, leaf), count) for leaf, count in _leaves(term, 1))
        case ParallelLoss(terms, relation):
            worst = _worst([_plain(term) for term in terms])
            return worst if relation == "add_remove" else TimesLoss(2, worst)
        case _:
            return None


def _plain(loss: Loss) -> Loss:
    """The canonical form as one loss again."""
    form = canonical_form(loss)
    match form.items, form.leaks:
        case (((PureLoss(eps), 1),), ((delta, 1),)):
            return ApproxLoss(eps, delta)
        case _:
            pass
    leaks = ((ApproxLoss(_ZERO, delta), count) for delta, count in form.leaks)
    return _sum((*form.items, *leaks))


def _sum(items: Iterable[tuple[Loss, int]]) -> Loss:
    terms = tuple(leaf if count == 1 else TimesLoss(count, leaf) for leaf, count in items)
    return terms[0] if len(terms) == 1 else SumLoss(terms) if terms else PureLoss(_ZERO)


def _grouped(leaf: Loss, k: int) -> Loss | None:
    """The group of a leaf as a leaf: of noise, k times the sensitivity; ρ: Bun and Steinke 2016, Proposition 1.9;
    μ: Dong, Roth and Su 2022, Theorem 2.14.
    """
    match leaf:
        case PureLoss(eps):
            return PureLoss(k * eps)
        case MuLoss(squared, delta) if not delta:
            return MuLoss(k * k * squared)
        case RhoLoss(rho, delta) if not delta:
            return RhoLoss(k * k * rho, _ZERO)
        case LaplaceLoss(scale):
            return LaplaceLoss(scale / k)
        case DiscreteLaplaceLoss(scale, sensitivity):
            return DiscreteLaplaceLoss(scale, k * sensitivity)
        case DiscreteGaussianLoss(sigma, sensitivity):
            return DiscreteGaussianLoss(sigma, k * sensitivity)
        case BoundedRangeLoss(eps):
            return BoundedRangeLoss(k * eps)
        case RandomizedResponseLoss():
            pair = as_approx(leaf)
            return None if pair is None else PureLoss(k * pair[0])
        case ApproxLoss(eps, delta) if not delta:
            return PureLoss(k * eps)
        case NonAdaptiveLoss(count, eps):
            return NonAdaptiveLoss(count, k * eps)
        case GroupLoss(size, term):
            return GroupLoss(size * k, term)
        case _:
            return None


def _worst(terms: list[Loss]) -> Loss:
    """The worst of several canonical losses: one of them if they compare, else the parallel node itself."""
    worst = terms[0]
    for term in terms[1:]:
        bigger = _bigger(worst, term)
        if bigger is None:
            return ParallelLoss(tuple(terms), "add_remove")
        worst = bigger
    return worst


def _bigger(a: Loss, b: Loss) -> Loss | None:
    match a, b:
        case PureLoss(x), PureLoss(y):
            return a if x >= y else b
        case MuLoss(x, d), MuLoss(y, e) if not d and not e:
            return a if x >= y else b
        case RhoLoss(x, d), RhoLoss(y, e) if not d and not e:
            return a if x >= y else b
        case ApproxLoss(x, d), ApproxLoss(y, e):
            return ApproxLoss(max(x, y), max(d, e))
        case LaplaceLoss(x), LaplaceLoss(y):
            return a if x <= y else b
        case BoundedRangeLoss(x), BoundedRangeLoss(y):
            return a if x >= y else b
        case _:
            return a if a == b else None
