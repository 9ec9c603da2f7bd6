"""The kind of release that a check is."""

from __future__ import annotations

from discreet.release import ReleaseKind, register
from discreet.synth.checks._release import SyntheticCheck
from discreet.synth.checks._verify import recompute_check_loss, verify_check_loss

__all__ = ["CHECK_KIND"]

CHECK_KIND = register(
    ReleaseKind(
        "synthetic_check", SyntheticCheck.from_bytes, SyntheticCheck.digests, recompute_check_loss, verify_check_loss
    )
)
