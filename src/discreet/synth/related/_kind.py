"""The kind of release that several synthetic tables are."""

from __future__ import annotations

from discreet.release import ReleaseKind, register
from discreet.synth.related._release import SyntheticTables
from discreet.synth.related._verify import recompute_tables_loss, verify_tables_loss

__all__ = ["KIND"]

KIND = register(
    ReleaseKind(
        "synthetic_tables",
        SyntheticTables.from_bytes,
        SyntheticTables.digests,
        recompute_tables_loss,
        verify_tables_loss,
    )
)
