"""How far a synthetic table is from the private rows: bought, with intervals."""

from discreet.synth.checks._check import check
from discreet.synth.checks._kind import CHECK_KIND
from discreet.synth.checks._question import CheckTable, PreparedCheck
from discreet.synth.checks._release import Distance, Scores, SyntheticCheck

__all__ = ["CHECK_KIND", "CheckTable", "Distance", "PreparedCheck", "Scores", "SyntheticCheck", "check"]
