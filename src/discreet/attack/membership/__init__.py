"""Membership: whether somebody's row is behind a published mean, or in a model's training data."""

from __future__ import annotations

from discreet.attack.membership._models import Method, membership, membership_by_shadows, membership_in_means
from discreet.attack.membership._outcome import MembershipOutcome, membership_outcome
from discreet.attack.membership._shadows import Shadows, confidences, train_shadows

__all__ = [
    "MembershipOutcome",
    "Method",
    "Shadows",
    "confidences",
    "membership",
    "membership_by_shadows",
    "membership_in_means",
    "membership_outcome",
    "train_shadows",
]
