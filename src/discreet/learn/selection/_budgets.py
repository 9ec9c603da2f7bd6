"""Spends and tries: what one try may spend, so that the best of them stays within a spend; and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from discreet.errors import LedgerError, ParameterError
from discreet.learn.selection._bounds import delta_of_best, epsilon_of_best
from discreet.learn.selection._tries import Tries
from discreet.prices import Prices
from discreet.privacy import ApproxLoss, Loss, PureLoss, budget_of
from discreet.sensitivity import Norms

__all__ = ["loss_of_best", "prices_of_try"]

_PARTS = 1 << 14
"""A try has so many parts of what all of the spend would buy, one less than would be too many."""
_BITS = 80


@lru_cache(maxsize=256)
def prices_of_try(spend: Loss, tries: Tries) -> Prices:
    """What each try may spend. Raises `ParameterError` for a spend in ρ or μ, or one that buys nothing."""
    all_of_it = Prices.of_spend(spend, Norms(1, 1))
    kind, allowed = budget_of(spend)
    if kind not in ("pure", "approx"):
        raise ParameterError(
            "a random number of tries has a loss in pure ε, or in (ε, δ): spend one of those, or pay for all candidates"
        )
    epsilon, delta = allowed[0], allowed[-1] if kind == "approx" else Fraction(0)
    total = all_of_it.total
    if all_of_it.currency == "pure":
        bought = _largest(lambda part: epsilon_of_best(tries, _short(total * part)) <= epsilon)
    else:
        bought = _largest(lambda part: delta_of_best(tries, _short(total * part**2), epsilon) <= delta) ** 2
    if not bought:
        raise ParameterError("the spend is too small for the best of several tries: spend more, or try fewer")
    return replace(all_of_it, total=_short(total * bought))


def loss_of_best(currency: str, one_try: Fraction, tries: Tries, stated: Loss) -> Loss:
    """What the best of some tries loses, each for a price in a currency; with a δ, at the ε that was stated.

    Raises `LedgerError` for a currency or a loss that it is not stated in.
    """
    kind, allowed = budget_of(stated)
    if currency == "pure":
        return PureLoss(epsilon_of_best(tries, one_try))
    if currency != "mu" or kind != "approx":
        raise LedgerError("the best of several tries has a loss in pure ε, or in (ε, δ)")
    return ApproxLoss(allowed[0], delta_of_best(tries, one_try, allowed[0]))


def _largest(fits: Callable[[Fraction], bool]) -> Fraction:
    """The largest part of a whole, nearly, that fits."""
    low, high = 0, _PARTS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(Fraction(middle, _PARTS)) else (low, middle)
    return Fraction(low, _PARTS)


def _short(value: Fraction) -> Fraction:
    """The value rounded down to 80 bits or so, so that a certificate can state it."""
    shift = _BITS - value.numerator.bit_length() + value.denominator.bit_length()
    scale = Fraction(2) ** shift
    return Fraction(int(value * scale)) / scale
