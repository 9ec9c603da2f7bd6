"""Accounts, entries and heads as plain JSON for people and programs to read."""

from __future__ import annotations

import datetime as dt
from typing import Any

from discreet.ledger._protocol import Entry, Head
from discreet.ledger.state._account import Account
from discreet.privacy import to_json

__all__ = ["account_json", "entry_json", "head_json"]


def account_json(account: Account, now: dt.datetime) -> dict[str, Any]:
    """A budget at a moment."""
    losses = ("cap", "spent", "remaining", "lifetime")
    return {
        "name": account.name,
        "role": account.role,
        **{name: to_json(getattr(account, name)) for name in losses if account.role != "auditor"},
        "every": account.every,
        "windows": account.windows,
        "since": account.since.isoformat(),
        "ends": None if account.ends is None else account.ends.isoformat(),
        "until": None if account.until is None else account.until.isoformat(),
        "frozen": account.frozen,
        "open": account.role != "auditor" and account.stopped(now) is None,
        "part": account.part,
        "parts": {part: to_json(loss) for part, loss in account.shares.items()},
    }


def head_json(head: Head) -> dict[str, Any]:
    """Where a ledger ends, as `discreet ledger check --write-head` notes it."""
    return {"ledger": head.ledger, "seq": head.seq, "hash": head.hash}


def entry_json(entry: Entry, *, mine: bool = False) -> dict[str, Any]:
    """An entry without its payload; an analyst's own tells nothing of other accounts."""
    fields = {
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "kind": entry.kind,
        "account": entry.account,
        "part": entry.part,
        "loss": None if entry.loss is None else to_json(entry.loss),
        "spent": to_json(entry.spent),
        "idempotency_key": entry.idempotency_key,
        "reservation": entry.reservation,
        "plan_hash": entry.plan_hash,
        "payload_sha256": entry.payload_sha256,
        "previous": entry.previous,
        "hash": entry.hash,
    }
    hidden = ("seq", "spent", "previous", "hash") if mine else ()
    return {name: value for name, value in fields.items() if name not in hidden}
