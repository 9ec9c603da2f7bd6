"""How far one unit can move an answer: in the worst case, around given data, and smoothed. Computes, never samples.

Worst cases are public. All that is computed around given data (`local`, `at_distance`, `smooth`, `distance`, and the
`value` and `profile` of a `Statistic`) is SENSITIVE: it depends on the data, and only a mechanism may use it.

Proofs: ``proofs/sensitivity.md``, ``proofs/local_sensitivity.md``.
"""

from discreet.sensitivity._aggregates import Norms, bounded_sum, count, keys_touched
from discreet.sensitivity._caps import caps_up_to
from discreet.sensitivity._categories import CountDistinct, Mode
from discreet.sensitivity._data import adds_or_removes, clamped, interval, unmasked
from discreet.sensitivity._exact import round_up
from discreet.sensitivity._local import at_distance, distance, local, smooth
from discreet.sensitivity._mean import Count, Mean, Sum
from discreet.sensitivity._quantile import Quantile
from discreet.sensitivity._registry import statistic
from discreet.sensitivity._slope import Slope
from discreet.sensitivity._statistic import Profile, Statistic
from discreet.sensitivity._variance import Variance

__all__ = [
    "Count",
    "CountDistinct",
    "Mean",
    "Mode",
    "Norms",
    "Profile",
    "Quantile",
    "Slope",
    "Statistic",
    "Sum",
    "Variance",
    "adds_or_removes",
    "at_distance",
    "bounded_sum",
    "caps_up_to",
    "clamped",
    "count",
    "distance",
    "interval",
    "keys_touched",
    "local",
    "round_up",
    "smooth",
    "statistic",
    "unmasked",
]
