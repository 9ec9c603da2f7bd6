"""One at a time for each answer: of many who ask the same at once, one pays and the others are served what it drew."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SingleFlight"]

_RETRY_SECONDS = 0.01


class SingleFlight:
    """Locks by name, between the threads of a process and, with a file, between processes.

    A process that is killed lets go of its locks. In the file each name is one byte, by its hash: two names may share
    one, which costs time alone.
    """

    def __init__(self, path: Path | None) -> None:
        self._guard = threading.Lock()
        self._flights: dict[str, tuple[threading.Lock, int]] = {}
        self._file = None if path is None else os.open(path, os.O_CREAT | os.O_RDWR, 0o600)

    @contextmanager
    def only(self, name: str) -> Generator[None]:
        """Run the block while nobody else runs one of this name."""
        with self._guard:
            lock, waiting = self._flights.get(name, (threading.Lock(), 0))
            self._flights[name] = (lock, waiting + 1)
        try:
            with lock, self._only_process(name):
                yield
        finally:
            with self._guard:
                lock, waiting = self._flights.pop(name)
                if waiting > 1:
                    self._flights[name] = (lock, waiting - 1)

    @contextmanager
    def _only_process(self, name: str) -> Generator[None]:
        if self._file is None:
            yield
            return
        place = _place(name)
        self._lock(place)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def _lock(self, place: int) -> None:
        """Wait for a byte of the file. A deadlock of processes is none here: no thread waits while it holds a byte."""
        assert self._file is not None
        while True:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX, 1, place)
            except OSError as error:
                if error.errno != errno.EDEADLK:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def is_taken(self, name: str) -> bool:
        """Whether somebody runs one of this name now, in this process or another.

        A lock of the file is a process's, not a thread's: no thread may begin while this one tries and lets go.
        """
        with self._guard:
            if name in self._flights:
                return True
            if self._file is None:
                return False
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
            except OSError:
                return True
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))
            return False

    def close(self) -> None:
        """Give up the file."""
        if self._file is not None:
            os.close(self._file)


def _place(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])
