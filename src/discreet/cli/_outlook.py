"""Whether a planned query still fits a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli._ledger_open import exists, named, spending
from discreet.cli._ledger_secrets import token_from

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.query import Plan

__all__ = ["outlook"]


def outlook(  # noqa: PLR0913, PLR0917
    checked: Plan, policy: Policy, ledger: str, account: str | None, token_file: Path | None, key_file: Path | None
) -> str:
    """One line: what is left, and whether the plan is stored, or fits. Makes no ledger."""
    from discreet.ledger import check_suits
    from discreet.privacy import in_words

    token_from(account, token_file)
    if not exists(ledger):
        return f"Ledger: there is none at {ledger} yet; the first query makes it with the policy's budget."
    with spending(ledger, key_file, account, token_file) as book:
        check_suits(book, policy)
        state = book.state()
        left = f"Ledger: {in_words(state.remaining)} is left"
        if checked.loss is None:
            return f"{left}."
        if book.find(checked.hash(policy)) is not None:
            return f"{left}; the answer is stored, so asking is free."
        why = state.stopped(book.moments(1)[-1][0])
    if why is not None:
        return f"{left}, and {'the account' if account else named(ledger)} {why}."
    if not checked.loss.fits(state.remaining):
        return f"{left}; this does not fit."
    shared = " the account; the budget that all accounts share may have less left" if account else ""
    return f"{left}; this fits{shared}."
