"""The open reservations of one ledger object: each stores one payload."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

from discreet.errors import LedgerError
from discreet.ledger.log._commitments import sha256
from discreet.ledger.log._store import LedgerStore

__all__ = ["LARGEST_PAYLOAD", "Claims"]

LARGEST_PAYLOAD = 2**31 - 2**16
"""Bytes that are stored for one charge: what one AES-GCM message may hold."""


@dataclass(slots=True)
class Claims:
    """Open charges by name: the process that made each, and the digest and sealed bytes of what was tried for it."""

    store: LedgerStore
    account: str
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: dict[str, tuple[int, str | None, bytes]] = field(default_factory=dict[str, tuple[int, "str | None", bytes]])

    def add(self, name: str) -> None:
        """Let this process store something for a charge, or for a step of a run."""
        self._open[name] = (os.getpid(), None, b"")

    def seal(self, name: str, payload: bytes, *, blind: int = 0) -> bytes:
        """Tie a charge to the one payload that may be stored for it, before anything is written; it, sealed.

        With `blind`, so many unpredictable bytes come before the payload, the same ones each time it is tried. Raises
        `LedgerError` if the charge is not open here, or another payload was tried: that would be a second draw.
        """
        from discreet import noise

        here, digest = os.getpid(), sha256(payload)
        with self._lock:
            process, tried, sealed = self._open.get(name, (None, None, b""))
            if process != here or tried not in (None, digest):
                raise LedgerError(
                    f"reservation {name} is not open here: it has its release already, or another release was tried "
                    "for it, or another ledger or process made it; make a new reservation before you draw noise again"
                )
            if tried is None:
                head = noise.secret(blind) if blind else b""
                sealed = self.store.seal.closed(self.account, name, head + payload)
                self._open[name] = (here, digest, sealed)
        return sealed

    def drop(self, name: str) -> None:
        """What was stored is stored."""
        self._open.pop(name, None)
