"""Large payloads beside a ledger file: each a file of its own, named by its SHA-256.

A file gets its name after it is on disk, and the folder is synced before the entry that needs it is committed: an entry
never waits for a payload that a power cut could take. A file that no entry names, after a crash, is harmless.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.sqlite._wal import synced, synced_directory

__all__ = ["folder_of", "load", "store"]


def folder_of(path: str) -> Path:
    """Where the large payloads of a ledger lie. Copy it with the ledger."""
    return Path(f"{path}.payloads")


def store(path: str, digest: str, payload: bytes) -> None:
    """Write the file, for its owner alone, and sync it and its folder. Raises `LedgerError` if that fails."""
    folder = folder_of(path)
    final = folder / digest
    partial = folder / f".{digest}.{os.getpid()}.{threading.get_ident()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        synced_directory(folder.parent)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(payload)
            file.flush()
            synced(file.fileno())
        partial.rename(final)  # in place of the same bytes, if an entry names them already or a sync has failed before
        synced_directory(folder)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise LedgerError(
            f"a large release of the ledger {path!r} cannot be written to {str(folder)!r}: {error.strerror}; make room "
            "and try the same bytes again"
        ) from None


def load(path: str, digest: str) -> bytes | None:
    """What the file holds, None if it is missing. Raises `LedgerError` if it cannot be read."""
    try:
        return (folder_of(path) / digest).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(
            f"a large release of the ledger {path!r} cannot be read from {str(folder_of(path))!r}: {error.strerror}"
        ) from None
