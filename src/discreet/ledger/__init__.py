"""Durable budgets: every release is charged here, on disk, before its noise is drawn."""

from discreet.ledger._open import open_ledger
from discreet.ledger._protocol import Entry, Ledger, Reservation, Stored

__all__ = ["Entry", "Ledger", "Reservation", "Stored", "open_ledger"]
