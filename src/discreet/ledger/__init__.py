"""Durable budgets: every release is charged here, on disk, before its noise is drawn."""

from discreet.ledger._auditor import check_opening
from discreet.ledger._open import open_ledger
from discreet.ledger._policy_match import check_suits, open_for
from discreet.ledger._protocol import Entry, Head, Ledger, Reservation, Stored
from discreet.ledger._spend_first import Certify, Request, spend_first

__all__ = [
    "Certify",
    "Entry",
    "Head",
    "Ledger",
    "Request",
    "Reservation",
    "Stored",
    "check_opening",
    "check_suits",
    "open_for",
    "open_ledger",
    "spend_first",
]
