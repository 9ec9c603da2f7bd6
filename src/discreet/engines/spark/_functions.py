"""How Spark writes each function of `discreet.query.FUNCTIONS`. No row can make one of them raise.

An argument is written once wherever it may be long, so that a query, and the tree that Spark makes of it, grow with
the text and no faster.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.spark._functions_choices import CHOICES
from discreet.engines.spark._functions_dates import DATES
from discreet.engines.spark._functions_numbers import NUMBERS
from discreet.engines.spark._functions_text import TEXTS
from discreet.engines.spark._readings import read_text, text_of_double, to_integer
from discreet.engines.sql import Rendering, Write, Writer, no_patterns
from discreet.query import Call

__all__ = ["RENDERINGS"]


def _cast(call: Call, writer: Writer, _: Write) -> str:
    node, dialect = call.args[0], writer.dialect
    source = writer.row.kind(node)
    exact = source == "number" and writer.row.exact(node)
    if source == "number" and call.option in ("DOUBLE", "FLOAT"):
        return writer.number(node)
    value = writer.integer(node) if exact else writer.value(node)
    match call.option:
        case "DOUBLE" | "FLOAT":
            return read_text(dialect, value, "DOUBLE") if source == "string" else f"CAST({value} AS DOUBLE)"
        case "DATE" | "TIMESTAMP" | "TIMESTAMPNTZ":
            kind = "DATE" if call.option == "DATE" else "TIMESTAMP_NTZ"
            return read_text(dialect, value, kind) if source == "string" else f"CAST({value} AS {kind})"
        case "TEXT" | "VARCHAR":
            fraction = source == "number" and not exact
            return text_of_double(f"{value} + {dialect.double(0)}") if fraction else f"CAST({value} AS STRING)"
        case "BOOLEAN":
            return read_text(dialect, value, "BOOLEAN") if source == "string" else f"CAST({value} AS BOOLEAN)"
        case _:
            narrow = "INT" if call.option in ("INT", "INTEGER") else call.option
            if source == "string":
                return f"CAST({read_text(dialect, value, narrow)} AS BIGINT)"
            narrowed = f"try_cast({value} AS {narrow})" if exact or source != "number" else to_integer(value, narrow)
            return f"CAST({narrowed} AS BIGINT)"


RENDERINGS: Mapping[str, Rendering] = {
    **CHOICES, "CAST": _cast, **NUMBERS, **DATES, **TEXTS, **no_patterns("Spark"),
}  # fmt: skip
"""By the name that plans use; the same names as in `discreet.query.FUNCTIONS`."""
