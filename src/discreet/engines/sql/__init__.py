"""Shared by the SQL engines: a bounded aggregate as one query, in each engine's dialect."""

from discreet.engines.sql._bounding import (
    Uncapped,
    bounded_sql,
    counted_rows_sql,
    records_sql,
    salts,
    uncapped,
    values_sql,
)
from discreet.engines.sql._dialect import Dialect, Rendering, Write, Writer, function
from discreet.engines.sql._edges import Scratch, StoredEdges, stored_edges
from discreet.engines.sql._expressions import Expressions
from discreet.engines.sql._functions import CHOICES
from discreet.engines.sql._functions_text import TEXTS, cut, strings
from discreet.engines.sql._histograms import read_groups
from discreet.engines.sql._parts import Part, Parts, cell_names, distinct_value, when_name
from discreet.engines.sql._patterns import no_patterns
from discreet.engines.sql._relation import Relation, StoredColumn, check_links, check_people
from discreet.engines.sql._rendering import is_deep, rows_sql

__all__ = [
    "CHOICES",
    "TEXTS",
    "Dialect",
    "Expressions",
    "Part",
    "Parts",
    "Relation",
    "Rendering",
    "Scratch",
    "StoredColumn",
    "StoredEdges",
    "Uncapped",
    "Write",
    "Writer",
    "bounded_sql",
    "cell_names",
    "check_links",
    "check_people",
    "counted_rows_sql",
    "cut",
    "distinct_value",
    "function",
    "is_deep",
    "no_patterns",
    "read_groups",
    "records_sql",
    "rows_sql",
    "salts",
    "stored_edges",
    "strings",
    "uncapped",
    "values_sql",
    "when_name",
]
