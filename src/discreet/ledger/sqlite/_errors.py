"""Errors of SQLite and of the file system as `LedgerError`."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from discreet.errors import LedgerError

__all__ = ["apply", "in_plain_words", "is_busy", "is_of_the_disk", "is_unsynced"]

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}

_WORDS = {
    sqlite3.SQLITE_READONLY_DBMOVED: "the file was moved or deleted while in use; put it back and open it again",
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_BUSY: "another process has kept it locked for a minute; end that process, or try again later",
    sqlite3.SQLITE_LOCKED: "another process has kept it locked for a minute; end that process, or try again later",
    sqlite3.SQLITE_PROTOCOL: "another process has kept it locked for a minute; end that process, or try again later",
    sqlite3.SQLITE_READONLY: "it or its directory is read-only; give this user write permission to both",
    sqlite3.SQLITE_PERM: "it may not be used by this user; give this user read and write permission",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that the file is there and that this user may read and write "
    "it and its directory",
    sqlite3.SQLITE_NOTADB: "it is damaged or not a ledger; restore a copy, and remember what was spent since",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore a copy, and remember what was spent since",
    sqlite3.SQLITE_IOERR: "the disk refused to read or write; check for space, quota and disk errors, then try again",
    sqlite3.SQLITE_TOOBIG: "what is to be stored is larger than SQLite takes, 1 GB as it comes; keep the ledger in a "
    "file, which has large releases beside it, or on a server",
    sqlite3.SQLITE_NOMEM: "there is not enough memory; free some and try again",
}


def is_busy(error: BaseException) -> bool:
    """Whether trying again in a moment may help."""
    return _code(error) & 0xFF in _BUSY


def is_of_the_disk(error: BaseException) -> bool:
    """Whether the disk refused to read, write or sync; that it was full does not count."""
    return _code(error) & 0xFF == sqlite3.SQLITE_IOERR


def is_unsynced(error: BaseException) -> bool:
    """Whether the disk refused to confirm what it was given."""
    return _code(error) in (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)


@contextmanager
def in_plain_words(where: str) -> Generator[None]:
    """Turn errors from below into `LedgerError`."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        code = _code(error)
        other = "it is damaged, or was changed by something other than discreet; restore a copy"
        what = _WORDS.get(code) or _WORDS.get(code & 0xFF, other)
        raise LedgerError(f"{where}: {what} (SQLite error {code}); nothing was answered") from None
    except OSError as error:
        raise apply(where, error) from None


def apply(where: str, error: OSError) -> LedgerError:
    """A `LedgerError` for an error of the file system."""
    reason = error.strerror or type(error).__name__
    return LedgerError(f"{where}: {reason[0].lower()}{reason[1:]}; give a path that this user may read and write")


def _code(error: BaseException) -> int:
    cause = error.orig if isinstance(error, DBAPIError) else error
    code: int | None = getattr(cause, "sqlite_errorcode", None)
    return sqlite3.SQLITE_ERROR if code is None else code
