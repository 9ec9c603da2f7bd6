"""Who came to the desk and what was refused or decided there: a hash chain beside the ledger's.

What was paid for is in the ledger. Here are sign-ins, plans, refusals and what the owner did: no addresses, no text of
a query, nothing that hangs on data.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from discreet.errors import LedgerError
from discreet.server.desk._buckets import Buckets
from discreet.server.desk._refusals import Refusal
from discreet.server.desk._state import State

__all__ = ["Act", "AuditEntry", "AuditLog", "LogHead", "RefusalLog"]

_PAGE, _LEAST = 1_000, -(1 << 63)
_LINES_A_SECOND, _MOST_LINES = 1.0, 1_000.0

Act = Literal[
    "start",
    "sign-in",
    "sign-out",
    "plan",
    "refusal",
    "request",
    "grant",
    "decline",
    "freeze",
    "thaw",
    "renew",
    "transfer",
    "rotate",
    "revoke",
]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line: when, whose account, what happened, and the rest in plain JSON. `hash` covers it and those before."""

    seq: int
    at: str
    account: str
    act: str
    data: Mapping[str, Any]
    hash: str


@dataclass(frozen=True, slots=True)
class LogHead:
    """Where the log ends: the number and the hash of its newest line."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The log in the desk's file.

    >>> log = AuditLog(State(None))
    >>> log.append("sign-in", "ada", by="token")
    >>> [entry.act for entry in log.entries()], log.verify()
    (['sign-in'], 1)
    """

    state: State

    def append(self, act: Act, account: str, **data: Any) -> None:
        """Add a line. `data` is plain JSON and public. Raises `Refusal` ("ledger") where it cannot be written."""
        at, text = datetime.now(UTC).isoformat(timespec="milliseconds"), json.dumps(data, sort_keys=True)
        with self.state.transaction() as connection:
            newest = connection.execute("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
            seq, before = (0, "") if newest is None else (newest[0] + 1, newest[1])
            line = (seq, at, account, act, text)
            connection.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", (*line, _hash(before, line)))

    def entries(self, after: int = -1, count: int = 100) -> list[AuditEntry]:
        """The first `count` lines whose number is above `after`."""
        with self.state.transaction(write=False) as connection:
            rows = connection.execute("SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?", (after, count))
            return [
                AuditEntry(seq, at, account, act, json.loads(text), line_hash)
                for seq, at, account, act, text, line_hash in rows
            ]

    def head(self) -> LogHead | None:
        """The newest line, to be noted where whoever keeps the file cannot reach; None while there is none."""
        with self.state.transaction(write=False) as connection:
            row = connection.execute("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        return None if row is None else LogHead(*row)

    def verify(self, anchors: Mapping[str, str] | None = None) -> int:
        """Walk the chain up to now; the number of lines. Raises `LedgerError` for the first that was changed.

        `anchors` are hashes of lines that were noted elsewhere, as of a `head`, by the name that an error calls each.
        A log that lacks one was cut off or put back. Without any, that cannot be known.
        """
        head, before, place = self.head(), "", 0
        missing = {noted: name for name, noted in (anchors or {}).items()}
        while head is not None and place <= head.seq:
            with self.state.transaction(write=False) as connection:  # a page: others wait for it
                rows = connection.execute(
                    "SELECT * FROM audit WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT ?",
                    (place or _LEAST, head.seq, _PAGE),
                ).fetchall()
            for *line, stored in rows or [[None, None]]:
                if line[0] != place or _hash(before, tuple(line)) != stored:
                    raise LedgerError(
                        f"line {place} of the desk's audit log was changed, or lines before it were removed"
                    )
                before, place = stored, place + 1
                missing.pop(stored, None)
        for name in missing.values():
            raise LedgerError(f"the desk's audit log has no line of {name}: it was cut off, or put back")
        return place


class RefusalLog:
    """Lines for what was refused. A refusal is told even where its line cannot be written.

    Of sign-ins, which anybody can cause, there are so many lines, and of others their number. A line says how many were
    left out before it, for either reason. `Counters` have all of them.
    """

    def __init__(self, log: AuditLog) -> None:
        self._log, self._bucket, self._left_out = log, Buckets(_LINES_A_SECOND, _MOST_LINES), 0
        self._lock = threading.Lock()

    def append(self, account: str, asked: Act, **data: Any) -> None:
        """Add a line, or count it."""
        with self._lock:
            if asked == "sign-in" and self._bucket.take(""):
                self._left_out += 1
                return
            left_out, self._left_out = self._left_out, 0
        more = {"left_out": left_out} if left_out else {}
        try:
            self._log.append("refusal", account, asked=asked, **data, **more)
        except Refusal:
            with self._lock:
                self._left_out += left_out + 1


def _hash(before: str, line: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps([before, *line]).encode()).hexdigest()
