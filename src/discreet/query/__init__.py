"""SQL to plan to answer: what may be asked, how far one person can move it, and how noisy sums become a result.

Knows no engine: a `BoundedAggregate` says what an engine is to sum, in exact integers.
"""

from discreet.query._bounded import BoundedAggregate, Cells, Group, GroupKey
from discreet.query._draw import draw
from discreet.query._intervals import divides_safely
from discreet.query._measures import Count, Measure, Sum
from discreet.query._noise import Noise, noise_to_json
from discreet.query._plan import Plan, assume_rows
from discreet.query._planner import make_plan
from discreet.query._quantile_measures import Histogram
from discreet.query._quantile_noise import quantile_to_json
from discreet.query._release import Release
from discreet.query._render import release_note, release_table

__all__ = [
    "BoundedAggregate",
    "Cells",
    "Count",
    "Group",
    "GroupKey",
    "Histogram",
    "Measure",
    "Noise",
    "Plan",
    "Release",
    "Sum",
    "assume_rows",
    "divides_safely",
    "draw",
    "make_plan",
    "noise_to_json",
    "quantile_to_json",
    "release_note",
    "release_table",
]
