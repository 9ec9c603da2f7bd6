"""Attacks on releases: what an adversary learns of people, beside what the same guesser knows without the release.

Every attack gives an `Outcome`, and every outcome has its control. An attack that shows no advantage proves nothing:
another one may have one. Only the ledger bounds all of them.
"""

from __future__ import annotations

from discreet.attack._outcome import Control, Outcome, proportion_interval
from discreet.attack.anonymized import downcoding, homogeneity, intersection, minimality
from discreet.attack.differencing import averaging, differencing, tracker
from discreet.attack.graphs import Planting, balanced_pairs, edge_differencing, planted, without_names
from discreet.attack.linkage import histories, linkage
from discreet.attack.membership import MembershipOutcome, Shadows, membership, membership_in_means
from discreet.attack.reconstruction import Microdata, Statistic, asker, microdata, reconstruct, reconstruction
from discreet.attack.synthetic import closeness, inference, linkability, singling_out

__all__ = [
    "Control",
    "MembershipOutcome",
    "Microdata",
    "Outcome",
    "Planting",
    "Shadows",
    "Statistic",
    "asker",
    "averaging",
    "balanced_pairs",
    "closeness",
    "differencing",
    "downcoding",
    "edge_differencing",
    "histories",
    "homogeneity",
    "inference",
    "intersection",
    "linkability",
    "linkage",
    "membership",
    "membership_in_means",
    "microdata",
    "minimality",
    "planted",
    "proportion_interval",
    "reconstruct",
    "reconstruction",
    "singling_out",
    "tracker",
    "without_names",
]
