"""Histograms of one column, measured so that ranges, prefixes or listed queries of it come out with the least error."""

from discreet.census.histograms._kind import HISTOGRAM_KIND
from discreet.census.histograms._plan import HistogramPlan
from discreet.census.histograms._publish import (
    histogram,
    load_histogram,
    plan_histogram,
    plan_histogram_question,
)
from discreet.census.histograms._question import CountCells, PreparedHistogram
from discreet.census.histograms._release import Histogram, RangeCount

__all__ = [
    "HISTOGRAM_KIND",
    "CountCells",
    "Histogram",
    "HistogramPlan",
    "PreparedHistogram",
    "RangeCount",
    "histogram",
    "load_histogram",
    "plan_histogram",
    "plan_histogram_question",
]
