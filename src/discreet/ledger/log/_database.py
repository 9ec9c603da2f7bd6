"""The protocol of a database that stores a ledger."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import sqlalchemy as sa

__all__ = ["PATIENCE", "Database", "Fill"]

PATIENCE = 60.0
"""Seconds to wait for other processes."""

Fill = Callable[["sa.Connection"], None]
"""Makes an empty database a ledger."""


class Database(Protocol):
    """Transactions that any number of threads and processes, forked ones too, may run at once.

    **A write** (``transaction(write=True)``) has the ledger to itself, over all processes, from its first statement: it
    sees every transaction that was committed before, and none is committed while it runs. When the block is left
    without an exception it has been committed *and is durable*: no crash of this process, of the database or of the
    machine takes it back. An exception rolls it back. Within the block nothing else of this database may be written.

    **A read** (``transaction(write=False)``) is one snapshot of what was committed; it waits for nobody, and nobody for
    it. It may see what another process has committed and not yet made durable: `sync` before acting on it.

    Whatever goes wrong is a `LedgerError` in plain words that hold no password. After one, from a write, it may be that
    the transaction was committed; it counts if it was. After a disk has refused to confirm a write, a database takes no
    more writes until it is opened again.
    """

    @property
    def where(self) -> str:
        """The database, for messages."""
        ...

    @property
    def path(self) -> str | None:
        """The file, or None for a database without a file of its own."""
        ...

    @property
    def closed(self) -> bool:
        """Whether `close` was called; known without a lock or a query."""
        ...

    def transaction(self, *, write: bool) -> AbstractContextManager[sa.Connection]:
        """One transaction, as the class promises."""
        ...

    def sync(self) -> None:
        """Return when everything is durable that anybody had committed before the call."""
        ...

    def store_large(self, digest: str, payload: bytes) -> bool:
        """Store a payload that is too large for a row under its SHA-256, durably when this returns.

        False if this database holds payloads of any size in rows. What is there already is stored once.
        """
        ...

    def load_large(self, digest: str, connection: sa.Connection) -> bytes | None:
        """The payload that was stored under this SHA-256, unchecked; None if it is missing.

        `connection` is one in a transaction of this database, which a second one need not wait for.
        """
        ...

    def digest_large(self, digest: str, connection: sa.Connection) -> str | None:
        """The SHA-256 of what `load_large` would return, a piece at a time; None if it is missing."""
        ...

    def place_of_large(self, digest: str) -> str:
        """Where a large payload of this SHA-256 is stored, for messages."""
        ...

    def close(self) -> None:
        """Refuse further transactions; a database in memory is gone. Closing twice is harmless."""
        ...
