"""Which answers exist to a question, at any spend: an index of the ledger's releases by what they answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from discreet.errors import LedgerError
from discreet.privacy import Loss, from_json, to_json
from discreet.query import Plan
from discreet.release import json_digest, parse_release_file
from discreet.server.desk._state import State

__all__ = ["AnswerIndex", "IndexedAnswer", "question_of_plan"]

_AT_ONCE = 100


def question_of_plan(plan: Plan, policy_digest: str, version: str) -> str:
    """What a plan asks, whatever its spend: the same for two plans whose answers differ by noise alone."""
    rest = getattr(plan, "rest", None)
    asked = [plan.shape] if rest is None else [plan.sql, rest]
    return json_digest([*asked, policy_digest, version])


def _question_of(certificate: Mapping[str, Any]) -> str | None:
    facts = [certificate.get("policy"), certificate.get("version")]
    match certificate.get("kind"):
        case "query":
            return json_digest([certificate.get("shape"), *facts])
        case "combined":
            return json_digest([certificate.get("statement"), certificate.get("rest"), *facts])
        case _:
            return None


@dataclass(frozen=True, slots=True)
class IndexedAnswer:
    """A release in the ledger: whose it is, the hash of its plan, its loss, and when it was stored."""

    account: str
    plan: str
    loss: Loss
    at: datetime


class Releases(Protocol):
    """A ledger, as its owner reads it."""

    def stored_after(self, seq: int, count: int) -> list[tuple[Any, bytes]]:
        """See `discreet.ledger.OwnedLedger.stored_after`."""
        ...


class AnswerIndex:
    """Answers by question, in the desk's file; what the ledger has gained meanwhile is read before each look-up."""

    def __init__(self, state: State, ledger: Releases, name: str) -> None:
        self._state, self._ledger, self._name = state, ledger, name
        self._lock = threading.Lock()

    def newest(self, question: str, account: str | None, count: int = 5) -> Sequence[IndexedAnswer]:
        """The newest answers to a question, each plan once: of one account, or of all for None."""
        self._catch_up()
        mine = "" if account is None else "AND account = ?"
        wanted = (self._name, question) if account is None else (self._name, question, account)
        with self._state.transaction(write=False) as connection:
            rows = connection.execute(
                f"SELECT account, plan, loss, max(at), max(seq) FROM answers WHERE ledger = ? AND question = ? {mine} "  # noqa: S608
                "GROUP BY plan ORDER BY max(seq) DESC LIMIT ?",
                (*wanted, count),
            ).fetchall()
        return [
            IndexedAnswer(owner, plan, from_json(json.loads(loss)), datetime.fromisoformat(at))
            for owner, plan, loss, at, _ in rows
        ]

    def _catch_up(self) -> None:
        with self._lock:
            with self._state.transaction(write=False) as connection:
                row = connection.execute("SELECT seq FROM indexed WHERE ledger = ?", (self._name,)).fetchone()
            seq = -1 if row is None else int(row[0])
            while stored := self._ledger.stored_after(seq, _AT_ONCE):
                seq = self._add(stored)

    def _add(self, stored: Sequence[tuple[Any, bytes]]) -> int:
        lines: list[tuple[Any, ...]] = []
        for entry, payload in stored:
            try:
                certificate = parse_release_file(payload).certificate
            except LedgerError:
                continue
            question = _question_of(certificate)
            if question is not None:
                loss = json.dumps(certificate.get("loss") or to_json(entry.loss))
                line = (entry.seq, self._name, entry.account, question, entry.plan_hash, loss, entry.at.isoformat())
                lines.append(line)
        newest = stored[-1][0].seq
        with self._state.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", lines)
            connection.execute("INSERT OR REPLACE INTO indexed VALUES (?, ?)", (self._name, newest))
        return int(newest)
