"""Large payloads beside a SQLite ledger: files of their own, named by the SHA-256 of what they hold.

A file is there, whole and on disk, before the entry that names it is written: so no entry names a payload that a crash
or a power cut could take. It is written under another name, which its writer holds a lock on, and renamed; what a
writer that died has left under such a name goes when the next large payload is stored. A file that no entry names,
after a crash between the two, is harmless, and stays.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, TypeVar

from discreet.errors import LedgerError
from discreet.ledger.sqlite._wal import synced, synced_directory

__all__ = ["PAYLOADS", "digest", "folder_of", "load", "store"]

PAYLOADS = ".payloads"
"""What a ledger's path ends with in the name of the folder."""

_NAME = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".new"
_LARGEST = 2**31
_T = TypeVar("_T")


def folder_of(path: str) -> Path:
    """Where the large payloads of a ledger lie. Copy it with the ledger."""
    return Path(path + PAYLOADS)


def store(path: str, name: str, payload: bytes) -> None:
    """Write the file of this name, for its owner alone, and sync it and its folder.

    Raises `LedgerError` if that fails.
    """
    folder = folder_of(path)
    try:
        _make(folder)
        synced_directory(folder.parent)
        _remove_abandoned(folder)
        with _draft(folder, name) as (file, partial):
            file.write(payload)
            file.flush()
            synced(file.fileno())
            partial.rename(folder / name)  # in place of the same bytes, if an entry names them or a sync has failed
            synced_directory(folder)
    except OSError as error:
        raise LedgerError(
            f"a large release of the ledger {path!r} cannot be written to {str(folder)!r}: {error.strerror}; make room "
            "there, for this user to write, and try the same bytes again"
        ) from None


def load(path: str, name: str) -> bytes | None:
    """What the file holds, None if it is missing. Raises `LedgerError` if it cannot be read."""
    return _read(path, name, lambda file: file.read())


def digest(path: str, name: str) -> str | None:
    """The SHA-256 of what the file holds, None if it is missing. Raises `LedgerError` if it cannot be read."""
    return _read(path, name, lambda file: hashlib.file_digest(file, "sha256").hexdigest())


def _read(path: str, name: str, use: Callable[[BufferedReader], _T]) -> _T | None:
    place = folder_of(path) / name
    if not _NAME.fullmatch(name):  # an entry that was edited may name any file
        return None
    try:
        handle = _opened(place)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
                return use(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(
            f"a large release of the ledger {path!r} cannot be read from {str(place)!r}: {error.strerror}; let this "
            "user read it, or restore a copy of it: what it cost stays spent, and it is not drawn again"
        ) from None
    raise LedgerError(
        f"{str(place)!r} is not the large release that discreet has written there; restore a copy of it: what it cost "
        "stays spent, and it is not drawn again"
    )


def _make(folder: Path) -> None:
    """Make the folder, unless it is there, for its owner alone to use, whatever the umask takes from new folders."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(0o700)


@contextmanager
def _draft(folder: Path, name: str) -> Generator[tuple[BinaryIO, Path]]:
    """A new file in the folder, locked as long as it is open, and gone after it unless it was renamed."""
    while True:
        handle, draft = tempfile.mkstemp(_SUFFIX, f".{name}.", folder)  # for its owner's eyes only: mode 0600
        partial = Path(draft)
        with os.fdopen(handle, "wb") as file:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                if os.fstat(handle).st_nlink:  # else it was taken for abandoned, before it was locked
                    yield file, partial
                    return
            finally:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove files whose writers have died: those that nobody holds a lock on."""
    for partial in folder.glob(f".*{_SUFFIX}"):
        with suppress(OSError), os.fdopen(_opened(partial, os.O_NOFOLLOW), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


def _opened(place: Path, more: int = 0) -> int:
    """The file, open for reading, without waiting for the writer of a pipe."""
    return os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | more)
