"""From a name on the command line to an open ledger, in the hands of its owner, an analyst or an auditor."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from discreet.cli._ledger_secrets import key_from, token_from
from discreet.errors import LedgerError

if TYPE_CHECKING:
    from discreet.ledger._audit import LedgerAudit
    from discreet.ledger._owned import OwnedLedger
    from discreet.ledger._sql import SqlLedger

__all__ = ["Access", "access", "at_server", "exists", "named", "opened", "reading", "spending"]


def exists(ledger: str) -> bool:
    """Whether there is something at a path; True for a URL, which only its server can tell."""
    return at_server(ledger) or os.path.lexists(ledger)


def at_server(ledger: str) -> bool:
    """Whether a ledger is named by the URL of a server."""
    from discreet.ledger._address import SCHEMES

    return ledger.startswith(SCHEMES)


def named(ledger: str) -> str:
    """How messages call a ledger: never with a password.

    >>> named("postgresql://ada:secret@db.example/shop?ledger=visits"), named("visits.ledger")
    ("the ledger 'visits' at db.example, database shop", 'visits.ledger')
    """
    if not at_server(ledger):
        return ledger
    from discreet.ledger._address import address_of

    return address_of(ledger).where


class Access(TypedDict):
    """How `connect` opens a ledger for somebody."""

    account: str | None
    token: str | None
    key: bytes | None


def access(ledger: str, account: str | None, token_file: Path | None, key_file: Path | None) -> Access:
    """Options to how `connect` opens a ledger. Raises `LedgerError` for an account where there is no ledger yet."""
    token = token_from(account, token_file)
    if account is not None and not exists(ledger):
        raise _none_at(ledger)
    return Access(account=account, token=token, key=key_from(key_file))


@contextmanager
def opened(ledger: str, key_file: Path | None) -> Generator[OwnedLedger]:
    """The ledger as its owner has it. Raises `LedgerError` if there is none."""
    from discreet.ledger import open_ledger

    if not exists(ledger):
        raise _none_at(ledger)
    with open_ledger(ledger, None, key=key_from(key_file)) as book:
        yield book


@contextmanager
def reading(
    ledger: str, key_file: Path | None, account: str | None, token_file: Path | None
) -> Generator[OwnedLedger | LedgerAudit | SqlLedger]:
    """The ledger as whoever asks may read it: the owner and auditors everything, an analyst their own account."""
    token = token_from(account, token_file)
    with opened(ledger, key_file) as book:
        if account is None:
            yield book
        elif getattr(book.accounts.get(account), "role", None) == "auditor":
            yield book.open_audit(account, token)
        else:
            yield book.open_account(account, token)


@contextmanager
def spending(
    ledger: str, key_file: Path | None, account: str | None, token_file: Path | None
) -> Generator[OwnedLedger | SqlLedger]:
    """The ledger as whoever asks may spend from it: the owner from the whole, an analyst from their account."""
    token = token_from(account, token_file)
    with opened(ledger, key_file) as book:
        yield book if account is None else book.open_account(account, token)


def _none_at(ledger: str) -> LedgerError:
    return LedgerError(f"there is no ledger at {ledger}; `discreet ledger create {ledger} --epsilon E` makes one")
