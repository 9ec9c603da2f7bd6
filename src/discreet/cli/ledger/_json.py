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

__all__ = ["as_json"]


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
    from discreet.ledger import account_json, entry_json, head_json

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


def _history_json(history: Mapping[str, Loss], delta: Fraction) -> dict[str, Any]:
    from discreet.cli.ledger._meaning import odometer
    from discreet.privacy import to_json

    totals: dict[str, Any] = {}
    for name, loss in history.items():
        within = odometer(loss, delta)
        at = {} if within is None else {"epsilon": within[0], "delta": float(within[1])}
        totals[name] = {"loss": to_json(loss), **at}
    return totals
