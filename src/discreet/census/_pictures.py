"""Pictures of plans and publications: errors by level and by size of area, numbers with intervals, shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import pyarrow as pa

from discreet.census._report import Report
from discreet.charts import AreaError, AreaValue, Share, area_chart, area_error_chart, share_chart
from discreet.errors import ParameterError

__all__ = ["Picture", "checked_picture", "level_errors", "shares", "size_errors", "values"]

Picture = Literal["errors", "sizes", "values", "shares"]


def checked_picture(what: object) -> Picture:
    """What to draw. Raises `ParameterError` for something else."""
    for each in get_args(Picture):
        if what == each:
            return each
    raise ParameterError(f"a picture is of {', '.join(get_args(Picture))}, not {what!r}")


def level_errors(rows: Sequence[tuple[str, str, float]], confidence: float, cost: str) -> dict[str, Any]:
    """Half-widths of one cell by level, a line for each table."""
    errors = [AreaError(*row) for row in rows]
    return area_error_chart(errors, "Error by level", f"half-width at {100 * confidence:.10g} %", [f"cost {cost}"])


def size_errors(report: Report, cost: str) -> dict[str, Any]:
    """The standard error and the size of the bend of totals, by size of area, at the level of the smallest areas."""
    last = report.rows[-1].level
    rows = [row for row in report.rows if row.level == last]
    errors: list[AreaError] = []
    for row in rows:
        errors += [
            AreaError(row.size, "standard error", row.standard_error),
            AreaError(row.size, "bend", abs(row.bend)),
        ]
    return area_error_chart(errors, f"Totals of each {last} by size", "people", [f"cost {cost}"])


def values(table: pa.Table, level: str, title: str, cost: str) -> dict[str, Any]:
    """The numbers of a table with their intervals."""
    texts = [name for name in table.column_names if name not in _NUMBERS and name != level]
    rows: list[AreaValue] = []
    for row in table.to_pylist():
        if row["value"] is None:
            continue
        name = " · ".join([str(row[level]), *(str(row[text]) for text in texts)])
        rows.append(AreaValue(name, row["value"], row["unbiased"], row["upper"] - row["unbiased"]))
    return area_chart(rows, title, [f"cost {cost}"])


def shares(parts: Sequence[tuple[str, str, float]], cost: str) -> dict[str, Any]:
    """The share of the spend of each level and table."""
    return share_chart(
        [Share(f"{place}: {table}", part, 0.0) for place, table, part in parts], "Budget", [f"of {cost}"]
    )


_NUMBERS = ("value", "unbiased", "standard_error", "lower", "upper", "flag")
