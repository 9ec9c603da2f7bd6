"""A SQLite file as this process has it open: its connections, its log, and its one writer."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from discreet.errors import LedgerError
from discreet.ledger.log import _database
from discreet.ledger.sqlite._errors import is_busy, is_of_the_disk, is_unsynced
from discreet.ledger.sqlite._forks import inside, shut_at_forks
from discreet.ledger.sqlite._wal import Log

__all__ = ["File"]

_SHORTEST, _LONGEST = 0.00005, 0.005
_PEEKS, _BLINK, _NAP = 40, 0.0003, 0.005
"""How often, and how soon again, a writer looks whether the lock is free before it lets go of all that it holds; and
how long at most it sleeps before, since looking costs those who work."""
_IDLE = 8
_SETTINGS = (
    "PRAGMA busy_timeout = 20",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA fullfsync = ON",
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA trusted_schema = OFF",
)


class File:
    """One file, for as long as `users` is above 0. Threads of this process share it."""

    def __init__(
        self, path: str, where: str, key: tuple[int, int], connect: Callable[[str], sqlite3.Connection]
    ) -> None:
        self.key, self.users = key, 0
        self._path, self._where = path, where
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._change = threading.Lock()
        self._idle: list[sa.Connection] = []
        self._count = 0
        self._abandoned: list[object] = []
        self._log: Log | None = None
        self._flushing = threading.Lock()
        self._written = self._flushed = 0
        self._doubt: str | None = None
        self._usual = 0.0
        self._engine = sa.create_engine(
            "sqlite://", creator=lambda: connect(path), poolclass=NullPool, hide_parameters=True
        )
        shut_at_forks(self)

    @contextmanager
    def transaction(self, *, write: bool) -> Generator[sa.Connection]:
        """One transaction, as `_database.Database` promises."""
        if not write:
            with ExitStack() as held:
                connection = self._begin(held, self._read)
                yield connection
                self._stay_home()
            return
        with ExitStack() as held, ExitStack() as locked:
            self._wait_for_turn(locked)
            connection = self._begin(held, partial(self._write, locked))
            with self._noticing():
                yield connection
                _end(connection, "commit")
            log = self._known_log()
            self._written += 1
            ticket = self._written
            if log.is_long():
                self._flush(log, ticket)
                self._shorten(connection)
            locked.close()
            self._flush(log, ticket)
            self._stay_home()

    def sync(self) -> None:
        """Return when everything is on disk that anybody had committed before."""
        with ExitStack() as held:
            self._begin(held, self._read)
            log = self._known_log()
            log.settle()
            self._flush(log, None)
            self._stay_home()

    def shut(self) -> None:
        """Close all connections; the next transaction opens its own."""
        if self._process == os.getpid():
            while self._idle:
                self._drop(self._idle.pop())

    def inherit(self, *, torn: bool) -> None:
        """Be a child's: with locks of its own, and without what its parent has open."""
        self._turn, self._change, self._flushing = threading.Lock(), threading.Lock(), threading.Lock()
        if torn or self._count:
            self._abandoned += [*self._idle, self._engine]
            self._idle = []
            self._forget_log()  # a copy of it would keep the parent's lock after the parent's death
        else:
            self._process = os.getpid()

    def _wait_for_turn(self, held: ExitStack) -> None:
        if not self._turn.acquire(timeout=_database.PATIENCE):
            raise LedgerError(f"{self._where}: another thread of this process has kept it locked for a minute")
        held.callback(self._turn.release)

    def _begin(self, held: ExitStack, start: Callable[[sa.Connection], bool]) -> sa.Connection:
        """A connection in a transaction, given back by `held`, which holds off forks meanwhile."""
        deadline, pause = time.monotonic() + _database.PATIENCE, _SHORTEST
        while True:
            with ExitStack() as attempt:
                attempt.enter_context(inside())
                if self._process != os.getpid():
                    raise LedgerError(
                        f"{self._where} was open when this process was forked, by something other than Python, and "
                        "cannot be used here; fork before it is opened"
                    )
                self._stay_home()
                try:
                    connection = self._take(attempt)
                    if start(connection):
                        held.push(attempt.pop_all())
                        return connection
                    busy = None
                except (DBAPIError, sqlite3.Error) as error:
                    if not is_busy(error):
                        raise
                    busy = error
            if time.monotonic() > deadline:
                raise busy or LedgerError(
                    f"{self._where}: another process has kept it locked for a minute; end that process, or try again "
                    "later; nothing was answered"
                )
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST)

    def _read(self, connection: sa.Connection) -> bool:
        driver = _driver(connection)
        driver.execute("BEGIN")
        driver.execute("PRAGMA schema_version").fetchone()  # the snapshot is taken by the first to read
        return True

    def _write(self, locked: ExitStack, connection: sa.Connection) -> bool:
        if self._doubt is not None:
            raise LedgerError(self._doubt)
        log = self._known_log()
        log.settle()
        with ExitStack() as attempt:
            attempt.callback(log.unlock)  # harmless without the lock
            if not self._locked(log):
                return False
            attempt.callback(_end, connection, "rollback")
            _driver(connection).execute("BEGIN IMMEDIATE")
            locked.push(attempt.pop_all())
        return True

    def _locked(self, log: Log) -> bool:
        """Whether the lock was had in a moment, of which half of what it took lately is slept through."""
        began = time.monotonic()
        had = log.lock()
        if not had:
            time.sleep(min(self._usual / 2, _NAP))
            had = any(log.lock() or time.sleep(_BLINK) for _ in range(_PEEKS))
        self._usual += (time.monotonic() - began - self._usual) / 8
        return had

    def _take(self, held: ExitStack) -> sa.Connection:
        with self._change:
            connection = self._idle.pop() if self._idle else self._open()
        held.callback(self._give_back, connection)
        return connection

    def _give_back(self, connection: sa.Connection) -> None:
        try:
            _end(connection, "rollback")
        except (DBAPIError, sqlite3.Error):
            self._drop(connection)
            raise
        if len(self._idle) < _IDLE:
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _open(self) -> sa.Connection:
        connection = self._engine.connect()
        try:
            driver = _driver(connection)
            for setting in _SETTINGS:
                driver.execute(setting)
            if driver.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                self._convert(driver)
            driver.execute("SELECT 1 FROM sqlite_master").fetchone()  # from now on the log exists
            if self._log is None:
                self._log = Log(self._path)
            self._stay_home()
        except BaseException:
            connection.close()
            if not self._count:
                self._forget_log()
            raise
        self._count += 1
        return connection

    def _convert(self, driver: sqlite3.Connection) -> None:
        if driver.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise LedgerError(f"{self._where} lies where files cannot be shared; move it to a local disk")

    def _drop(self, connection: sa.Connection) -> None:
        with self._change:
            self._count -= 1
            if not self._count:  # before SQLite deletes it
                self._forget_log()
            connection.close()

    def _forget_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    def _known_log(self) -> Log:
        assert self._log is not None
        return self._log

    def _flush(self, log: Log, ticket: int | None) -> None:
        """Sync the log, unless a sync that began after the commit of this number has done so.

        One thread at a time: the system tells of a failure once, and only to the first who asks.
        """
        with self._flushing:
            if self._doubt is not None:
                raise LedgerError(self._doubt)
            if ticket is not None and ticket <= self._flushed:
                return
            written = self._written
            try:
                log.sync()
            except OSError as error:
                raise self._doubtful(error.strerror or "no reason given") from None
            self._flushed = written

    @contextmanager
    def _noticing(self) -> Generator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            if is_unsynced(error):
                raise self._doubtful("a sync failed") from None
            raise

    def _doubtful(self, reason: str) -> LedgerError:
        """After a failed sync the system may take for written what the disk never got: a second sync means nothing."""
        self._doubt = (
            f"{self._where}: the disk did not confirm what was written to it ({reason}), and may have lost it; what it "
            "has, counts. Nothing more is written until the disk is well and all who use the ledger have closed it and "
            "opened it again"
        )
        return LedgerError(self._doubt)

    def _shorten(self, connection: sa.Connection) -> None:
        """Move the log, which is on disk, into the file. The lock of writers is held."""
        try:
            _driver(connection).execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            if is_of_the_disk(error):
                self._doubtful("while it was moved within the ledger")

    def _stay_home(self) -> None:
        try:
            status = os.stat(self._path)  # noqa: PTH116
        except FileNotFoundError:
            raise LedgerError(
                f"{self._where} is gone; restore the file with everything that was spent, then open it again"
            ) from None
        if (status.st_dev, status.st_ino) != self.key:
            raise LedgerError(f"{self._where} was moved or replaced while in use; put it back and open it again")
        if self._log is not None and not self._log.is_home():
            raise LedgerError(
                f"{self._where} has lost its log, the file {self._log.path!r}, while in use, and with it perhaps what "
                "was spent; put it back, or restore a copy, counting what was spent since"
            )


def _end(connection: sa.Connection, how: Literal["commit", "rollback"]) -> None:
    getattr(connection, how)()
    driver = _driver(connection)
    if driver.in_transaction:  # nothing was executed through SQLAlchemy
        getattr(driver, how)()


def _driver(connection: sa.Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
