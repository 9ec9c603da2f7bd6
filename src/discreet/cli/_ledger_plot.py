"""`discreet ledger show --plot`: what was left of each budget, read at some moments and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.ledger._audit import LedgerAudit
    from discreet.ledger._owned import OwnedLedger
    from discreet.ledger._sql import SqlLedger

__all__ = ["draw"]

_MOMENTS, _PER_ACCOUNT, _ACCOUNTS = 300, 100, 20


def draw(book: OwnedLedger | LedgerAudit | SqlLedger, plot: Path) -> None:
    """Draw the whole and the accounts that have spent most; or, for an analyst, their own."""
    from discreet.explain import burndown_chart, burndown_points, save
    from discreet.ledger._audit import LedgerAudit
    from discreet.ledger._owned import OwnedLedger
    from discreet.privacy import parts

    if not isinstance(book, OwnedLedger | LedgerAudit):
        series = {book.account: book.moments(_MOMENTS)}
    else:
        spenders = [each for each in book.accounts.values() if each.role == "analyst"]
        spenders.sort(key=lambda each: (-parts(each.lifetime)[0], each.name))
        series = {"(whole)": book.moments(_MOMENTS)}
        series |= {each.name: book.moments(_PER_ACCOUNT, each.name) for each in spenders[:_ACCOUNTS]}
    save(burndown_chart(burndown_points(series), book.facts.currency), plot)
