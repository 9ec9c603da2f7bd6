"""The losses of the steps of one release, added up."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.prices import price_as_loss
from discreet.privacy import Loss, in_currency, parts

__all__ = ["added_up"]


def added_up(losses: Iterable[Loss], currency: str) -> Loss:
    """The losses together, in one currency. Raises `LedgerError` for none that steps are priced in.

    >>> from discreet.privacy import pure
    >>> added_up([pure("0.1"), pure("0.2")], "pure")
    pure(0.3)
    """
    return price_as_loss(currency, sum((parts(in_currency(each, currency))[0] for each in losses), Fraction(0)))
