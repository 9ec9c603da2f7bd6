"""Who may be recognised in a table, and what of them is learnt then: numbers, and no promise."""

from __future__ import annotations

from discreet.anonymize.risks._columns import ColumnRisk, UniqueSet
from discreet.anonymize.risks._disclosure import Disclosure
from discreet.anonymize.risks._facts import Fact
from discreet.anonymize.risks._population import Population
from discreet.anonymize.risks._report import Reidentification, Risk
from discreet.anonymize.risks._risk import risk

__all__ = ["ColumnRisk", "Disclosure", "Fact", "Population", "Reidentification", "Risk", "UniqueSet", "risk"]
