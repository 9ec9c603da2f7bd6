"""A store: reports that wait to be counted, counts, and the batches that were seen; one SQLite database.

A batch is in one transaction with its key, so that no crash can part them. Reports wait in `pending` and are now and
then added to `counts`, in one transaction too; then they are gone. There is one connection that writes, of the process
that holds the lock, and none other that moves pages from the log into the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from discreet.errors import DataError
from discreet.local import Reports, Scheme, Server
from discreet.server._database import BUSY_SECONDS, SCHEMA, added_up, connected, database, locked, scheme_of, trouble

__all__ = ["Batch", "Outcome", "Store"]

_LEAST_PENDING = 1 << 22
"""Pending reports are added to the counts when they have as many bytes, or as many as the counts."""

_PATIENCE = 5.0
"""Seconds to wait for a process that reads the store, or one that is ending."""


class Outcome(Enum):
    """What became of a batch."""

    COUNTED = "counted"
    REPEATED = "repeated"
    REFUSED = "refused"
    """Its key was used for another one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was checked: its reports, how many rows beside them were none, and by what it is known again.

    Attributes
    ----------
    key
        16 bytes that stand for the key that its sender chose.
    digest
        16 bytes that stand for its content.
    """

    key: bytes
    digest: bytes
    reports: Reports
    rejected: int


class Store:
    """The reports of one scheme in a directory, which is made if it is not there. Only one process has it at a time.

    Raises `DataError` if another process has it, if it is of another scheme, was damaged or cannot be written.

    >>> import tempfile
    >>> from discreet.local import KaryRandomizedResponse
    >>> scheme = KaryRandomizedResponse(domain=["a", "b"], epsilon=1)
    >>> batch = Batch(b"k" * 16, b"d" * 16, scheme.simulate(["a", "b"]), rejected=0)
    >>> with tempfile.TemporaryDirectory() as home, Store(scheme, Path(home)) as store:
    ...     store.write([batch, batch]), store.server().reports
    ([<Outcome.COUNTED: 'counted'>, <Outcome.REPEATED: 'repeated'>], 2)
    """

    __slots__ = ("_closing", "_connection", "_due", "_home", "_pending", "_remember", "_scheme")

    def __init__(self, scheme: Scheme[Any], home: Path, *, remember: int = 10_000_000) -> None:
        self._scheme, self._home, self._remember = scheme, home, remember
        self._due = max(_LEAST_PENDING, 8 * scheme.cells)
        with ExitStack() as stack:
            try:
                made = [each for each in (home.absolute(), *home.absolute().parents) if not each.exists()]
                home.mkdir(mode=0o700, parents=True, exist_ok=True)
                for folder in made:
                    _sync(folder.parent)
                if not stack.enter_context(locked(home, _PATIENCE)):
                    raise DataError(
                        f"another process uses the store {home}; one collector has a store: stop that one, or take "
                        "another directory and add the counts afterwards"
                    )
                self._connection = self._opened()
                stack.callback(self._connection.close)
                self._pending = self._connection.execute(
                    "SELECT coalesce(sum(length(reports)), 0) FROM pending"
                ).fetchone()[0]
            except (OSError, sqlite3.Error) as error:
                raise trouble(home, error) from None
            self._closing = stack.pop_all()

    def _opened(self) -> sqlite3.Connection:
        path, made = database(self._home), False
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
            made = True
        except FileExistsError:
            made = path.stat().st_size == 0
        connection = connected(self._home, "rw")
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
                raise DataError(f"the store {self._home} is on a disk without shared memory; it belongs on a local one")
            for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA secure_delete = ON")
            empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
            if made or empty:
                self._make(connection)
            scheme_of(connection, self._scheme)
        except BaseException:
            connection.close()
            raise
        return connection

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            connection.execute(statement)
        state = bytes(self._scheme.server())
        connection.execute("INSERT INTO counts (scheme, state) VALUES (?, ?)", (self._scheme.to_json(), state))
        connection.execute("COMMIT")
        _sync(self._home)
        with suppress(PermissionError):  # then it is of somebody else, who made this directory in it
            _sync(self._home.absolute().parent)

    def write(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Put batches on disk, all of them or, with an error, none; what became of each.

        When this returns they outlast a power cut. Raises `DataError` if they cannot be written.
        """
        outcomes: list[Outcome] = []
        counted: list[Batch] = []
        last = 0
        with self._transaction() as connection:
            for batch in batches:
                row = connection.execute("SELECT digest FROM seen WHERE key = ?", (batch.key,)).fetchone()
                if row is not None:
                    outcomes.append(Outcome.REPEATED if row[0] == batch.digest else Outcome.REFUSED)
                    continue
                added = connection.execute("INSERT INTO seen (key, digest) VALUES (?, ?)", (batch.key, batch.digest))
                last = added.lastrowid or 0
                outcomes.append(Outcome.COUNTED)
                counted.append(batch)
            connection.execute("DELETE FROM seen WHERE seq <= ?", (last - self._remember,))
            body = bytes(Reports.together([batch.reports for batch in counted])) if counted else b""
            if counted:
                rejected = sum(batch.rejected for batch in counted)
                connection.execute("INSERT INTO pending (reports, rejected) VALUES (?, ?)", (body, rejected))
        self._pending += len(body)
        return outcomes

    def fold(self, *, now: bool = False) -> None:
        """Add what is pending to the counts, if it is much or at once. Raises `DataError` for a damaged store."""
        if self._pending < self._due and not now:
            return
        self._due = 2 * self._pending  # if this fails, it is tried again when there is twice as much
        with self._transaction() as connection:
            state = bytes(added_up(connection, self._scheme))
            self._scheme.server(state)  # what could not be read again may not take the place of reports
            connection.execute("UPDATE counts SET state = ?", (state,))
            connection.execute("DELETE FROM pending")
        self._pending, self._due = 0, max(_LEAST_PENDING, 8 * self._scheme.cells)
        self._forget()

    def _forget(self) -> None:
        """Empty the log, which still has the reports that were added up; if somebody reads it, the next time."""
        try:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise trouble(self._home, error) from None
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS}")

    def probe(self) -> None:
        """Write something that says nothing. Raises `DataError` if the store cannot be written."""
        with self._transaction() as connection:
            connection.execute(SCHEMA[-1])

    def server(self) -> Server[Any]:
        """The counts of all that was written. Raises `DataError` for a damaged store."""
        return added_up(self._connection, self._scheme)

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise trouble(self._home, error) from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def close(self) -> None:
        """Add up what is pending, and let others have the store."""
        with self._closing:
            if self._pending:
                self.fold(now=True)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync(folder: Path) -> None:
    """See that what was made in a directory is found there after a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
