"""Plots of what privacy costs and of what noise does; they need the extra ``discreet[plots]``.

Nothing here may be given private data: a picture of errors on data, or of local sensitivity, tells about the data.
"""

from discreet.explain._audit import audit_chart, audit_table_chart
from discreet.explain._charts import (
    burndown_chart,
    burndown_points,
    check_path,
    estimate_chart,
    loss_chart,
    loss_points,
    recommendation_chart,
    save,
    smooth_curve,
    smooth_points,
)
from discreet.explain._errors import error_comparison, error_histogram, errors
from discreet.explain._pages import catalogue, with_tables

__all__ = [
    "audit_chart",
    "audit_table_chart",
    "burndown_chart",
    "burndown_points",
    "catalogue",
    "check_path",
    "error_comparison",
    "error_histogram",
    "errors",
    "estimate_chart",
    "loss_chart",
    "loss_points",
    "recommendation_chart",
    "save",
    "smooth_curve",
    "smooth_points",
    "with_tables",
]
