"""The kind of release that a synthetic table is."""

from __future__ import annotations

from discreet.release import ReleaseKind, register
from discreet.synth._table import SyntheticTable, table_digests
from discreet.synth._verify import recompute_table_loss, verify_table_loss

__all__ = ["KIND"]

KIND = register(
    ReleaseKind("synthetic_table", SyntheticTable.from_bytes, table_digests, recompute_table_loss, verify_table_loss)
)
