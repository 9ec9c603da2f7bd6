"""Which stored types have a defined reading, and what it is. Whatever a row holds, none of them raises."""

from __future__ import annotations

from dataclasses import replace

from discreet.engines.postgres._functions_dates import in_calendar
from discreet.engines.postgres._texts import (
    boolean_of,
    date_of,
    integer_of,
    number_of,
    number_text,
    timestamp_of,
    within,
)
from discreet.engines.postgres._total import INFINITY, NAN, double
from discreet.engines.sql import StoredColumn
from discreet.policy import ColumnType

__all__ = ["FRACTIONS", "INTEGERS", "READABLE", "TEXTS", "clean", "declared_as", "link_family", "person", "text_of"]

INTEGERS = ("smallint", "integer", "bigint")
FRACTIONS = ("real", "double precision")
TEXTS = ("text", "character varying", "character", "enum")
READABLE = (*INTEGERS, *FRACTIONS, *TEXTS, "boolean", "numeric", "uuid", "date", "timestamp", "timestamptz")
"""By PostgreSQL's names, but for any enumeration, and the two kinds of timestamps."""


_LONGEST = 2**24
"""In bytes. Some functions fail on texts of 256 MiB and more."""


def clean(stored: StoredColumn, kind: ColumnType) -> str:
    """A stored column as the policy's type; null for what does not convert, as too long a text does not."""
    if stored.type in TEXTS and kind != "string":
        short = f'(CASE WHEN octet_length({stored.sql}) <= {_LONGEST} THEN {stored.sql} END COLLATE "C")'
        stored = replace(stored, sql=short)
    match kind:
        case "bool":
            return _boolean(stored)
        case "int":
            return _integer(stored)
        case "float" | "decimal":
            return _double(stored)
        case "string":
            return text_of(stored.sql, stored)
        case "date" | "timestamp":
            return _moment(stored, kind)


def declared_as(stored: str) -> ColumnType | None:
    """What a policy calls a stored type of whole numbers or texts; None for others."""
    return "int" if stored in INTEGERS else "string" if stored in ("text", "character varying", "enum") else None


def link_family(stored: str) -> str:
    """Stored types whose equal values have equal texts: whole numbers and texts, or one type alone."""
    return "texts" if stored in INTEGERS or stored in TEXTS or stored == "uuid" else stored


def person(stored: StoredColumn) -> str:
    """The column as it names a person: NaN is nobody, and numbers that are equal are one."""
    if stored.type in FRACTIONS:
        return f"nullif(CAST({stored.sql} AS double precision) + {double(0)}, {NAN})"
    if stored.type == "numeric":
        return f"nullif(trim_scale({stored.sql}), CAST('NaN' AS numeric))"
    return text_of(stored.sql, stored) if stored.type in TEXTS else stored.sql


def text_of(value: str, stored: StoredColumn) -> str:
    """A stored value as text, in which different values are different."""
    if stored.type in TEXTS:
        return value  # it is one since it was described
    if stored.type in FRACTIONS:
        return number_text(f"nullif(CAST({value} AS double precision), {NAN})")
    return f'(CAST({value} AS text) COLLATE "C")'


def _boolean(stored: StoredColumn) -> str:
    value, kind = stored.sql, stored.type
    if kind == "boolean":
        return value
    if kind in INTEGERS:
        return f"({value} <> 0)"
    if kind == "numeric":
        return f"(nullif({value}, CAST('NaN' AS numeric)) <> 0)"
    if kind in FRACTIONS:
        return f"(nullif(CAST({value} AS double precision), {NAN}) <> 0)"
    return boolean_of(value) if kind in TEXTS else "CAST(NULL AS boolean)"


def _integer(stored: StoredColumn) -> str:
    value, kind = stored.sql, stored.type
    if kind in INTEGERS:
        return value if kind == "bigint" else f"CAST({value} AS bigint)"
    if kind == "boolean":
        return f"CAST(CAST({value} AS integer) AS bigint)"
    if kind == "numeric":
        return within(f"round({value})", 63)
    if kind in FRACTIONS:
        return nearest(f"CAST({value} AS double precision)", 63)
    return integer_of(value, 63) if kind in TEXTS else "CAST(NULL AS bigint)"


def _double(stored: StoredColumn) -> str:
    value, kind = stored.sql, stored.type
    if kind in INTEGERS:
        return f"CAST({value} AS double precision)"
    if kind in FRACTIONS:
        return f"nullif(CAST({value} AS double precision) + {double(0)}, {NAN})"
    if kind == "boolean":
        return f"CAST(CAST({value} AS integer) AS double precision)"
    if kind == "numeric":
        most, least = (f"CAST('{limit}' AS numeric)" for limit in ("1.7e308", "1e-300"))
        return (
            f"(CASE WHEN abs({value}) BETWEEN {least} AND {most} THEN CAST({value} AS double precision) "
            f"WHEN abs({value}) < {least} THEN {double(0)} WHEN {value} = CAST('NaN' AS numeric) THEN NULL "
            f"WHEN {value} > 0 THEN {INFINITY} WHEN {value} < 0 THEN -{INFINITY} END)"
        )
    return f"nullif({number_of(value)} + {double(0)}, {NAN})" if kind in TEXTS else "CAST(NULL AS double precision)"


def _moment(stored: StoredColumn, kind: str) -> str:
    value = stored.sql
    if stored.type in TEXTS:
        return in_calendar(date_of(value) if kind == "date" else timestamp_of(value), kind)
    if stored.type not in ("date", "timestamp", "timestamptz"):
        return f"CAST(NULL AS {kind})"
    if stored.type == "timestamptz":
        value = f"timezone('UTC', {value})"
    own = "date" if stored.type == "date" else "timestamp"
    inside = in_calendar(value, own)
    return inside if own == kind else f"CAST({inside} AS {kind})"


def nearest(number: str, bits: int) -> str:
    """A double as the nearest whole number of so many bits beside the sign; null beyond, and for NaN."""
    low, high = double(-float(2**bits) - (2048 if bits == 63 else 1)), double(2.0**bits)
    inside = f"round({number})"
    return f"CAST(nullif(least(nullif(greatest({inside}, {low}), {low}), {high}), {high}) AS bigint)"
