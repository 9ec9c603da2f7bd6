"""The counts of a store, read while a collector may be writing to it."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from discreet.errors import DataError
from discreet.local import Scheme, Server
from discreet.server._database import added_up, connected, database, locked, scheme_of, trouble

__all__ = ["read_store"]


def read_store(home: Path, scheme: Scheme[Any] | None = None) -> Server[Any]:
    """A server with all reports that were acknowledged so far. The store stays as it is, and may be in use.

    Costs no privacy: clients have paid. Raises `DataError` for a store that is not there, is of another scheme or was
    damaged.

    >>> import tempfile
    >>> from discreet.local import KaryRandomizedResponse
    >>> from discreet.server import Store
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
            raise trouble(home, error) from None


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
