"""Statistical tables of nested areas: integers that add up, beside each the unbiased number and its interval.

A specification lists areas, tables and shares of the budget, all of them public. Every table is measured with noise at
every level that has a share; least squares over all measurements gives the unbiased numbers with exact variances, known
before anything is paid; and integers that are never negative and add up are made of these.
"""

from discreet.census._plan import CensusPlan
from discreet.census._publication import Publication
from discreet.census._publish import KIND, load, plan, plan_question, publish, spec_for
from discreet.census._question import PreparedPublication, Publish
from discreet.census._report import Report, ReportRow
from discreet.census._totals import Ratio, Total
from discreet.census.estimates import Errors, Estimate, Layout
from discreet.census.histograms import Histogram, histogram, load_histogram, plan_histogram
from discreet.census.marginal_tables import (
    MARGINALS_KIND,
    Estimated,
    MarginalsPlan,
    MarginalTables,
    PreparedMarginals,
    PublishMarginals,
    load_marginals,
    marginals,
    plan_marginals,
    plan_marginals_question,
)
from discreet.census.specs import Geography, Spec

__all__ = [
    "KIND",
    "MARGINALS_KIND",
    "CensusPlan",
    "Errors",
    "Estimate",
    "Estimated",
    "Geography",
    "Histogram",
    "Layout",
    "MarginalTables",
    "MarginalsPlan",
    "PreparedMarginals",
    "PreparedPublication",
    "Publication",
    "Publish",
    "PublishMarginals",
    "Ratio",
    "Report",
    "ReportRow",
    "Spec",
    "Total",
    "histogram",
    "load",
    "load_histogram",
    "load_marginals",
    "marginals",
    "plan",
    "plan_histogram",
    "plan_marginals",
    "plan_marginals_question",
    "plan_question",
    "publish",
    "spec_for",
]
