"""One at a time for each answer: of many who ask the same at once, one pays and the others are served what it drew."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SingleFlight"]


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
        place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Give up the file."""
        if self._file is not None:
            os.close(self._file)
