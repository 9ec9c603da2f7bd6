"""Functions of dates and timestamps in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.duckdb._once import once
from discreet.engines.sql import Rendering, Write, Writer
from discreet.query import Call, interval_length

__all__ = ["DATES", "in_calendar"]

_PARTS = {
    "YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "week", "DAY": "day", "DAYOFWEEK": "dayofweek",
    "ISODOW": "isodow", "DAYOFYEAR": "dayofyear", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
}  # fmt: skip
_DATE_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")


def in_calendar(sql: str, kind: str) -> str:
    """A moment, null outside the years 1 to 9999."""
    after = f"CAST('10000-01-01' AS {kind})"
    before = "CAST('0001-12-31 (BC)' AS DATE)" if kind == "DATE" else _BEFORE

    def body(y: str) -> str:
        return f"nullif(greatest(nullif(least({y}, {after}), {after}), {before}), {before})"

    return once(body, sql)


_BEFORE = "CAST('0001-12-31 (BC) 23:59:59.999999' AS TIMESTAMP)"


def _part(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        kind = "timestamp" if name in ("hour", "minute", "second") else "date"
        return f"CAST({name}({writer.value(call.args[0], kind)}) AS BIGINT)"

    return render


def _truncate(call: Call, writer: Writer, _: Write) -> str:
    node = call.args[0]
    stays_date = writer.row.kind(node) == "date" and call.option in _DATE_UNITS
    first = f"date_trunc('{call.option.lower()}', {writer.value(node, 'timestamp')})"
    return f"CAST({first} AS {'DATE' if stays_date else 'TIMESTAMP'})"


def _last_day(call: Call, writer: Writer, _: Write) -> str:
    return f"last_day({writer.value(call.args[0], 'timestamp')})"


def _difference(call: Call, writer: Writer, _: Write) -> str:
    first, second = (writer.value(node, "timestamp") for node in call.args)
    return f"date_diff('{call.option.lower()}', {first}, {second})"


def _format(call: Call, writer: Writer, _: Write) -> str:
    return f"strftime({writer.value(call.args[0], 'timestamp')}, {writer.dialect.text(call.option)})"


def _shift(sign: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        moment, interval = call.args
        assert isinstance(interval, exp.Interval)
        count, unit = interval_length(interval)
        if unit in ("QUARTER", "WEEK"):
            count, unit = (3 * count, "MONTH") if unit == "QUARTER" else (7 * count, "DAY")
        return in_calendar(f"({writer.value(moment, 'timestamp')} {sign} to_{unit.lower()}s({count}))", "TIMESTAMP")

    return render


DATES: Mapping[str, Rendering] = {
    **{part: _part(name) for part, name in _PARTS.items()},
    "STRFTIME": _format,
    "DATE_TRUNC": _truncate,
    "LAST_DAY": _last_day,
    "DATE_DIFF": _difference,
    "+ INTERVAL": _shift("+"),
    "- INTERVAL": _shift("-"),
}
