"""Least squares over all tables of all areas: what is measured where, the estimates, their variances and the shares."""

from discreet.census.estimates._components import Columns, Components
from discreet.census.estimates._estimate import Errors, Estimate, Sum
from discreet.census.estimates._intervals import half_widths, quantile, ratio_interval
from discreet.census.estimates._layout import Layout, Measure, area_keys
from discreet.census.estimates._shares import Accuracy, cheapest_shares, planned_shares, weighted_error

__all__ = [
    "Accuracy",
    "Columns",
    "Components",
    "Errors",
    "Estimate",
    "Layout",
    "Measure",
    "Sum",
    "area_keys",
    "cheapest_shares",
    "half_widths",
    "planned_shares",
    "quantile",
    "ratio_interval",
    "weighted_error",
]
