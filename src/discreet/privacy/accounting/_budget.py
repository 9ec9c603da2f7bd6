"""What a budget is: a loss that was stated in one currency, and what it still allows."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.accounting._currencies import CURRENCIES, in_currency, parts
from discreet.privacy.losses._base import Loss, SumLoss, TimesLoss
from discreet.privacy.losses._json import kind_of
from discreet.privacy.losses._leaves import ApproxLoss, MuLoss, PureLoss, RhoLoss
from discreet.rational import decimal_text

__all__ = ["budget_of", "currency", "left"]

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
