"""The write-ahead log beside a SQLite file: who may write, what is on disk, and when the log is long.

Its lock is ours (SQLite takes none on this file): whoever writes or moves pages from the log into the file holds it.
SQLite before 3.51.3 can lose committed transactions when a checkpoint meets another connection's write
(https://sqlite.org/wal.html#walresetbug), and its own lock for writers is unfair. `flock` belongs to the open file, so
that the death of a process frees it.

A log exists as long as any connection to the ledger does, and the last to close deletes it; so it is opened after a
connection has read, and closed before or with the last.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path

__all__ = ["Log", "synced", "synced_directory"]

_FRAMES = 1_000
"""A log of as many pages is long: 4 MB."""
_HEADER, _FRAME = 32, 24


class Log:
    """The open log of one ledger."""

    def __init__(self, ledger: str) -> None:
        self.path = f"{ledger}-wal"
        self._settled = False
        self._long = (b"", _FRAMES)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def close(self) -> None:
        """Close the file; a lock goes with it."""
        os.close(self._file)

    def is_home(self) -> bool:
        """Whether this is still the file of that name."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))  # noqa: PTH116
        except FileNotFoundError:
            return False

    def lock(self) -> bool:
        """Try to become the one writer over all processes."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self) -> None:
        """Let others write; harmless without the lock."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def settle(self) -> None:
        """Make sure, once and before the first write, that a power cut leaves this log beside its ledger.

        Nor does it bring back a log that was deleted before.
        """
        if not self._settled:
            synced_directory(Path(self.path).parent)
            self._settled = True

    def sync(self) -> None:
        """Put on disk what was written to the log, by whomever."""
        synced(self._file)

    def is_long(self) -> bool:
        """Whether the log should be moved into the file now; to be asked by the holder of the lock.

        Each frame repeats the two salts of the header, which change when the log begins anew, so that one frame tells
        whether the log has come that far. While a reader keeps it from beginning anew, it is long at twice the length.
        """
        header = os.pread(self._file, _HEADER, 0)
        page, salts = int.from_bytes(header[8:12]), header[16:24]
        if salts != self._long[0]:
            self._long = (salts, _FRAMES)
        frames = self._long[1]
        if os.pread(self._file, 8, _HEADER + (frames - 1) * (_FRAME + page) + 8) != salts or not salts:
            return False
        self._long = (salts, 2 * frames)
        return True


def synced(file: int) -> None:
    """Put an open file on disk, through the drive's own cache."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):  # not every file system there knows it
                raise
        else:
            return
    getattr(os, "fdatasync", os.fsync)(file)


def synced_directory(home: Path) -> None:
    """Put the names in a directory on disk."""
    handle = os.open(home, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
