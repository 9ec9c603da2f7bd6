"""The models beside k-anonymity, as conditions on the counts of a sensitive column in each class."""

from __future__ import annotations

from discreet.anonymize.conditions._closeness import TCloseness
from discreet.anonymize.conditions._condition import Check, Condition, Counts
from discreet.anonymize.conditions._diversity import LDiversity
from discreet.anonymize.conditions._population import PopulationSize, Presence

__all__ = ["Check", "Condition", "Counts", "LDiversity", "PopulationSize", "Presence", "TCloseness"]
