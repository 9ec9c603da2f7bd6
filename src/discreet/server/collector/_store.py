"""A store: reports that wait to be counted, counts, and the batches that were seen; one SQLite database.

A batch is in one transaction with its key, so that no crash can part them. Reports wait in `pending` and are now and
then added to `counts`, in one transaction too; then they are gone. There is one connection that writes, of the process
that holds the lock, and none other that moves pages from the log into the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from discreet.errors import DataError
from discreet.local import Reports, Scheme, Server, from_json

__all__ = [
    "BUSY_SECONDS",
    "SCHEMA",
    "Batch",
    "Outcome",
    "Store",
    "added_up",
    "connected",
    "database",
    "locked",
    "read_store",
    "scheme_of",
    "store_error",
]


_VERSION = 1
_AT_ONCE = 1 << 22
"""Bytes of reports that are added at a time, since each addition goes over all counts; a batch counts 256 more."""
BUSY_SECONDS = 10
"""How long a connection waits for another."""

SCHEMA = (
    "CREATE TABLE counts (scheme TEXT NOT NULL, state BLOB NOT NULL)",
    "CREATE TABLE pending (seq INTEGER PRIMARY KEY, reports BLOB NOT NULL, rejected INTEGER NOT NULL)",
    "CREATE TABLE seen (seq INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, digest BLOB NOT NULL)",
    f"PRAGMA user_version = {_VERSION}",
)
"""`counts` has one row: the document, and the server's state without what is pending. No table has a time in it."""


def database(home: Path) -> Path:
    """The file of a store's database."""
    return home / "collected.sqlite"


@contextmanager
def locked(home: Path, patience: float) -> Generator[bool]:
    """Whether this process got the lock on the store within `patience` seconds. The lock ends with the process."""
    handle = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield _taken(handle, time.monotonic() + patience)
    finally:
        os.close(handle)


def _taken(handle: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.05)
        else:
            return True


def connected(home: Path, mode: str) -> sqlite3.Connection:
    """A connection to a database that is there; ``mode`` is ``rw``, ``ro``, or ``ro&immutable=1`` if nobody writes."""
    return sqlite3.connect(
        f"{database(home).absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def added_up(connection: sqlite3.Connection, scheme: Scheme[Any]) -> Server[Any]:
    """The counts, with the pending reports added. Raises `DataError` for a damaged store."""
    server = scheme.server(connection.execute("SELECT state FROM counts").fetchone()[0])
    some: list[Reports] = []
    size = 0
    for body, rejected in connection.execute("SELECT reports, rejected FROM pending ORDER BY seq"):
        batch = Reports.from_bytes(body)
        if batch.fingerprint != scheme.fingerprint:
            raise DataError("this store was damaged: it holds reports of another scheme")
        server.reject(rejected)
        if not len(batch):
            continue
        if some and (batch.width != some[0].width or size >= _AT_ONCE):
            server = _with(server, Reports.together(some))
            some, size = [], 0
        some.append(batch)
        size += batch.rows.nbytes + 256
    return _with(server, Reports.together(some)) if some else server


def _with(server: Server[Any], batch: Reports) -> Server[Any]:
    """The server with a batch added. Rows on which the protocol raises are found by bisection, and rejected."""
    before = bytes(server)
    try:
        return server.add(batch)
    except Exception:  # noqa: BLE001
        server = Server.of_state(server.scheme, before)
    if len(batch) == 1:
        return server.reject(1)
    half = len(batch) // 2
    for rows in (batch.rows[:half], batch.rows[half:]):
        server = _with(server, Reports(batch.fingerprint, rows))
    return server


def scheme_of(connection: sqlite3.Connection, wanted: Scheme[Any] | None) -> Scheme[Any]:
    """The scheme of a store, or the one wanted, which may read the same reports in another way.

    Raises `DataError` if one of other reports is wanted, and for a file that is no store.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != _VERSION:
        raise DataError(f"this is no store of version {_VERSION}; a newer discreet may read it, or it is another file")
    stored = from_json(connection.execute("SELECT scheme FROM counts").fetchone()[0])
    if wanted is not None and wanted.label != stored.label:
        raise DataError(
            f"the store is of scheme {stored.fingerprint.hex()} ({stored.protocol}), and the document is of scheme "
            f"{wanted.fingerprint.hex()} ({wanted.protocol}); use the store's own document, or another directory"
        )
    return stored if wanted is None else wanted


def store_error(home: Path, error: Exception) -> DataError:
    """The error for a store that cannot be used, with what to do next."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(
        f"the store {home} cannot be used: {reason}; see that the directory is there, on a local disk "
        "with room, and may be written by this user"
    )


_LEAST_PENDING = 1 << 22
"""Pending reports are added to the counts when they have as many bytes, or as many as the counts."""

_PATIENCE = 5.0
"""Seconds to wait for a process that reads the store, or one that is ending."""


class Outcome(Enum):
    """The outcome of a batch."""

    COUNTED = "counted"
    REPEATED = "repeated"
    REFUSED = "refused"
    """Its key was used for another one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was checked: its valid reports, the number of invalid rows, and its key and digest.

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
                missing = [each for each in (home.absolute(), *home.absolute().parents) if not each.exists()]
                home.mkdir(mode=0o700, parents=True, exist_ok=True)
                for folder in missing:
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
                raise store_error(home, error) from None
            self._closing = stack.pop_all()

    def _opened(self) -> sqlite3.Connection:
        path, created = database(self._home), False
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
            created = True
        except FileExistsError:
            created = path.stat().st_size == 0
        connection = connected(self._home, "rw")
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
                raise DataError(f"the store {self._home} is on a disk without shared memory; it belongs on a local one")
            for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA secure_delete = ON")
            empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
            if created or empty:
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
        with suppress(PermissionError):  # it belongs to somebody else, who made this directory in it
            _sync(self._home.absolute().parent)

    def write(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Write batches to disk, all of them or, with an error, none; the outcome of each.

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
        """Add pending reports to the counts: if there are many, or `now`. Raises `DataError` for a damaged store."""
        if self._pending < self._due and not now:
            return
        self._due = 2 * self._pending  # if this fails, it is tried again when there is twice as much
        with self._transaction() as connection:
            state = bytes(added_up(connection, self._scheme))
            self._scheme.server(state)  # only counts that can be read again may replace reports
            connection.execute("UPDATE counts SET state = ?", (state,))
            connection.execute("DELETE FROM pending")
        self._pending, self._due = 0, max(_LEAST_PENDING, 8 * self._scheme.cells)
        self._forget()

    def _forget(self) -> None:
        """Empty the write-ahead log, which still has the reports that were added; if somebody reads it, next time."""
        try:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            raise store_error(self._home, error) from None
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS}")

    def probe(self) -> None:
        """Write without changing any data. Raises `DataError` if the store cannot be written."""
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
            raise store_error(self._home, error) from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def close(self) -> None:
        """Add up the pending reports, and release the store."""
        with self._closing:
            if self._pending:
                self.fold(now=True)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync(folder: Path) -> None:
    """Sync a directory, so that new entries in it survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_store(home: Path, scheme: Scheme[Any] | None = None) -> Server[Any]:
    """A server with all reports that were acknowledged so far. The store stays as it is, and may be in use.

    Costs no privacy: clients have paid. Raises `DataError` for a store that is not there, is of another scheme or was
    damaged.

    >>> import tempfile
    >>> from discreet.local import KaryRandomizedResponse
    >>> from discreet.server.collector import Store
    >>> scheme = KaryRandomizedResponse(domain=["a", "b"], epsilon=1)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     Store(scheme, Path(home)).close()
    ...     read_store(Path(home)).reports
    0
    """
    if not database(home).is_file():
        raise DataError(f"there is no store in {home}; `discreet collect serve --store {home}` makes one")
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(closing(connected(home, _mode(home, stack))))
            connection.execute("BEGIN")
            return added_up(connection, scheme_of(connection, scheme))
        except (OSError, sqlite3.Error) as error:
            raise store_error(home, error) from None


def _mode(home: Path, stack: ExitStack) -> str:
    """How to read: if nobody else has the store, by a connection that tidies its log up.

    If another process has it open, its log is in order and can be read without writing. Where this process may not
    write at all, a store without a log is read as it lies.
    """
    try:
        return "rw" if stack.enter_context(locked(home, patience=0)) else "ro"
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        log = database(home).with_name(f"{database(home).name}-wal")
        return "ro" if log.exists() else "ro&immutable=1"
