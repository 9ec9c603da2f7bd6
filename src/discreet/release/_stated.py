"""The loss that a certificate states, and whether what was recomputed is within it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss, Relation, currency, from_json, in_currency, in_words

__all__ = ["check_within", "refuse_malformed", "stated_in", "stated_neighbours"]

_MOST_ROWS = 1_000_000
_Recompute = Callable[[Mapping[str, Any]], Loss]


def stated_in(certificate: Mapping[str, Any]) -> Loss:
    """The loss that a certificate states. Raises `LedgerError` if it states none that is a budget."""
    try:
        loss = from_json(certificate.get("loss"))
        currency(loss)
    except (ParameterError, TypeError, ValueError, ArithmeticError):
        raise LedgerError("the certificate states no loss that can be read") from None
    return loss


def stated_neighbours(certificate: Mapping[str, Any]) -> tuple[int, Relation]:
    """How many rows one person may have, and between which neighbours, as a certificate states it.

    Raises `LedgerError` for no such number, or another relation.
    """
    rows, relation = certificate["rows_per_unit"], certificate["relation"]
    if type(rows) is not int or not 1 <= rows <= _MOST_ROWS:
        raise LedgerError("the certificate states no number of rows that one person may have")
    if relation not in ("add_remove", "substitute"):
        raise LedgerError("the certificate names no relation of neighbours, so no loss follows")
    return rows, relation


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


def refuse_malformed(called: str) -> Callable[[_Recompute], _Recompute]:
    """Have what recomputes a loss raise `LedgerError` for a malformed certificate, naming what it is of."""

    def decorate(recompute: _Recompute) -> _Recompute:
        @wraps(recompute)
        def refusing(certificate: Mapping[str, Any]) -> Loss:
            try:
                return recompute(certificate)
            except (ParameterError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
                raise LedgerError(f"the certificate of this {called} cannot be followed: it is malformed") from None

        return refusing

    return decorate


def _words(lost: Loss, stated: Loss) -> str:
    try:
        return in_words(in_currency(lost, currency(stated)))
    except ParameterError:
        return in_words(lost)
