"""Requests for budget: an analyst asks, the owner grants or declines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, cast

from discreet.privacy import Loss, from_json, to_json
from discreet.server.desk._refusals import Refusal
from discreet.server.desk._state import State

__all__ = ["LONGEST_REASON", "BudgetRequest", "RequestState", "Requests"]

LONGEST_REASON = 500
"""Characters in which an analyst says what the budget is for."""

RequestState = Literal["open", "granted", "declined"]
_MOST_OPEN = 20
_GRANTING = "granting "
"""The state, before a number of the ledger's, of a request that is being granted; to others it is open."""

_NOT_OPEN = "there is no open request of this number, or it is being granted; list those that there are"


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """What an account asks for beyond its cap, why, when, and what became of it."""

    number: int
    account: str
    loss: Loss
    reason: str
    at: str
    state: RequestState


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests in the desk's file."""

    state: State

    def add(self, account: str, loss: Loss, reason: str) -> BudgetRequest:
        """Ask for more. Raises `Refusal` for a reason that is too long, and where too many requests are open."""
        if len(reason) > LONGEST_REASON or not reason.isprintable():
            raise Refusal("parameter", f"a reason is one line of at most {LONGEST_REASON} characters; write less")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self.state.transaction() as connection:
            (waiting,) = connection.execute(
                "SELECT count(*) FROM requests WHERE account = ? AND state NOT IN ('granted', 'declined')", (account,)
            ).fetchone()
            if waiting >= _MOST_OPEN:
                raise Refusal("rate", f"{_MOST_OPEN} requests of this account are open; wait for the owner to decide")
            row = (account, json.dumps(to_json(loss)), reason, at)
            number = connection.execute(
                "INSERT INTO requests (account, loss, reason, at, state) VALUES (?, ?, ?, ?, 'open')", row
            ).lastrowid
        assert number is not None
        return BudgetRequest(number, account, loss, reason, at, "open")

    def newest(self, account: str | None = None, count: int = 100) -> Sequence[BudgetRequest]:
        """The newest requests, of one account or, for None, of all."""
        with self.state.transaction(write=False) as connection:
            rows = connection.execute(
                "SELECT id, account, loss, reason, at, state FROM requests WHERE ? IS NULL OR account = ? "
                "ORDER BY id DESC LIMIT ?",
                (account, account, count),
            ).fetchall()
        return [
            BudgetRequest(number, owner, from_json(json.loads(loss)), reason, at, _public(state))
            for number, owner, loss, reason, at, state in rows
        ]

    def begin(self, number: int, ledger_ends: int) -> tuple[BudgetRequest, int | None]:
        """Note that an open request is being granted, and where the ledger ends before.

        With the request comes where the ledger ended when that was begun before and not noted as done: whoever did it
        died meanwhile. Raises `Refusal` ("unknown") for a request that is not open.
        """
        with self.state.transaction() as connection:
            row = connection.execute(
                "SELECT account, loss, reason, at, state FROM requests WHERE id = ? AND state NOT IN (?, ?)",
                (number, "granted", "declined"),
            ).fetchone()
            if row is None:
                raise Refusal("unknown", _NOT_OPEN)
            account, loss, reason, at, state = row
            if state == "open":
                noted = f"{_GRANTING}{ledger_ends}"
                connection.execute("UPDATE requests SET state = ? WHERE id = ?", (noted, number))
        begun = None if state == "open" else int(state.removeprefix(_GRANTING))
        return BudgetRequest(number, account, from_json(json.loads(loss)), reason, at, "granted"), begun

    def end(self, number: int, state: RequestState) -> None:
        """Note what became of a request that was being granted."""
        with self.state.transaction() as connection:
            connection.execute("UPDATE requests SET state = ? WHERE id = ?", (state, number))

    def decline(self, number: int) -> BudgetRequest:
        """Note that a request is declined. Raises `Refusal` ("unknown") for one that is not open."""
        with self.state.transaction() as connection:
            row = connection.execute(
                "UPDATE requests SET state = 'declined' WHERE id = ? AND state = 'open' "
                "RETURNING account, loss, reason, at",
                (number,),
            ).fetchone()
        if row is None:
            raise Refusal("unknown", _NOT_OPEN)
        account, loss, reason, at = row
        return BudgetRequest(number, account, from_json(json.loads(loss)), reason, at, "declined")


def _public(state: str) -> RequestState:
    return cast("RequestState", "open" if state.startswith(_GRANTING) else state)
