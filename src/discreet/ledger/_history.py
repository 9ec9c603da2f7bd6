"""The same charges added up in every currency that can express them: what an odometer reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.ledger._filter import add, tidy, worst
from discreet.privacy import Loss, in_currency

__all__ = ["CURRENCIES", "History", "added", "of_loss", "together"]

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
