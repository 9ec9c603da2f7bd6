"""SQL to plan to answer: what may be asked, how far one person can move it, and how noisy sums become a result.

Knows no engine: a `BoundedAggregate` says what an engine is to sum, in exact integers.
"""

from discreet.query._bias import plan_with_bias
from discreet.query._certificate_levels import LEVEL, level_to_json, recompute_level_loss, section
from discreet.query._checked_query import Bias, assumed
from discreet.query._footnotes import ALL_NOISE, footnotes
from discreet.query._plan import Plan, assuming, with_chosen_cap, with_spend
from discreet.query._plan_table import PlanTable, ShownTable
from discreet.query._planner import make_plan, plan_select, refusals
from discreet.query._public_keys import ReadPublic, public_reader
from discreet.query._public_tables import MOST_PUBLIC_ROWS, READABLE, read_rows
from discreet.query._records import Feature, RecordPlan, plan_records
from discreet.query._release import Release
from discreet.query._selected_rows import SelectedRows, select_rows
from discreet.query._sql import PreparedSQL, certificate_of, draw_levels, noisy_groups
from discreet.query._transpile import in_dialect, transpile
from discreet.query._verify import recompute_query_loss, verify_query_loss
from discreet.query.budget._calibrate import level_spends
from discreet.query.budget._noise import Level, Noise, TopKeys, draw, together
from discreet.query.dialects._to_duckdb import DIALECTS, RULES
from discreet.query.expressions._domains import domain, key_type
from discreet.query.expressions._intervals import divides_safely
from discreet.query.expressions._types import Field, Row, is_moment, nullable
from discreet.query.functions._calls import Call, integer_literal
from discreet.query.functions._casts import INTEGERS
from discreet.query.functions._dates import interval_length
from discreet.query.functions._formats import format_parts
from discreet.query.functions._numbers import constant
from discreet.query.functions._registry import FUNCTIONS, refusal
from discreet.query.functions._registry import find as find_function
from discreet.query.functions._spec import Function, Kind
from discreet.query.functions._text import LONGEST_STORED_TEXT, LONGEST_TEXT
from discreet.query.measures._aggregates import KINDS as STATISTICS
from discreet.query.measures._aggregates import PAIRS
from discreet.query.measures._aggregates import SPELLINGS as STATISTIC_NAMES
from discreet.query.measures._bounded import BoundedAggregate, Cells, Group, GroupKey, complete, public_groups
from discreet.query.measures._coded import CodedCells, Cut, coded_rows
from discreet.query.measures._footprint import HELD_TEXT
from discreet.query.measures._histograms import Histogram
from discreet.query.measures._marginals import Marginals
from discreet.query.measures._measures import Count, Distinct, Measure, People, Product, Sum
from discreet.query.measures._records import PERSON_COLUMN, EdgeRows, RecordRows, category_column, number_column
from discreet.query.measures._related import RelatedKey, related_rows
from discreet.query.measures._scored import scored_rows
from discreet.query.measures._sensitivity import measure_norms
from discreet.query.parse._create_table import created_tables, type_in_policy
from discreet.query.parse._ibis import Expression, Query, ibis_table, text_of
from discreet.query.parse._parameters import Constant, bind
from discreet.query.parse._parse import check_depth, parse, parse_query, refuse, refuse_clauses
from discreet.query.parse._refusals import REFUSED
from discreet.query.parse._spellings import FUNCTIONS_ELSEWHERE, STATISTICS_ELSEWHERE
from discreet.query.passes._names import expand_references, match_name
from discreet.query.passes._pivots import without_pivots
from discreet.query.passes._quantiles import QUANTILE_NAMES
from discreet.query.passes._windows import FIRST_ROWS, RANKS, SHIFTS, TOTALS, check_windows
from discreet.query.relations._nodes import (
    Computed,
    Filtered,
    Grouped,
    Joined,
    Limited,
    Own,
    Ranked,
    Relation,
    Scan,
    SemiJoined,
    Stacked,
    Total,
    scans,
    stored_names,
    walked,
)
from discreet.query.results._answer import Answer, ErrorShape
from discreet.query.results._conditions import ARROW, row_limit
from discreet.query.results._dual import Dual
from discreet.query.results._evaluate import evaluate, rounding
from discreet.query.results._intervals import check_level
from discreet.query.results._serialize import (
    answer_from_stored,
    answer_to_stored,
    bars_digest,
    plain_value,
    release_digests,
    values_digest,
)
from discreet.query.results._words import answer_words
from discreet.query.suggest._plan import Suggest, SuggestionPlan, key_level, plan_suggestion
from discreet.query.suggest._suggestion import Suggestion

__all__ = [
    "ALL_NOISE",
    "ARROW",
    "DIALECTS",
    "FIRST_ROWS",
    "FUNCTIONS",
    "FUNCTIONS_ELSEWHERE",
    "HELD_TEXT",
    "INTEGERS",
    "LEVEL",
    "LONGEST_STORED_TEXT",
    "LONGEST_TEXT",
    "MOST_PUBLIC_ROWS",
    "PAIRS",
    "PERSON_COLUMN",
    "QUANTILE_NAMES",
    "RANKS",
    "READABLE",
    "REFUSED",
    "RULES",
    "SHIFTS",
    "STATISTICS",
    "STATISTICS_ELSEWHERE",
    "STATISTIC_NAMES",
    "TOTALS",
    "Answer",
    "Bias",
    "BoundedAggregate",
    "Call",
    "Cells",
    "CodedCells",
    "Computed",
    "Constant",
    "Count",
    "Cut",
    "Distinct",
    "Dual",
    "EdgeRows",
    "ErrorShape",
    "Expression",
    "Feature",
    "Field",
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
    "Marginals",
    "Measure",
    "Noise",
    "Own",
    "People",
    "Plan",
    "PlanTable",
    "PreparedSQL",
    "Product",
    "Query",
    "Ranked",
    "ReadPublic",
    "RecordPlan",
    "RecordRows",
    "RelatedKey",
    "Relation",
    "Release",
    "Row",
    "Scan",
    "SelectedRows",
    "SemiJoined",
    "ShownTable",
    "Stacked",
    "Suggest",
    "Suggestion",
    "SuggestionPlan",
    "Sum",
    "TopKeys",
    "Total",
    "answer_from_stored",
    "answer_to_stored",
    "answer_words",
    "assumed",
    "assuming",
    "bars_digest",
    "bind",
    "category_column",
    "certificate_of",
    "check_depth",
    "check_level",
    "check_windows",
    "coded_rows",
    "complete",
    "constant",
    "created_tables",
    "divides_safely",
    "domain",
    "draw",
    "draw_levels",
    "evaluate",
    "expand_references",
    "find_function",
    "footnotes",
    "format_parts",
    "ibis_table",
    "in_dialect",
    "integer_literal",
    "interval_length",
    "is_moment",
    "key_level",
    "key_type",
    "level_spends",
    "level_to_json",
    "make_plan",
    "match_name",
    "measure_norms",
    "noisy_groups",
    "nullable",
    "number_column",
    "parse",
    "parse_query",
    "plain_value",
    "plan_records",
    "plan_select",
    "plan_suggestion",
    "plan_with_bias",
    "public_groups",
    "public_reader",
    "read_rows",
    "recompute_level_loss",
    "recompute_query_loss",
    "refusal",
    "refusals",
    "refuse",
    "refuse_clauses",
    "related_rows",
    "release_digests",
    "rounding",
    "row_limit",
    "scans",
    "scored_rows",
    "section",
    "select_rows",
    "stored_names",
    "text_of",
    "together",
    "transpile",
    "type_in_policy",
    "values_digest",
    "verify_query_loss",
    "walked",
    "with_chosen_cap",
    "with_spend",
    "without_pivots",
]
