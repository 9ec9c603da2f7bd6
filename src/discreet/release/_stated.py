"""The loss that a certificate states, and whether what was recomputed is within it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss, currency, from_json, in_currency, in_words

__all__ = ["check_within", "stated_in"]


def stated_in(certificate: Mapping[str, Any]) -> Loss:
    """The loss that a certificate states. Raises `LedgerError` if it states none that is a budget."""
    try:
        loss = from_json(certificate.get("loss"))
        currency(loss)
    except (ParameterError, TypeError, ValueError, ArithmeticError):
        raise LedgerError("the certificate states no loss that can be read") from None
    return loss


def check_within(part: str, lost: Loss, stated: Loss) -> None:
    """Raise `LedgerError` unless what a part loses is known to be within what is stated."""
    try:
        within = lost.fits(stated)
    except ParameterError:
        within = False
    if not within:
        raise LedgerError(
            f"the stated loss does not follow: {part}: the mechanisms lose {_words(lost, stated)}, and stated is "
            f"{in_words(stated)}; the release costs more than it says"
        )


def _words(lost: Loss, stated: Loss) -> str:
    try:
        return in_words(in_currency(lost, currency(stated)))
    except ParameterError:
        return in_words(lost)
