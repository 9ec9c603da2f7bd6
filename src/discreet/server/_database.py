"""The files of a store, its lock, and how its counts are read."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import DataError
from discreet.local import Reports, Scheme, Server, from_json

__all__ = ["BUSY_SECONDS", "SCHEMA", "added_up", "connected", "database", "locked", "scheme_of", "trouble"]

_VERSION = 1
_AT_ONCE = 1 << 22
"""Bytes of reports that are added in one go, as each goes over all counts; a batch counts for 256 more."""
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
    """Whether this process got the store for itself, within some seconds. The lock ends with the process."""
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
    """The counts, with what is pending. Raises `DataError` for a store that was damaged."""
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
    """The server with a batch. What a protocol stumbles over is searched for, and rejected: it may stop nothing."""
    before = bytes(server)
    try:
        return server.add(batch)
    except Exception:  # noqa: BLE001
        server = server.scheme.server(before)
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
    found = from_json(connection.execute("SELECT scheme FROM counts").fetchone()[0])
    if wanted is not None and wanted.label != found.label:
        raise DataError(
            f"the store is of scheme {found.fingerprint.hex()} ({found.protocol}), and the document is of scheme "
            f"{wanted.fingerprint.hex()} ({wanted.protocol}); use the store's own document, or another directory"
        )
    return found if wanted is None else wanted


def trouble(home: Path, error: Exception) -> DataError:
    """What keeps a store from being used, and what to do."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(
        f"the store {home} cannot be used: {reason}; see that the directory is there, on a local disk "
        "with room, and may be written by this user"
    )
