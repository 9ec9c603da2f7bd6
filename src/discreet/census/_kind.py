"""The kind of release that a publication is."""

from __future__ import annotations

from discreet.census._publication import Publication
from discreet.census._verify import recompute_publication_loss, verify_publication_loss
from discreet.release import ReleaseKind, register

__all__ = ["KIND"]

KIND = register(
    ReleaseKind(
        "census", Publication.from_bytes, Publication.digests, recompute_publication_loss, verify_publication_loss
    )
)
