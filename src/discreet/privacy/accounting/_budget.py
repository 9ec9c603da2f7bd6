"""What a loss costs in each currency, exactly: ε, (ε, δ), (ρ, δ), (μ², δ); and what a budget in one still allows.

Each function is pure, and its value adds up over sums, also of releases chosen adaptively. `None` means that the node
has no value in that currency, which is never an error here: the caller decides whether to refuse. Where a constant is
not rational (a logarithm of a sampled loss) the fraction is above it by 1e-14 of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.curves._rounding import log_bounds, to_fraction_up, up
from discreet.privacy.losses._base import (
    GroupLoss,
    Loss,
    ParallelLoss,
    SampledLoss,
    ShuffledLoss,
    SubstitutedLoss,
    SumLoss,
    TimesLoss,
)
from discreet.privacy.losses._json import kind_of
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
    RdpLoss,
    RhoLoss,
    TradeoffLoss,
)
from discreet.rational import decimal_text

__all__ = [
    "CURRENCIES",
    "as_approx",
    "as_mu",
    "as_pure",
    "as_rho",
    "budget_of",
    "currency",
    "in_currency",
    "left",
    "parts",
]


Pair = tuple[Fraction, Fraction]
_ZERO = Fraction(0)

CURRENCIES: dict[str, type[PureLoss] | type[ApproxLoss] | type[RhoLoss] | type[MuLoss]] = {
    "pure": PureLoss,
    "approx": ApproxLoss,
    "rho": RhoLoss,
    "mu": MuLoss,
}
"""The currencies that a budget can be stated in. Sums of ε, of (ε, δ), of (ρ, δ) and of (μ², δ) are valid filters for
adaptive spending; `discreet.privacy.filters` names the theorems."""


def as_pure(loss: Loss) -> Fraction | None:
    """The ε of pure differential privacy, if the loss has one."""
    match loss:
        case SampledLoss(rate, _, term):
            each = as_pure(term) if rate else _ZERO
            return None if each is None else _sampled_epsilon(rate, each)
        case ShuffledLoss(_, term):
            return as_pure(term)
        case _:
            pair = as_approx(loss)
            return pair[0] if pair is not None and pair[1] == 0 else None


def as_approx(loss: Loss) -> Pair | None:
    """(ε, δ) by basic composition, if every part is a pure or an (ε, δ) loss."""
    match loss:
        case PureLoss(eps) | BoundedRangeLoss(eps):
            return eps, _ZERO
        case ApproxLoss(eps, delta):
            return eps, delta
        case NonAdaptiveLoss(count, eps):
            return count * eps, _ZERO
        case LaplaceLoss(scale):
            return 1 / scale, _ZERO
        case DiscreteLaplaceLoss(scale, sensitivity):
            return sensitivity / scale, _ZERO
        case RandomizedResponseLoss(p, k):
            low, high = log_bounds(p * (k - 1) / (1 - p))
            return Fraction(max(high, -low)), _ZERO
        case SumLoss(terms):
            return _total(as_approx(term) for term in terms)
        case TimesLoss(count, term):
            return _scaled(as_approx(term), count)
        case ShuffledLoss(_, term):
            return as_approx(term)
        case SampledLoss(rate, _, term):
            pair = as_approx(term) if rate else (_ZERO, _ZERO)
            return _mapped(pair, lambda eps, delta: (_sampled_epsilon(rate, eps), rate * delta))
        case GroupLoss(k, term):
            return _mapped(as_approx(term), lambda eps, delta: _grouped(k, eps, delta))
        case SubstitutedLoss(term):
            return as_approx(GroupLoss(2, term))
        case ParallelLoss(terms, relation):
            return _scaled(_worst(as_approx(term) for term in terms), 1 if relation == "add_remove" else 2)
        case RhoLoss() | MuLoss() | RdpLoss() | GaussianLoss() | DiscreteGaussianLoss() | TradeoffLoss():
            return None
        case _:
            raise _unknown(loss)


def as_rho(loss: Loss) -> Pair:
    """(ρ, δ) of δ-approximate zCDP; raises `ParameterError` for the few losses that have none.

    ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4), ε-bounded range is ε²/8 (Cesar and Rogers 2021, Lemma
    3.4), Gaussian noise is 1/2σ² (Proposition 1.6), the discrete one too (Canonne, Kamath and Steinke 2020, Theorem
    4). (ε, δ)-DP is ε-DP off an event of probability δ (the decomposition of Kairouz, Oh and Viswanath 2015). ρ and δ
    add (Bun and Steinke, Lemma 8.2); a group of k costs k²ρ (Proposition 1.9). Sampling is charged as if it were not
    there.
    """
    match loss:
        case RhoLoss(rho, delta):
            return rho, delta
        case MuLoss(squared, delta):
            return squared / 2, delta
        case GaussianLoss(noise):
            return 1 / (2 * noise * noise), _ZERO
        case DiscreteGaussianLoss(sigma, sensitivity):
            return Fraction(sensitivity) ** 2 / (2 * sigma * sigma), _ZERO
        case BoundedRangeLoss(eps):
            return eps * eps / 8, _ZERO
        case NonAdaptiveLoss(count, eps):
            return count * eps * eps / 8, _ZERO
        case SumLoss(terms):
            pairs = [as_rho(term) for term in terms]
            return sum((r for r, _ in pairs), _ZERO), sum((d for _, d in pairs), _ZERO)
        case TimesLoss(0, _):
            return _ZERO, _ZERO
        case TimesLoss(count, term):
            rho, delta = as_rho(term)
            return count * rho, count * delta
        case SampledLoss(_, _, term) if as_pure(loss) is None:
            return as_rho(term)
        case GroupLoss(k, term) if as_approx(loss) is None and as_rho(term)[1] == 0:
            return k * k * as_rho(term)[0], _ZERO
        case SubstitutedLoss(term) if as_approx(loss) is None:
            return as_rho(GroupLoss(2, term))
        case ParallelLoss(terms, relation) if as_approx(loss) is None:
            pair = _worst(as_rho(term) for term in terms)
            return _scaled(pair, 1 if relation == "add_remove" else 2) or (_ZERO, _ZERO)
        case _:
            pair = as_approx(loss)
            if pair is None:
                raise ParameterError("this loss has no rho of concentrated differential privacy")
            return pair[0] ** 2 / 2, pair[1]


def as_mu(loss: Loss) -> Pair | None:
    """(μ², δ) of Gaussian differential privacy off an event of probability δ, if the loss has one.

    μ² adds (Dong, Roth and Su 2022, composition of Gaussian trade-off functions). ε-DP is μ-GDP with μ =
    2Φ⁻¹(e^ε/(1+e^ε)): the curve of ε-DP is straight on both sides of its corner, where this Gaussian one meets
    it, and a convex curve lies below its chords. ε-bounded range has the μ of ε/2-DP (``proofs/exponential.md``).
    (ε, δ)-DP is ε-DP off an event of probability δ.
    """
    match loss:
        case MuLoss(squared, delta):
            return squared, delta
        case BoundedRangeLoss(eps):
            return _mu_of_pure(eps / 2), _ZERO
        case NonAdaptiveLoss(count, eps):
            return count * _mu_of_pure(eps / 2), _ZERO
        case GaussianLoss(noise):
            return 1 / (noise * noise), _ZERO
        case SumLoss(terms):
            return _total(as_mu(term) for term in terms)
        case TimesLoss(count, term):
            return _scaled(as_mu(term), count)
        case GroupLoss(k, term) if as_approx(loss) is None:
            return _mapped(as_mu(term), lambda squared, delta: None if delta else (k * k * squared, delta))
        case SubstitutedLoss(term) if as_approx(loss) is None:
            return as_mu(GroupLoss(2, term))
        case ParallelLoss(terms, relation) if as_approx(loss) is None:
            return _scaled(_worst(as_mu(term) for term in terms), 1 if relation == "add_remove" else 2)
        case _:
            return _mapped(as_approx(loss), lambda eps, delta: (_mu_of_pure(eps), delta))


def in_currency(loss: Loss, name: str) -> Loss:
    """The loss as one node of a currency; raises `ParameterError` if it cannot be expressed there.

    A ρ has no single (ε, δ): converting it would fix a δ that nobody chose, so a (ε, δ) ledger refuses it.
    """
    if name == "pure":
        eps = as_pure(loss)
        if eps is None:
            raise ParameterError(
                "this budget is kept in pure epsilon, which a spend with a delta or a rho does not fit; "
                "spend dp.pure(epsilon), or keep a budget with a delta: the owner of a ledger can convert it once, by "
                "`discreet ledger convert LEDGER --delta 1e-6`"
            )
        return PureLoss(eps)
    if name == "approx":
        pair = as_approx(loss)
        if pair is None:
            raise ParameterError(
                "this budget is kept in (epsilon, delta), which a spend in rho does not fit; "
                "spend dp.pure(epsilon) or dp.approx(epsilon, delta), or keep the budget in rho"
            )
        return ApproxLoss(*pair)
    if name == "rho":
        return RhoLoss(*as_rho(loss))
    if name == "mu":
        pair = as_mu(loss)
        if pair is None:
            raise ParameterError(
                "this budget is kept in mu, which a spend in rho or in Renyi divergences does not fit; "
                "spend dp.mu(m), dp.gaussian(noise), dp.pure(epsilon) or dp.approx(epsilon, delta)"
            )
        return MuLoss(*pair)
    raise ParameterError(f"unknown currency {name!r}; known are {', '.join(CURRENCIES)}")


def parts(loss: Loss) -> tuple[Fraction, ...]:
    """The numbers that add up, of a node of a currency."""
    match loss:
        case PureLoss(eps):
            return (eps,)
        case ApproxLoss(first, delta) | RhoLoss(first, delta) | MuLoss(first, delta):
            return first, delta
        case _:
            raise _unknown(loss)


def _sampled_epsilon(rate: Fraction, eps: Fraction) -> Fraction:
    """ln(1 + q(e^ε − 1)), from above, and never more than ε."""
    if rate in (0, 1) or eps == 0:
        return rate * eps
    near = up(eps)
    if near > 700:
        return eps
    return min(eps, to_fraction_up(math.log1p(up(rate) * math.expm1(near))))


def _grouped(k: int, eps: Fraction, delta: Fraction) -> Pair | None:
    """(kε, δ(e^{kε}−1)/(e^ε−1)): Vadhan 2017, "The complexity of differential privacy", Lemma 2.2, exact sum."""
    if delta == 0 or eps == 0:
        return k * eps, min(k * delta, Fraction(1))
    near = up(eps)
    if k * near > 700:
        return k * eps, Fraction(1)
    # (e^{kε}−1)/(e^ε−1) grows with ε; expm1 is right to 1e-14 of itself, the quotient to 3e-14.
    growth = Fraction(math.expm1(k * near) / math.expm1(near)) * (1 + Fraction(1, 2**43))
    return k * eps, min(delta * growth, Fraction(1))


def _mu_of_pure(eps: Fraction) -> Fraction:
    if eps == 0:
        return _ZERO
    near = up(eps)
    if near < 1e-3:
        # Φ⁻¹(1/2 + x) ≤ √(2π)·x·(1 + 4x²) for 0 ≤ x ≤ 0.01, and x = tanh(ε/2)/2 ≤ ε/4: the root does not cancel.
        return (Fraction(12534, 10000) * eps * (1 + eps * eps)) ** 2  # √(2π)/2 < 1.2534
    from scipy.special import log_expit, ndtri_exp  # pyright: ignore[reportMissingTypeStubs]

    return to_fraction_up(2 * abs(float(ndtri_exp(log_expit(-near)))) * (1 + 1e-12)) ** 2


def _total(pairs: Iterable[Pair | None]) -> Pair | None:
    first, second = _ZERO, _ZERO
    for pair in pairs:
        if pair is None:
            return None
        first, second = first + pair[0], second + pair[1]
    return first, second


def _worst(pairs: Iterable[Pair | None]) -> Pair | None:
    worst: Pair = (_ZERO, _ZERO)
    for pair in pairs:
        if pair is None:
            return None
        worst = max(worst[0], pair[0]), max(worst[1], pair[1])
    return worst


def _scaled(pair: Pair | None, count: int) -> Pair | None:
    if count == 0:
        return _ZERO, _ZERO
    return None if pair is None else (count * pair[0], count * pair[1])


def _mapped(pair: Pair | None, change: Callable[[Fraction, Fraction], Pair | None]) -> Pair | None:
    return None if pair is None else change(*pair)


def _unknown(loss: Loss) -> ParameterError:
    return ParameterError(
        f"{type(loss).__name__} is not a loss that discreet knows; build losses with dp.pure, dp.approx and dp.rho"
    )


_STATED: dict[str, set[type[Loss]]] = {
    "pure": {PureLoss},
    "approx": {PureLoss, ApproxLoss},
    "rho": {RhoLoss},
    "mu": {MuLoss},
}


def budget_of(budget: Loss) -> tuple[str, tuple[Fraction, ...]]:
    """The currency that a budget fixes and what it allows there: ε; ε and δ; ρ and δ; or μ² and δ.

    A budget is stated in one currency: `pure`, `approx`, `rho`, `mu`, or sums and multiples of one of these (of `pure`
    and `approx` too). Every other loss is known in a currency from above only, and what stays below an upper bound of
    the budget need not stay below the budget; it raises `ParameterError`, as a δ of 1 or more does.

    >>> from discreet.privacy import approx, pure
    >>> budget_of(pure(1) + 2 * approx(1, 0.25))
    ('approx', (Fraction(3, 1), Fraction(1, 2)))
    """
    nodes: set[type[Loss]] = set()
    stack = [budget]
    while stack:
        match stack.pop():
            case SumLoss(terms):
                stack.extend(terms)
            case TimesLoss(_, term):
                stack.append(term)
            case stated:
                nodes.add(type(stated))
    name = next((name for name, stated in _STATED.items() if nodes and nodes <= stated), None)
    if name is None:
        raise ParameterError(
            "state a budget or a spend in one currency: dp.pure(epsilon), dp.approx(epsilon, delta), dp.rho(rho) or "
            "dp.mu(mu); not "
            f"{', '.join(sorted(map(kind_of, nodes))) or 'an empty sum'}"
        )
    allowed = parts(in_currency(budget, name))
    if any(part >= 1 for part in allowed[1:]):
        raise ParameterError(f"delta of a budget must be less than 1, got {decimal_text(allowed[1])}")
    return name, allowed


def currency(budget: Loss) -> str:
    """The currency that a budget fixes: ``"pure"``, ``"approx"``, ``"rho"`` or ``"mu"``. See `budget_of`."""
    return budget_of(budget)[0]


def left(budget: Loss, spent: Loss) -> Loss:
    """What a budget still allows after `spent`, never below zero, as one node of the budget's currency."""
    name, allowed = budget_of(budget)
    rest = [max(a - b, Fraction(0)) for a, b in zip(allowed, parts(in_currency(spent, name)), strict=True)]
    return CURRENCIES[name](*rest)
