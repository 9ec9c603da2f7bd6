"""Rules that synthetic rows keep: conditions, values that follow from others, totals."""

from discreet.synth.rules._bound import BoundRules
from discreet.synth.rules._cells import columns_of
from discreet.synth.rules._follower import Follower
from discreet.synth.rules._following import followers, following_names
from discreet.synth.rules._rules import Follows, Rule, Rules, Soft, Total, sorted_rules

__all__ = [
    "BoundRules",
    "Follower",
    "Follows",
    "Rule",
    "Rules",
    "Soft",
    "Total",
    "columns_of",
    "followers",
    "following_names",
    "sorted_rules",
]
