"""Pictures of histograms and of their plans: counts with intervals, and errors beside the least that is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.charts import AreaError, AreaValue, area_chart, area_error_chart

__all__ = ["MOST_BARS", "histogram_chart", "plan_chart"]

MOST_BARS = 40
"""Cells are drawn together, as ranges, where there are more of them."""


def plan_chart(
    column: str, errors: Sequence[tuple[str, float]], means: Mapping[str, float], cost: str
) -> dict[str, Any]:
    """A line for the standard errors of queries, and a level one for each mean."""
    rows = [AreaError(name, "standard error", error) for name, error in errors]
    rows += [AreaError(name, group, mean) for name, _ in errors for group, mean in means.items()]
    return area_error_chart(rows, f"Error of ranges of {column}", "rows", [f"cost {cost}"])


def histogram_chart(column: str, rows: Sequence[AreaValue], confidence: float, cost: str) -> dict[str, Any]:
    """The count of each range with its interval."""
    return area_chart(rows, f"Rows by {column}", [f"intervals at {100 * confidence:.10g} %", f"cost {cost}"])
