"""Ways to divide a table into classes of rows that look alike."""

from __future__ import annotations

from discreet.anonymize.algorithms._best_mondrian import best_mondrian
from discreet.anonymize.algorithms._extents import Extent, extent_of
from discreet.anonymize.algorithms._fast_mondrian import fast_mondrian
from discreet.anonymize.algorithms._full_domain import datafly, full_domain
from discreet.anonymize.algorithms._groups import Groups
from discreet.anonymize.algorithms._microaggregation import microaggregation
from discreet.anonymize.algorithms._problem import Problem, Spread, classes_in_order, settled

__all__ = [
    "Extent",
    "Groups",
    "Problem",
    "Spread",
    "best_mondrian",
    "classes_in_order",
    "datafly",
    "extent_of",
    "fast_mondrian",
    "full_domain",
    "microaggregation",
    "settled",
]
