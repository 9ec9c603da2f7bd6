"""The same charges added up in every currency that can express them: what an odometer reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.ledger._filter import add, charge, numbers, tidy, worst
from discreet.privacy import Loss, in_currency

__all__ = ["CURRENCIES", "History", "added", "charge_and_history", "of_loss", "together"]

CURRENCIES = ("pure", "approx", "rho", "mu")

History = Mapping[str, Loss]
"""From a currency to the total there. A currency that could not express some charge is absent from then on."""


@lru_cache(256)
def of_loss(loss: Loss) -> History:
    """One charge in every currency that can express it, rounded up where a fraction grows too long."""
    found: dict[str, Loss] = {}
    for name in CURRENCIES:
        try:
            found[name] = tidy(in_currency(loss, name))
        except (ParameterError, ArithmeticError):
            continue
    return found


def charge_and_history(loss: Loss, name: str) -> tuple[Loss, Mapping[str, list[str]]]:
    """The charge for a loss in the currency `name`, and the numbers of its history: not to be changed.

    Raises what `charge` raises.
    """
    try:
        return _charge_and_history(loss, name)
    except (RecursionError, TypeError):  # it has no hash: too deep a sum, or no loss at all
        return charge(loss, name), {each: numbers(total) for each, total in of_loss(loss).items()}


@lru_cache(256)
def _charge_and_history(loss: Loss, name: str) -> tuple[Loss, Mapping[str, list[str]]]:
    charged = charge(loss, name)
    return charged, {each: numbers(total) for each, total in of_loss(loss).items()} | {name: numbers(charged)}


def added(one: History, other: History) -> History:
    """One after the other."""
    return {name: add(one[name], other[name]) for name in CURRENCIES if name in one and name in other}


def together(common: History, parts: Iterable[History]) -> History:
    """What one person may have lost: what concerned all, and the worst of the parts, of which everybody is in one."""
    shares = [*parts]
    if not shares:
        return common
    everywhere = [name for name in CURRENCIES if name in common and all(name in share for share in shares)]
    return {name: add(common[name], worst(*(share[name] for share in shares))) for name in everywhere}
