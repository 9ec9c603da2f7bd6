"""The open reservations of one ledger object: each stores one payload."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

from discreet.errors import LedgerError
from discreet.ledger.log._store import LedgerStore

__all__ = ["LARGEST_PAYLOAD", "Claims"]

LARGEST_PAYLOAD = 2**31 - 2**16
"""Bytes that are stored for one charge: what one AES-GCM message may hold."""


@dataclass(slots=True)
class _Claim:
    """An open charge: the process that made it, and the digest and sealed bytes of the one payload for it."""

    process: int = field(default_factory=os.getpid)
    tried: dict[None, tuple[str, bytes]] = field(default_factory=dict[None, "tuple[str, bytes]"])


@dataclass(slots=True)
class Claims:
    """Open charges by name.

    Threads need no lock, which a fork could leave closed: `dict.setdefault` lets one of them be the first to try, and
    whoever has hold of a claim that was dropped meanwhile finds in it what was tried.
    """

    store: LedgerStore
    account: str
    _open: dict[str, _Claim] = field(default_factory=dict[str, _Claim])

    def add(self, name: str) -> None:
        """Let this process store something for a charge, or for a step of a run."""
        self._open[name] = _Claim()

    def seal(self, name: str, *payload: bytes, blind: int = 0) -> bytes:
        """Tie a charge to the one payload that may be stored for it, before anything is written; it, sealed.

        The payload may come in pieces. With `blind`, so many unpredictable bytes come before it, the same ones each
        time it is tried. Raises `LedgerError` if the charge is not open here, or another payload was tried: that would
        be a second draw.
        """
        from discreet import noise

        digest, claim = _digest(payload), self._open.get(name)
        if claim is not None and claim.process == os.getpid():
            if not claim.tried:
                pieces = (noise.secret(blind), *payload) if blind else payload
                claim.tried.setdefault(None, (digest, self.store.seal.closed(self.account, name, *pieces)))
            tried, sealed = claim.tried[None]
            if tried == digest:
                return sealed
        raise LedgerError(
            f"reservation {name} is not open here: it has its release already, or another release was tried for it, or "
            "another ledger or process made it; make a new reservation before you draw noise again"
        )

    def drop(self, name: str) -> None:
        """What was stored is stored."""
        self._open.pop(name, None)


def _digest(pieces: tuple[bytes, ...]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
