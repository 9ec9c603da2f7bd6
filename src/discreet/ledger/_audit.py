"""Reading a whole ledger: for auditors, who see all but what was released, and for its owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger import _rows
from discreet.ledger._account import WHOLE, Account
from discreet.ledger._book import Book
from discreet.ledger._glance import kinds, latest, moments
from discreet.ledger._history import History
from discreet.ledger._openings import opening_of
from discreet.ledger._protocol import Entry, Head
from discreet.ledger._story import Facts

__all__ = ["LedgerAudit"]


class LedgerAudit:
    """All entries, accounts and totals of a ledger, and whether it is whole. It spends nothing and opens no release."""

    def __init__(self, book: Book) -> None:
        self._book = book

    @property
    def facts(self) -> Facts:
        """What was fixed when the ledger was made."""
        return self._book.public_facts()

    @property
    def whole(self) -> Account:
        """The budget that all accounts share, as it is now."""
        return self._book.scene(WHOLE).whole

    @property
    def accounts(self) -> dict[str, Account]:
        """Every account under the whole, as it is now, by its name."""
        return {s.account.name: s.account for s in self._book.scenes()[1] if s.account is not None}

    @property
    def history(self) -> History:
        """What one person may have lost since the ledger was made, in each currency that can express all of it.

        All are true at once, and `discreet.privacy.filters.Odometer` reads an ε off any of them.
        """
        return self._book.scene(WHOLE).lifetime

    @property
    def head(self) -> Head:
        """Where the ledger ends now. Note it where the ledger's keeper cannot reach: see `verify`."""
        return self._book.head()

    def entries(self) -> Iterator[Entry]:
        """Every entry up to now, in order, each checked against its own hash."""
        return self._book.entries()

    def latest(self, count: int) -> list[Entry]:
        """The newest entries, newest first, each checked against its own hash."""
        return latest(self._book, count)

    def kinds(self) -> dict[str, int]:
        """How many entries there are of each kind, as the table says."""
        return kinds(self._book)

    def moments(self, count: int, account: str = WHOLE) -> list[tuple[datetime, Account]]:
        """The whole, or an account, at no more than `count` moments spread over the ledger, and now."""
        return moments(self._book, count, account)

    def opening(self, position: str) -> dict[str, Any]:
        """What proves to whoever has the hash of an entry what that entry says of whom it is about, as plain JSON.

        `position` is as a certificate has it. Nothing in an opening tells of others: see `check_opening`. Raises
        `LedgerError` if the ledger holds no such entry, or one of an older format.
        """
        with self._book.database.transaction(write=False) as connection:
            row = _rows.of_hash(connection, position, self._book.where)
        if row is None:
            raise LedgerError(
                f"{self._book.where} has no entry of this hash: it is of another ledger, or was taken back"
            )
        return opening_of(row, self._book.where)

    def verify(self, anchors: Mapping[str, str] | None = None) -> int:
        """Walk the whole chain, payloads included; the number of entries. `LedgerError` names the first bad one.

        `anchors` are hashes of entries that were noted elsewhere, each under the name that an error calls it by: the
        hash of a `head`, or the position in a certificate. A chain that lacks one was cut off or put back. Without any,
        that cannot be known.
        """
        return self._book.verify(anchors or {})
