"""Who may be recognised in a table, and what of them is learnt then: numbers, and no promise."""

from __future__ import annotations

from discreet.anonymize.risk._columns import ColumnRisk, UniqueSet
from discreet.anonymize.risk._disclosure import Disclosure
from discreet.anonymize.risk._facts import Fact
from discreet.anonymize.risk._population import Population
from discreet.anonymize.risk._report import Reidentification, Risk
from discreet.anonymize.risk._risk import risk

__all__ = ["ColumnRisk", "Disclosure", "Fact", "Population", "Reidentification", "Risk", "UniqueSet", "risk"]
