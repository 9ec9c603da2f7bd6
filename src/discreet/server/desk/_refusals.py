"""Refusals of the desk: each has a kind that every front has a status for, and words that anybody may read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from discreet.errors import (
    AccountStopped,
    BudgetExceeded,
    Cancelled,
    DataError,
    DiscreetError,
    EventRefused,
    KeyReused,
    LedgerError,
    ParameterError,
    QueryError,
    SignInRefused,
)
from discreet.privacy import Loss

__all__ = ["Kind", "Refusal", "refusal_of"]

Kind = Literal[
    "query",
    "parameter",
    "price",
    "budget",
    "frozen",
    "key",
    "missing-key",
    "sign-in",
    "role",
    "rate",
    "unknown",
    "cancelled",
    "data",
    "ledger",
]

_SIGN_IN = "there is no such account, or the token is another: ask the owner of the data for one"
_WITHIN = {
    "data": "the source of the data cannot be used now; tell the owner of the data. What was charged stays spent",
    "ledger": "the ledger cannot be used now; tell the owner of the data. What was charged stays spent",
}
"""Words for what failed within: the error itself may name files and servers of the owner's."""


class Refusal(DiscreetError):
    """What the desk refuses. `price` is what the answer would have cost, where that is why; `wait` are seconds."""

    def __init__(self, kind: Kind, message: str, *, price: Loss | None = None, wait: float | None = None) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.price = price
        self.wait = wait


_KINDS: Sequence[tuple[type[DiscreetError], Kind]] = (
    (SignInRefused, "sign-in"),
    (AccountStopped, "frozen"),
    (KeyReused, "key"),
    (BudgetExceeded, "budget"),
    (EventRefused, "parameter"),
    (QueryError, "query"),
    (ParameterError, "parameter"),
    (Cancelled, "cancelled"),
    (LedgerError, "ledger"),
    (DataError, "data"),
)


def refusal_of(error: DiscreetError) -> Refusal:
    """The refusal that an error below is to whoever asked."""
    if isinstance(error, Refusal):
        return error
    kind: Kind = "data"
    for each, name in _KINDS:
        if isinstance(error, each):
            kind = name
            break
    if kind == "sign-in":
        return Refusal(kind, _SIGN_IN)
    return Refusal(kind, _WITHIN.get(kind, str(error)))
