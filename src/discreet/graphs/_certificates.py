"""What the certificates of graphs are held to: losses that add up, and releases that were drawn as they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from discreet.prices import price_as_loss
from discreet.privacy import Loss, in_currency, parts

__all__ = ["added_up", "check_agrees"]


def added_up(losses: Iterable[Loss], currency: str) -> Loss:
    """The losses together, in one currency. Raises `LedgerError` for none that steps are priced in.

    >>> from discreet.privacy import pure
    >>> added_up([pure("0.1"), pure("0.2")], "pure")
    pure(0.3)
    """
    return price_as_loss(currency, sum((parts(in_currency(each, currency))[0] for each in losses), Fraction(0)))


def check_agrees(content: Mapping[str, Any], certificate: Mapping[str, Any]) -> None:
    """Raise `ValueError` where a release was drawn otherwise than its certificate says, if it has one."""
    both = (
        content.keys() & certificate.keys() & {"choice", "cap", "graph", "measured", "noise", "statistic", "vertices"}
    )
    if any(content[name] != certificate[name] for name in both):
        raise ValueError("the release and its certificate disagree")
