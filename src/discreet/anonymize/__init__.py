"""Classical anonymisation: masking, k-anonymity and its kin, and what they do not promise.

Nothing here is differential privacy, and no ledger counts it: a table that is published so is outside, beside whatever
the ledger has counted.
"""

from __future__ import annotations

from discreet.anonymize._anonymized import LIMITS, Anonymized
from discreet.anonymize._losses import Losses
from discreet.anonymize._models import DeltaPresence, KAnonymity, KMap, Model
from discreet.anonymize.conditions import Condition, LDiversity, TCloseness
from discreet.anonymize.hierarchies import (
    ANY,
    Hierarchy,
    intervals,
    load_hierarchies,
    load_taxonomy,
    prefixes,
    taxonomy,
    text_of,
)
from discreet.anonymize.risks import Disclosure, Fact, Population, Reidentification, Risk, risk
from discreet.anonymize.tables import Frame, read_columns, read_frame
from discreet.anonymize.verification import Spread, Verdict, verify

__all__ = [
    "ANY",
    "LIMITS",
    "Anonymized",
    "Condition",
    "DeltaPresence",
    "Disclosure",
    "Fact",
    "Frame",
    "Hierarchy",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "Losses",
    "Model",
    "Population",
    "Reidentification",
    "Risk",
    "Spread",
    "TCloseness",
    "Verdict",
    "intervals",
    "load_hierarchies",
    "load_taxonomy",
    "prefixes",
    "read_columns",
    "read_frame",
    "risk",
    "taxonomy",
    "text_of",
    "verify",
]
