"""Pictures of marginals and of their plans: the error of each, and the cells of one with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from discreet.charts import AreaError, AreaValue, area_chart, area_error_chart

__all__ = ["cell_chart", "error_chart"]

_MOST_MARGINALS = 40
_NUMBERS = ("value", "unbiased", "standard_error", "lower", "upper")


def error_chart(marginals: Sequence[tuple[str, float]], confidence: float, cost: str) -> dict[str, Any]:
    """The half-width of one cell of each marginal, those of the largest first; the chart says of how many."""
    largest = sorted(marginals, key=lambda each: -each[1])[:_MOST_MARGINALS]
    errors = [AreaError(name, "half-width of one cell", half) for name, half in largest]
    cut = [f"largest {_MOST_MARGINALS} of {len(marginals):,}"] if len(largest) < len(marginals) else []
    notes = [f"at {100 * confidence:.10g} %", *cut, f"cost {cost}"]
    return area_error_chart(errors, "Error by marginal", "rows", notes)


def cell_chart(table: pa.Table, title: str, confidence: float, cost: str) -> dict[str, Any]:
    """The cells of a table with their intervals."""
    rows: list[AreaValue] = []
    for row in table.to_pylist():
        name = " · ".join(str(text) for column, text in row.items() if column not in _NUMBERS) or "all rows"
        rows.append(AreaValue(name, row["value"], row["unbiased"], row["upper"] - row["unbiased"]))
    points = "published numbers"
    return area_chart(rows, title, [f"at {100 * confidence:.10g} %", f"cost {cost}"], points=points)
