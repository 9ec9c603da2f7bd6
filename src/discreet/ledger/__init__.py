"""Durable budgets: every release is charged here, on disk, before its noise is drawn.

`open_ledger` opens or makes one as its owner; accounts spend from it, auditors read it, and `verify_release` checks a
release against it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.ledger._open import open_ledger
from discreet.ledger._protocol import Entry, Head, Ledger, Reservation, Stored
from discreet.ledger.crypto._signing import check_signature, fingerprint
from discreet.ledger.postgres._url import address_of
from discreet.ledger.state._account import Account, Period, Role, next_start
from discreet.ledger.state._events import Facts

if TYPE_CHECKING:
    from discreet.ledger._accounts import AccountLedger
    from discreet.ledger._auditor import LedgerAudit, check_opening
    from discreet.ledger._charge_log import LoggedCharge
    from discreet.ledger._claims import LARGEST_PAYLOAD
    from discreet.ledger._owner import OwnedLedger, checked_period
    from discreet.ledger._policy_match import check_policy_match, open_for
    from discreet.ledger._readable_json import account_json, entry_json, head_json
    from discreet.ledger._runs import Run, RunState
    from discreet.ledger._spend_first import Request, spend_first
    from discreet.ledger._verify_release import Check, verify_release

__all__ = [
    "LARGEST_PAYLOAD",
    "Account",
    "AccountLedger",
    "Check",
    "Entry",
    "Facts",
    "Head",
    "Ledger",
    "LedgerAudit",
    "LoggedCharge",
    "OwnedLedger",
    "Period",
    "Request",
    "Reservation",
    "Role",
    "Run",
    "RunState",
    "Stored",
    "account_json",
    "address_of",
    "check_opening",
    "check_policy_match",
    "check_signature",
    "checked_period",
    "entry_json",
    "fingerprint",
    "head_json",
    "next_start",
    "open_for",
    "open_ledger",
    "spend_first",
    "verify_release",
]

_LATER = {
    "AccountLedger": "_accounts",
    "Check": "_verify_release",
    "LARGEST_PAYLOAD": "_claims",
    "LedgerAudit": "_auditor",
    "LoggedCharge": "_charge_log",
    "OwnedLedger": "_owner",
    "Request": "_spend_first",
    "Run": "_runs",
    "RunState": "_runs",
    "account_json": "_readable_json",
    "entry_json": "_readable_json",
    "head_json": "_readable_json",
    "check_opening": "_auditor",
    "check_policy_match": "_policy_match",
    "checked_period": "_owner",
    "open_for": "_policy_match",
    "spend_first": "_spend_first",
    "verify_release": "_verify_release",
}
"""Names whose modules need SQLAlchemy, the policy or the kinds of release, which most commands do without."""


def __getattr__(name: str) -> Any:
    """Import a name of `_LATER` when it is first asked for (PEP 562)."""
    if name not in _LATER:
        raise AttributeError(f"module 'discreet.ledger' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.ledger.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
