"""How DuckDB writes each function of `discreet.query.FUNCTIONS`. No row can make one of them raise.

An argument is written and computed once wherever it may be long, so that a query, and what DuckDB makes of it, grow
with the text and no faster. `nullif` makes null of what is not a number, and of moments outside the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.duckdb._functions_dates import DATES, in_calendar
from discreet.engines.duckdb._functions_numbers import NUMBERS
from discreet.engines.duckdb._functions_text import TEXTS
from discreet.engines.duckdb._once import unless_nan
from discreet.engines.sql import CHOICES, Rendering, Write, Writer
from discreet.query import Call

__all__ = ["RENDERINGS"]


def _cast(call: Call, writer: Writer, _: Write) -> str:
    node = call.args[0]
    source = writer.row.kind(node)
    exact = source == "number" and writer.row.exact(node)
    if source == "number" and call.option in ("DOUBLE", "FLOAT"):
        return writer.number(node)
    value = writer.integer(node) if exact else writer.value(node)
    match call.option:
        case "DOUBLE" | "FLOAT":
            return unless_nan(f"TRY_CAST({value} AS DOUBLE)")
        case "DATE" | "TIMESTAMP" | "TIMESTAMPNTZ":
            kind = "DATE" if call.option == "DATE" else "TIMESTAMP"
            return in_calendar(f"TRY_CAST({value} AS {kind})", kind)
        case "TEXT" | "VARCHAR":
            one_zero = f" + {writer.dialect.double(0)}" if source == "number" and not exact else ""
            return f"CAST({value}{one_zero} AS VARCHAR)"
        case "BOOLEAN":
            return f"TRY_CAST({value} AS BOOLEAN)"
        case _:
            narrow = "INTEGER" if call.option == "INT" else call.option
            return f"CAST(TRY_CAST({value} AS {narrow}) AS BIGINT)"


RENDERINGS: Mapping[str, Rendering] = {**CHOICES, "CAST": _cast, **NUMBERS, **DATES, **TEXTS}
"""By the name that plans use; the same names as in `discreet.query.FUNCTIONS`."""
