"""Attacks on privacy claims: what a mechanism is shown to leak, beside what it says it does."""

from discreet.audit._check import check
from discreet.audit._subject import Batched, Draws, batched
from discreet.audit._verdict import Trial, Verdict, Witness

__all__ = ["Batched", "Draws", "Trial", "Verdict", "Witness", "batched", "check"]
