"""Functions of dates and timestamps in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.postgres._total import bound
from discreet.engines.sql import Rendering, Write, Writer
from discreet.query import Call, format_parts, interval_length

__all__ = ["DATES", "in_calendar"]

_PARTS = {
    "YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "week", "DAY": "day", "DAYOFWEEK": "dow",
    "ISODOW": "isodow", "DAYOFYEAR": "doy", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
}  # fmt: skip
_DATE_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_SECONDS = {"WEEK": 7 * 86400, "DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
_FORMATS = {
    "%Y": "YYYY", "%y": "YY", "%m": "MM", "%b": "Mon", "%B": "FMMonth", "%d": "DD", "%j": "DDD", "%a": "Dy",
    "%A": "FMDay", "%u": "ID", "%G": "IYYY", "%V": "IW", "%H": "HH24", "%I": "HH12", "%p": "AM", "%M": "MI",
    "%S": "SS", "%f": "US",
}  # fmt: skip
_CALENDAR = 9_999
_SAFE = 3_000
"""Years before the year 1 that PostgreSQL's calendar surely has."""


def in_calendar(sql: str, kind: str) -> str:
    """A moment, null outside the years 1 to 9999, which infinities are."""
    after = f"CAST('10000-01-01' AS {kind})"
    before = f"CAST('{'0001-12-31' if kind == 'date' else '0001-12-31 23:59:59.999999'} BC' AS {kind})"
    return f"nullif(greatest(nullif(least({sql}, {after}), {after}), {before}), {before})"


def _part(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        kind = "timestamp" if name in ("hour", "minute", "second") else "date"
        node = call.args[0]
        value = writer.value(node, kind)
        if kind == "date" and writer.row.kind(node) == "timestamp":
            value = f"CAST({value} AS date)"
        return f"CAST(trunc(extract({name} FROM {value})) AS bigint)"

    return render


def _truncate(call: Call, writer: Writer, _: Write) -> str:
    node = call.args[0]
    stays_date = writer.row.kind(node) == "date" and call.option in _DATE_UNITS
    first = f"date_trunc('{call.option.lower()}', {writer.value(node, 'timestamp')})"
    return f"CAST({first} AS {'date' if stays_date else 'timestamp'})"


def _last_day(call: Call, writer: Writer, _: Write) -> str:
    first = f"date_trunc('month', {writer.value(call.args[0], 'timestamp')})"
    return f"CAST({first} + CAST('1 month -1 day' AS interval) AS date)"


def _difference(call: Call, writer: Writer, _: Write) -> str:
    first, second = (writer.value(node, "timestamp") for node in call.args)
    if call.option == "WEEK":  # of which DuckDB counts those that are over
        return f"CAST(trunc(CAST({_count(second, 'DAY')} - {_count(first, 'DAY')} AS numeric) / 7) AS bigint)"
    return f"({_count(second, call.option)} - {_count(first, call.option)})"


def _count(moment: str, unit: str) -> str:
    """How many times a part of the date has changed since some moment."""
    if unit in _MONTHS:
        months = bound("extract(year FROM {x}) * 12 + extract(month FROM {x}) - 1", x=moment)
        return f"CAST(floor({months} / {_MONTHS[unit]}) AS bigint)"
    return f"CAST(floor(extract(epoch FROM {moment}) / {_SECONDS[unit]}) AS bigint)"


def _format(call: Call, writer: Writer, _: Write) -> str:
    """Texts between codes are put beside them: within a format they would have signs of their own."""
    parts = [
        f"to_char({{x}}, '{_FORMATS[part]}')" if is_code else _braced(writer.dialect.text(part))
        for part, is_code in format_parts(call.option)
    ]
    return bound(" || ".join(parts), x=writer.value(call.args[0], "timestamp"))


def _braced(sql: str) -> str:
    return sql.replace("{", "{{").replace("}", "}}")


def _shift(sign: int) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        moment, interval = call.args
        assert isinstance(interval, exp.Interval)
        count, unit = interval_length(interval)
        return in_calendar(_shifted(writer.value(moment, "timestamp"), sign * count, unit), "timestamp")

    return render


def _shifted(moment: str, count: int, unit: str) -> str:
    """A moment later or earlier; null where that is before PostgreSQL's calendar, and so outside everybody's."""
    if unit in _MONTHS:
        written, years = f"{count * _MONTHS[unit]} months", -count * _MONTHS[unit] // 12
    else:
        size = _SECONDS[unit]
        days, seconds = divmod(abs(count) * size, 86400)
        sign = "-" if count < 0 else ""
        written, years = f"{sign}{days} days {sign}{seconds} seconds", -count * size // (366 * 86400)
    later = f"+ CAST('{written}' AS interval)"
    if years <= _SAFE:
        return f"({moment} {later})"
    first = years - _SAFE // 2
    if first > _CALENDAR:
        return "CAST(NULL AS timestamp)"
    return bound(f"CASE WHEN {{x}} >= CAST('{first:04d}-01-01' AS timestamp) THEN {{x}} {later} END", x=moment)


DATES: Mapping[str, Rendering] = {
    **{part: _part(name) for part, name in _PARTS.items()},
    "STRFTIME": _format,
    "DATE_TRUNC": _truncate,
    "LAST_DAY": _last_day,
    "DATE_DIFF": _difference,
    "+ INTERVAL": _shift(1),
    "- INTERVAL": _shift(-1),
}
