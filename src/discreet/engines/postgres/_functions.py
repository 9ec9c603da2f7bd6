"""How PostgreSQL writes each function of `discreet.query.FUNCTIONS`. No row can make one of them raise.

Values are those of DuckDB, but for these:

- REVERSE goes by code points, where DuckDB keeps an accent with its letter.
- LOWER, UPPER and ILIKE follow Unicode's simple mapping (`pg_c_utf8`, from PostgreSQL 17 on), in which the upper case
  of ß is ß, where DuckDB has ẞ. PostgreSQL 16 has the server's ICU, in which it is SS, or else ASCII's letters alone.
- Logarithms and powers may differ in the last digit. A power is an infinity from e^709.78 = 1.793e308 up, and powers
  and EXP are zero below 1e-323.
- A text reads as a whole number also where DuckDB has too many digits before an exponent for it, as in
  99999999999999999999e-5, and not with two signs, as +-7, which DuckDB takes for a DOUBLE.
- No text holds a NUL character: none can be stored, and a query with one is refused.
- A value of a REAL reads as the double that it is: 0.1 is 0.10000000149011612 as a text.
- A DECIMAL holds numbers beyond doubles, which read as infinities, from 1.7e308 up, and as zero, below 1e-300.
- A text of more than 16 MiB is null, but where it names a person or links rows.
- Of CHAR(n) the blanks at the end are no part. BYTEA is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from discreet.engines.postgres._functions_dates import DATES, in_calendar
from discreet.engines.postgres._functions_numbers import NUMBERS
from discreet.engines.postgres._functions_text import texts
from discreet.engines.postgres._texts import (
    boolean_of,
    date_of,
    integer_of,
    number_of,
    number_text,
    timestamp_of,
    within,
)
from discreet.engines.postgres._total import NAN, double
from discreet.engines.sql import CHOICES, Rendering, Write, Writer, no_patterns
from discreet.query import Call

__all__ = ["renderings"]

_BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_KINDS = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMPNTZ": "timestamp"}


def _cast(call: Call, writer: Writer, _: Write) -> str:
    node, option = call.args[0], call.option
    source = writer.row.kind(node)
    if source == "null":
        return writer.dialect.cast("NULL", _named(option))
    if source == "number":
        return _number(call, writer)
    value = writer.value(node)
    match option:
        case "DOUBLE" | "FLOAT":
            if source == "bool":
                return f"CAST(CAST({value} AS integer) AS double precision)"
            return f"nullif({number_of(value)}, {NAN})"
        case "TEXT" | "VARCHAR":
            return value if source == "string" else writer.dialect.cast(value, "VARCHAR")
        case "BOOLEAN":
            return value if source == "bool" else boolean_of(value)
        case "DATE" | "TIMESTAMP" | "TIMESTAMPNTZ":
            return _moment(value, source, _KINDS[option])
        case _ if source == "bool":
            return f"CAST(CAST({value} AS integer) AS bigint)"
        case _:
            return integer_of(value, _BITS[option])


def _named(option: str) -> str:
    """The type of a cast by the name that dialects use."""
    return {"FLOAT": "DOUBLE", "TEXT": "VARCHAR", "TIMESTAMPNTZ": "TIMESTAMP"}.get(
        option, "BIGINT" if option in _BITS else option
    )


def _number(call: Call, writer: Writer) -> str:
    """A number as another type: an exact one from its whole digits."""
    node, dialect = call.args[0], writer.dialect
    match call.option:
        case "DOUBLE" | "FLOAT":
            return writer.number(node)
        case "BOOLEAN":
            return f"({writer.number(node)} <> {double(0)})"
        case "TEXT" | "VARCHAR" if not writer.row.exact(node):
            return number_text(f"({writer.number(node)} + {double(0)})")  # which makes one of the two zeros
        case "TEXT" | "VARCHAR":
            return dialect.cast(writer.integer(node), "VARCHAR")
        case _ if not writer.row.exact(node):
            return dialect.to_integer(writer.number(node), call.option)
        case _:
            limits, bits = writer.row.range(node), _BITS[call.option]
            inside = bits == 63 or (limits.finite and limits.largest < 2**bits)
            return writer.integer(node) if inside else within(writer.integer(node), bits)


def _moment(value: str, source: str, kind: str) -> str:
    if source == "string":
        value = date_of(value) if kind == "date" else timestamp_of(value)
        return in_calendar(value, kind)
    return value if source == kind else f"CAST({value} AS {kind})"


def _nullif(call: Call, writer: Writer, write: Write) -> str:
    """Null has no type of its own that PostgreSQL would compare with another."""
    return write(call.args[0]) if writer.row.kind(call.args[0]) == "null" else CHOICES["NULLIF"](call, writer, write)


@cache
def renderings(casing: str) -> Mapping[str, Rendering]:
    """By the name that plans use; the same names as in `discreet.query.FUNCTIONS`."""
    own = {"NULLIF": _nullif, "CAST": _cast, **no_patterns("PostgreSQL")}
    return {**CHOICES, **own, **NUMBERS, **DATES, **texts(casing)}
