"""Attacks on releases: what an adversary learns of people, beside what the same guesser knows without the release.

Every attack gives an `Outcome`, and every outcome has its control. An attack that shows no advantage proves nothing:
another one may have one. Only the ledger bounds all of them.
"""

from __future__ import annotations

from discreet.attack._outcome import Control, Outcome, proportion_interval
from discreet.attack.linkage import histories, linkage

__all__ = ["Control", "Outcome", "histories", "linkage", "proportion_interval"]
