"""The kind of release that marginals of a table are."""

from __future__ import annotations

from discreet.census.marginal_tables._tables import MarginalTables
from discreet.census.marginal_tables._verify import recompute_marginals_loss, verify_marginals_loss
from discreet.release import ReleaseKind, register

__all__ = ["MARGINALS_KIND"]

MARGINALS_KIND = register(
    ReleaseKind(
        "marginals", MarginalTables.from_bytes, MarginalTables.digests, recompute_marginals_loss, verify_marginals_loss
    )
)
