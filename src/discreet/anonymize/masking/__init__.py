"""Masking: columns substituted, coarsened, shuffled or encrypted, and what that leaves behind.

A masked table is outside of the ledger: nothing here bounds what it tells.
"""

from __future__ import annotations

from discreet.anonymize.masking._analyzers import Analyzer, Recognized, load_presidio
from discreet.anonymize.masking._coarsening import Generalize, Round, Shuffle, Suppress, Truncate
from discreet.anonymize.masking._encryption import Encrypt, EncryptFormat
from discreet.anonymize.masking._free_text import PATTERNS, FreeText, recall
from discreet.anonymize.masking._mask import Mask, mask_table
from discreet.anonymize.masking._pseudonyms import Fake, Pseudonym

__all__ = [
    "PATTERNS",
    "Analyzer",
    "Encrypt",
    "EncryptFormat",
    "Fake",
    "FreeText",
    "Generalize",
    "Mask",
    "Pseudonym",
    "Recognized",
    "Round",
    "Shuffle",
    "Suppress",
    "Truncate",
    "load_presidio",
    "mask_table",
    "recall",
]
