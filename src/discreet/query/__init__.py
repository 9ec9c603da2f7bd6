"""SQL to plan to answer: what may be asked, how far one person can move it, and how noisy sums become a result.

Knows no engine: a `BoundedAggregate` says what an engine is to sum, in exact integers.
"""

from discreet.query._aggregates import KINDS as STATISTICS
from discreet.query._aggregates import PAIRS
from discreet.query._assume import assuming
from discreet.query._bias import plan_with_bias
from discreet.query._bias_parts import Bias
from discreet.query._bounded import BoundedAggregate, Cells, Group, GroupKey, public_groups
from discreet.query._domains import domain, key_type
from discreet.query._draw import draw
from discreet.query._draw_release import draw_release, draw_suggestion
from discreet.query._earned import earned, loss_follows
from discreet.query._field import Field
from discreet.query._filed import Filed, read_filed
from discreet.query._files import check_new_file, read_file, write_file
from discreet.query._footprint import HELD_TEXT
from discreet.query._functions import FUNCTIONS
from discreet.query._functions_calls import Call, whole_literal
from discreet.query._functions_casts import INTEGERS
from discreet.query._functions_dates import interval_length
from discreet.query._functions_entry import Function, Kind
from discreet.query._functions_numbers import constant
from discreet.query._functions_text import LONGEST_TEXT
from discreet.query._ibis import Expression, Query, text_of, unbound_table
from discreet.query._intervals import divides_safely
from discreet.query._levels import Level
from discreet.query._measures import Count, Distinct, Measure, People, Product, Sum
from discreet.query._noise import Noise
from discreet.query._plan import Plan, assume_rows
from discreet.query._planner import make_plan
from discreet.query._quantile_measures import Histogram
from discreet.query._refusals import REFUSED
from discreet.query._relations import (
    Computed,
    Filtered,
    Grouped,
    Joined,
    Limited,
    Own,
    Relation,
    Scan,
    Stacked,
    Total,
    scans,
    walked,
)
from discreet.query._release import Release
from discreet.query._render import release_note, release_table
from discreet.query._scalars import Row, is_moment, nullable
from discreet.query._stored_answer import plain_value
from discreet.query._suggest_plan import SuggestionPlan, plan_suggestion
from discreet.query._suggestion import Suggestion
from discreet.query._top_keys import TopKeys

__all__ = [
    "FUNCTIONS",
    "HELD_TEXT",
    "INTEGERS",
    "LONGEST_TEXT",
    "PAIRS",
    "REFUSED",
    "STATISTICS",
    "Bias",
    "BoundedAggregate",
    "Call",
    "Cells",
    "Computed",
    "Count",
    "Distinct",
    "Expression",
    "Field",
    "Filed",
    "Filtered",
    "Function",
    "Group",
    "GroupKey",
    "Grouped",
    "Histogram",
    "Joined",
    "Kind",
    "Level",
    "Limited",
    "Measure",
    "Noise",
    "Own",
    "People",
    "Plan",
    "Product",
    "Query",
    "Relation",
    "Release",
    "Row",
    "Scan",
    "Stacked",
    "Suggestion",
    "SuggestionPlan",
    "Sum",
    "TopKeys",
    "Total",
    "assume_rows",
    "assuming",
    "check_new_file",
    "constant",
    "divides_safely",
    "domain",
    "draw",
    "draw_release",
    "draw_suggestion",
    "earned",
    "interval_length",
    "is_moment",
    "key_type",
    "loss_follows",
    "make_plan",
    "nullable",
    "plain_value",
    "plan_suggestion",
    "plan_with_bias",
    "public_groups",
    "read_file",
    "read_filed",
    "release_note",
    "release_table",
    "scans",
    "text_of",
    "unbound_table",
    "walked",
    "whole_literal",
    "write_file",
]
