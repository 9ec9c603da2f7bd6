"""SQLite: one file, or memory.

Why a charge is on disk when `reserve` returns: SQLite's write-ahead log takes the transaction, and its commit; then the
lock is let go, so that the next writer may begin; then *we* sync the log, while other processes write to it and sync it
too. A transaction that builds on one that is not on disk yet lies behind it in the same log, so its own sync covers
both; what SQLite finds after a power cut is a beginning of the log, by its checksums. Pages are moved from the log into
the file under the writers' lock (see `_wal`), after the log is on disk; SQLite syncs the file before the log begins
anew. The last to close moves all, and deletes the log: at rest the one file is the ledger.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from discreet.errors import LedgerError
from discreet.ledger.log import _database
from discreet.ledger.log._database import Fill
from discreet.ledger.sqlite import _payload_files
from discreet.ledger.sqlite._errors import in_plain_words
from discreet.ledger.sqlite._file import File
from discreet.ledger.sqlite._forks import inside

__all__ = [
    "APPLICATION_ID",
    "Database",
    "append_only",
    "build",
    "clock",
    "complete",
    "header_of",
    "mark",
    "marked",
    "uri",
]

APPLICATION_ID = 0x64704C67
"""``dpLg``: what `file` and SQLite read at offset 68 of a ledger."""

_APPEND_ONLY = """
CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END
"""

_files: dict[tuple[int, int], File] = {}
_registry = threading.RLock()
"""Held while a file is opened otherwise than by SQLite: closing it drops the locks that this process holds on it."""


def uri(path: str, options: str) -> str:
    """A SQLite URI for any path, whatever characters are in it."""
    return f"file:{quote(os.fsencode(path))}?{options}"


def mark(connection: sa.Connection, number: int) -> None:
    """Mark a file as a ledger of this format; part of the transaction."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.exec_driver_sql(f"PRAGMA user_version = {number:d}")


def marked(connection: sa.Connection) -> int:
    """The format that a file is marked with; 0 for none."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar() or 0)


def clock(connection: sa.Connection) -> datetime:  # noqa: ARG001
    """The clock of this machine."""
    return datetime.now(UTC)


def append_only(connection: sa.Connection, table: str = "entries") -> None:
    """Let nobody change or remove rows of this table by accident."""
    for verb in ("update", "delete"):
        connection.exec_driver_sql(_APPEND_ONLY.format(table=table, verb=verb))


def complete(connection: sa.Connection) -> None:
    """No tables but those of every ledger: large payloads are files."""


def header_of(path: str) -> bytes | None:
    """The first bytes of a file, read without SQLite, which would finish what a dead writer has begun.

    None if this process uses the file as a ledger already. The bytes of interest are the same before, during and after
    any transaction.
    """
    with inside(), _registry:
        if _key(path) in _files:
            return None
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read(100)


def build(path: str, fill: Fill) -> None:
    """Make the empty file a ledger, in one transaction, synced; nobody else may know it yet."""
    with inside():
        engine = sa.create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool, hide_parameters=True)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
            connection.exec_driver_sql("PRAGMA fullfsync = ON")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            fill(connection)
            connection.commit()
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        engine.dispose()


class Database:
    """One SQLite database: an existing file, or a private one in memory for path None. See `_database.Database`.

    All objects of a process that are of one file share its connections.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.where = "the ledger in memory" if path is None else f"the ledger {path!r}"
        self._store: File | _Memory
        if path is None:
            self._store = _Memory()
            self._end = weakref.finalize(self, self._store.close)
            return
        with in_plain_words(self.where), inside(), _registry:
            key = _key(path)
            self._store = _files.get(key) or File(path, self.where, key, _connect)
            self._store.users += 1
            _files[key] = self._store
            self._end = weakref.finalize(self, _leave, self._store)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not self._end.alive

    @contextmanager
    def transaction(self, *, write: bool) -> Generator[sa.Connection]:
        """One transaction; see the protocol."""
        with in_plain_words(self.where), self._in_use() as store, store.transaction(write=write) as connection:
            yield connection

    def sync(self) -> None:
        """Return when everything is on disk that anybody had committed before."""
        with in_plain_words(self.where), self._in_use() as store:
            store.sync()

    def store_large(self, digest: str, payload: bytes) -> bool:
        """A file beside the ledger; a database in memory has room in its rows."""
        if self.path is None:
            return False
        with self.transaction(write=False):  # one that was closed or moved gets no folder where it was
            pass
        _payload_files.store(self.path, digest, payload)
        return True

    def load_large(self, digest: str, connection: sa.Connection) -> bytes | None:  # noqa: ARG002 - it is a file
        """What the file beside the ledger holds."""
        return None if self.path is None else _payload_files.load(self.path, digest)

    def digest_large(self, digest: str, connection: sa.Connection) -> str | None:  # noqa: ARG002 - it is a file
        """The SHA-256 of the file."""
        return None if self.path is None else _payload_files.digest(self.path, digest)

    def place_of_large(self, digest: str) -> str:
        """The file."""
        return self.where if self.path is None else f"the file {str(_payload_files.folder_of(self.path) / digest)!r}"

    def close(self) -> None:
        """Refuse further transactions; drop a database in memory."""
        with in_plain_words(self.where):
            self._end()

    @contextmanager
    def _in_use(self) -> Generator[File | _Memory]:
        with _registry:
            if not self._end.alive:
                raise LedgerError(f"{self.where} is closed; open it again with open_ledger")
            self._store.users += 1
        try:
            yield self._store
        finally:
            _leave(self._store)


class _Memory:
    """A database that ends with its object, or its process."""

    def __init__(self) -> None:
        self.users = 0
        self._process = os.getpid()
        self._turn = threading.Lock()
        engine = sa.create_engine("sqlite://", creator=lambda: _connect(None), poolclass=NullPool, hide_parameters=True)
        self._connection = engine.connect()

    @contextmanager
    def transaction(self, *, write: bool) -> Generator[sa.Connection]:
        """One at a time."""
        if self._process != os.getpid():
            raise LedgerError("a ledger in memory cannot be used by a child process; keep the ledger in a file")
        if not self._turn.acquire(timeout=_database.PATIENCE):
            raise LedgerError("another thread has kept the ledger in memory locked for a minute")
        with ExitStack() as held:
            held.callback(self._turn.release)
            held.callback(self._connection.rollback)
            self._connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
            yield self._connection
            self._connection.commit()

    def sync(self) -> None:
        """There is nothing more durable."""

    def close(self) -> None:
        """Drop it."""
        if self._process == os.getpid():
            self._connection.close()


def _leave(store: File | _Memory) -> None:
    with suppress(LedgerError), inside(), _registry:  # a child of a torn fork leaves all as it is
        store.users -= 1
        if isinstance(store, File) and not store.users:
            _files.pop(store.key, None)
            store.shut()


def _new_registry() -> None:
    global _registry  # noqa: PLW0603
    _registry = threading.RLock()


os.register_at_fork(after_in_child=_new_registry)


def _key(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116
    return status.st_dev, status.st_ino


def _connect(path: str | None) -> sqlite3.Connection:
    place = ":memory:" if path is None else uri(path, "mode=rw")
    return sqlite3.connect(place, uri=True, timeout=0.02, isolation_level=None, check_same_thread=False)
