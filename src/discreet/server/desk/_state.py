"""The desk's own file: its audit log, requests for budget, an index of answers, sign-ins, and counters.

It holds neither data nor answers, and no secret but the one that makes challenges of unknown accounts. It decides
nothing about privacy: the ledger does. Nothing is written here between a charge and its answer, so that a file that is
full, locked or gone loses no answer that was paid for.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import ParameterError
from discreet.server.desk._refusals import Refusal

__all__ = ["State"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS audit (
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, account TEXT NOT NULL, act TEXT NOT NULL, data TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY, account TEXT NOT NULL, loss TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL,
    state TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS answers (
    seq INTEGER NOT NULL, ledger TEXT NOT NULL, account TEXT NOT NULL, question TEXT NOT NULL, plan TEXT NOT NULL,
    loss TEXT NOT NULL, size REAL NOT NULL, at TEXT NOT NULL, PRIMARY KEY (ledger, seq)
) STRICT;
CREATE INDEX IF NOT EXISTS answers_of_question ON answers (ledger, question, seq);
CREATE TABLE IF NOT EXISTS indexed (ledger TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS sign_ins (
    secret_sha256 TEXT PRIMARY KEY, kind TEXT NOT NULL, until REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS flows (
    id INTEGER PRIMARY KEY AUTOINCREMENT, state_sha256 TEXT NOT NULL UNIQUE, browser_sha256 TEXT NOT NULL,
    until REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS flows_until ON flows (until);
CREATE TABLE IF NOT EXISTS sessions (
    secret_sha256 TEXT PRIMARY KEY, account TEXT NOT NULL, until REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
"""
_PATIENCE_SECONDS = 10.0
_UNUSABLE = (
    "the desk's own file cannot be used now, and nothing is done that it would have no line of: nothing was charged"
)


class State:
    """One connection to the file, for all threads of a process; None keeps it in memory.

    Raises `ParameterError` for a file that cannot be used.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        try:
            if path is not None:
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=_PATIENCE_SECONDS,
                check_same_thread=False,
                isolation_level=None,
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ParameterError(f"the desk's file {path} cannot be used: {reason}; name another place") from None

    @contextmanager
    def transaction(self, *, write: bool = True) -> Generator[sqlite3.Connection]:
        """One transaction, alone in this process; one that writes is alone in all of them.

        Raises `Refusal` ("ledger") where the file cannot be used now: full, read-only, or locked for ten seconds.
        """
        if not self._lock.acquire(timeout=_PATIENCE_SECONDS):
            raise Refusal("ledger", _UNUSABLE)
        try:
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite ends it by itself where the disk fails
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.Error:
            raise Refusal("ledger", _UNUSABLE) from None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Give up the file."""
        with self._lock:
            self._connection.close()
