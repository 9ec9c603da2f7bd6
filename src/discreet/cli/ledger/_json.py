"""A ledger as plain JSON."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.cli.ledger._meaning import Meaning
    from discreet.ledger import Account, Entry, Facts, Head
    from discreet.privacy import Loss

__all__ = ["account_json", "as_json", "entry_json", "head_json"]


def as_json(  # noqa: PLR0913, PLR0917
    name: str,
    facts: Facts,
    budgets: Sequence[Account],
    history: Mapping[str, Loss],
    delta: Fraction,
    head: Head | None,
    newest: Sequence[Entry],
    meant: Sequence[Meaning],
    now: dt.datetime,
) -> dict[str, Any]:
    """What `discreet ledger show` knows; an analyst's has their own account alone."""
    common = {
        "ledger": name,
        "currency": facts.currency,
        "people": facts.people,
        "counts": facts.counts,
        "relation": facts.relation,
        "parts": list(facts.parts),
        "encrypted": facts.key_check is not None,
        "public_key": facts.public_key,
    }
    if head is None:
        entries = [entry_json(each, mine=True) for each in newest]
        mine = {"account": account_json(budgets[0], now), "entries": entries}
        return common | mine | {"meaning": [each.to_json() for each in meant]}
    return common | {
        "whole": account_json(budgets[0], now),
        "accounts": [account_json(each, now) for each in budgets[1:]],
        "history": _history_json(history, delta),
        "length": head.seq + 1,
        "head": head_json(head),
        "entries": [entry_json(each) for each in newest],
        "meaning": [each.to_json() for each in meant],
    }


def account_json(account: Account, now: dt.datetime) -> dict[str, Any]:
    """A budget at a moment."""
    from discreet.privacy import to_json

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
    from discreet.privacy import to_json

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


def _history_json(history: Mapping[str, Loss], delta: Fraction) -> dict[str, Any]:
    from discreet.cli.ledger._meaning import odometer
    from discreet.privacy import to_json

    totals: dict[str, Any] = {}
    for name, loss in history.items():
        within = odometer(loss, delta)
        at = {} if within is None else {"epsilon": within[0], "delta": float(within[1])}
        totals[name] = {"loss": to_json(loss), **at}
    return totals
