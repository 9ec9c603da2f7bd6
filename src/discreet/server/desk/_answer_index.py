"""Which answers exist to a question, at any spend: an index of the ledger's releases by what they answer."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Protocol

from discreet.errors import LedgerError
from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, RhoLoss, from_json, to_json
from discreet.query import Plan
from discreet.release import json_digest, parse_release_file
from discreet.server.desk._state import State

__all__ = ["AnswerIndex", "IndexedAnswer", "question_of_plan"]

_AT_ONCE = 100
_LARGEST = """
SELECT account, plan, loss, at FROM (
    SELECT *, row_number() OVER (PARTITION BY plan ORDER BY account = :account DESC, seq DESC) AS place
    FROM answers WHERE ledger = :ledger AND question = :question AND (:shared OR account = :account)
) WHERE place = 1 ORDER BY size DESC, account = :account DESC, seq DESC
"""


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


def _size(loss: Loss) -> float:
    """How precise an answer is at a loss, as the ε of Laplace noise of the same standard deviation.

    √2 / ε for a pure ε, 1 / √(2ρ) for ρ and 1 / μ for μ are those of a count; δ is left out. Other losses come last.
    """
    match loss:
        case PureLoss() | ApproxLoss():
            return float(loss.eps)
        case RhoLoss():
            return 2 * math.sqrt(loss.rho_value)
        case MuLoss():
            return math.sqrt(2 * loss.mu_squared)
        case _:
            return 0.0


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

    def largest(
        self, question: str, account: str, *, shared: bool, has_left: Callable[[datetime], bool], count: int = 5
    ) -> Sequence[IndexedAnswer]:
        """The answers to a question, each plan once: the most precise first, of like ones the account's own.

        Others' are among them where they are `shared`, and those alone whose time of storing `has_left` is true of.
        """
        self._catch_up()
        with self._state.transaction(write=False) as connection:
            rows = connection.execute(
                _LARGEST, {"ledger": self._name, "question": question, "account": account} | {"shared": shared}
            )
            answers = (
                IndexedAnswer(owner, plan, from_json(json.loads(loss)), datetime.fromisoformat(at))
                for owner, plan, loss, at in rows
            )
            return list(islice((each for each in answers if has_left(each.at)), count))

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
                size = _size(from_json(json.loads(loss)))
                named = (entry.seq, self._name, entry.account, question, entry.plan_hash)
                lines.append((*named, loss, size, entry.at.isoformat()))
        newest = stored[-1][0].seq
        with self._state.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", lines)
            connection.execute("INSERT OR REPLACE INTO indexed VALUES (?, ?)", (self._name, newest))
        return int(newest)
