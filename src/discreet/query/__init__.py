"""SQL to plan to answer: what may be asked, how far one person can move it, and how noisy sums become a result.

Knows no engine: a `BoundedAggregate` says what an engine is to sum, in exact integers.
"""

from discreet.query._bounded import BoundedAggregate, Group, GroupKey
from discreet.query._draw import draw
from discreet.query._field import Field
from discreet.query._intervals import divides_safely
from discreet.query._measures import Count, Distinct, Measure, People, Product, Sum
from discreet.query._noise import Noise, noise_to_json
from discreet.query._plan import Plan, assume_rows
from discreet.query._planner import make_plan
from discreet.query._relations import Filtered, Grouped, Joined, Own, Relation, Scan, Stacked, Total, scans
from discreet.query._release import Release
from discreet.query._render import release_note, release_table

__all__ = [
    "BoundedAggregate",
    "Count",
    "Distinct",
    "Field",
    "Filtered",
    "Group",
    "GroupKey",
    "Grouped",
    "Joined",
    "Measure",
    "Noise",
    "Own",
    "People",
    "Plan",
    "Product",
    "Relation",
    "Release",
    "Scan",
    "Stacked",
    "Sum",
    "Total",
    "assume_rows",
    "divides_safely",
    "draw",
    "make_plan",
    "noise_to_json",
    "release_note",
    "release_table",
    "scans",
]
