"""Transactions on a SQLite file that are safe across threads, processes, forks and crashes.

Why a reservation is on disk when `reserve` returns: each write is one transaction in SQLite's rollback journal with
``synchronous=EXTRA``. Before COMMIT returns, SQLite has synced the journal and its directory entry, then the database
file, then deleted the journal and synced the directory again, so that not even a power cut brings the old state back.
On macOS ``fullfsync`` asks the drive as well.

Why not a write-ahead log: there, charges that were acknowledged may live only in ``-wal``, and whoever moves or copies
the one file that looks like the ledger loses them. Here everything that was ever acknowledged is in the one file.

Why a connection per transaction: it costs a third of a millisecond, and no connection is ever shared with a child.
`_gate` is held meanwhile, and by every fork, since a fork in the middle of a transaction would leave the child's copy
of SQLite believing in locks that it does not have. Never open the file without it: closing any file descriptor drops
all POSIX locks that the process holds on the file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, StaticPool

from discreet.errors import LedgerError
from discreet.ledger._trouble import in_plain_words, is_busy

__all__ = ["PATIENCE", "Database", "header_of", "uri"]

PATIENCE = 60.0
"""Seconds to wait for other processes."""

_gate = threading.RLock()


def _new_gate() -> None:
    global _gate  # noqa: PLW0603
    _gate = threading.RLock()


def _close_gate() -> None:
    _gate.acquire()


def _open_gate() -> None:
    _gate.release()


os.register_at_fork(before=_close_gate, after_in_parent=_open_gate, after_in_child=_new_gate)


def uri(path: str, options: str) -> str:
    """A SQLite URI for any path, whatever characters are in it."""
    return f"file:{quote(os.fsencode(path))}?{options}"


def header_of(path: str) -> bytes:
    """The first bytes of a file, read without SQLite, which would finish or undo what a dead writer has begun.

    The bytes of interest are the same before, during and after any transaction, so no lock is needed. The gate is:
    closing a file drops the locks that this process holds on it.
    """
    with _gate, open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.read(100)


class Database:
    """One SQLite database: an existing file, or a private one in memory for path None."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.where = "the ledger in memory" if path is None else f"the ledger {path!r}"
        self._pid = os.getpid()
        self._closed = False
        self._engine = sa.create_engine(
            "sqlite://",
            creator=self._connect,
            poolclass=StaticPool if path is None else NullPool,
            hide_parameters=True,
        )

    def close(self) -> None:
        """Refuse further transactions; drop a database in memory."""
        self._closed = True
        if self._pid == os.getpid():
            self._engine.dispose()

    @contextmanager
    def transaction(self, *, write: bool) -> Generator[sa.Connection]:
        """One transaction, committed and on disk on leaving, rolled back by an exception."""
        with in_plain_words(self.where), ExitStack() as held:
            home = self._home()
            connection = self._begin(held, write=write)
            yield connection
            connection.commit()
            if home != self._home():
                raise LedgerError(f"{self.where} was moved or replaced while in use; put it back and open it again")

    def sync(self) -> None:
        pass

    def clock(self, connection):
        from datetime import UTC, datetime
        return datetime.now(UTC)

    def append_only(self, connection, table):
        for verb in ("update", "delete"):
            connection.exec_driver_sql(f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END")

    def mark(self, connection, number):
        connection.exec_driver_sql(f"PRAGMA application_id = {0x64704C67}")
        connection.exec_driver_sql(f"PRAGMA user_version = {number}")

    def marked(self, connection):
        return connection.exec_driver_sql("PRAGMA user_version").scalar()

    def _begin(self, held: ExitStack, *, write: bool) -> sa.Connection:
        deadline, pause = time.monotonic() + PATIENCE, 0.001
        while True:
            with ExitStack() as attempt:
                attempt.enter_context(_gate)
                try:
                    connection = attempt.enter_context(self._engine.connect())
                    connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
                    connection.exec_driver_sql("PRAGMA fullfsync = ON")
                    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
                    connection.exec_driver_sql("PRAGMA user_version").scalar()  # takes the lock of a reader
                    connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
                except (DBAPIError, sqlite3.Error) as error:
                    if not is_busy(error) or time.monotonic() > deadline:
                        raise
                else:
                    held.push(attempt.pop_all())
                    return connection
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def _connect(self) -> sqlite3.Connection:
        place = ":memory:" if self.path is None else uri(self.path, "mode=rw")
        return sqlite3.connect(place, uri=True, timeout=0.02, isolation_level=None, check_same_thread=False)

    def _home(self) -> tuple[int, int] | None:
        if self._closed:
            raise LedgerError(f"{self.where} is closed; open it again with open_ledger")
        if self.path is None:
            if self._pid != os.getpid():
                raise LedgerError("a ledger in memory cannot be used by a child process; keep the ledger in a file")
            return None
        try:
            found = os.stat(self.path)  # noqa: PTH116
        except FileNotFoundError:
            raise LedgerError(
                f"{self.where} is gone; restore the file with everything that was spent, then open it again"
            ) from None
        return found.st_dev, found.st_ino
