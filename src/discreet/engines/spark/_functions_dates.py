"""Functions of dates and timestamps in Spark. Timestamps have no zone, and where Spark wants one it is UTC."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.spark._readings import in_calendar, let
from discreet.engines.sql import Rendering, Write, Writer
from discreet.query import Call, format_parts, interval_length

__all__ = ["DATES"]

_PARTS = {
    "YEAR": "year({})", "QUARTER": "quarter({})", "MONTH": "month({})", "WEEK": "weekofyear({})", "DAY": "day({})",
    "DAYOFWEEK": "dayofweek({}) - 1", "ISODOW": "weekday({}) + 1", "DAYOFYEAR": "dayofyear({})",
    "HOUR": "hour({})", "MINUTE": "minute({})", "SECOND": "second({})",
}  # fmt: skip
_FORMATS = {
    "%Y": "yyyy", "%y": "yy", "%m": "MM", "%b": "MMM", "%B": "MMMM", "%d": "dd", "%j": "DDD", "%a": "EEE",
    "%A": "EEEE", "%H": "HH", "%I": "hh", "%p": "a", "%M": "mm", "%S": "ss", "%f": "SSSSSS",
}  # fmt: skip
_WEEKS = {
    "%u": "CAST(weekday({}) + 1 AS STRING)",
    "%G": "lpad(CAST(extract(YEAROFWEEK FROM {}) AS STRING), 4, '0')",
    "%V": "lpad(CAST(weekofyear({}) AS STRING), 2, '0')",
}
"""Of which Spark has no letters in a format."""
_DATE_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}
_DAY = 86400


def _part(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        kind = "timestamp" if name in _SECONDS else "date"
        return f"CAST({_PARTS[name].format(writer.value(call.args[0], kind))} AS BIGINT)"

    return render


def _truncate(call: Call, writer: Writer, _: Write) -> str:
    node = call.args[0]
    stays_date = writer.row.kind(node) == "date" and call.option in _DATE_UNITS
    return (
        f"CAST({_floor(writer.value(node, 'timestamp'), call.option)} AS {'DATE' if stays_date else 'TIMESTAMP_NTZ'})"
    )


def _format(call: Call, writer: Writer, _: Write) -> str:
    """Texts between codes are put beside them: within a format they would have signs of their own."""

    def code(part: str, moment: str) -> str:
        return _WEEKS[part].format(moment) if part in _WEEKS else f"date_format({moment}, '{_FORMATS[part]}')"

    def body(moment: str) -> str:
        parts = format_parts(call.option)
        return f"concat({', '.join(code(p, moment) if is_code else writer.dialect.text(p) for p, is_code in parts)})"

    return let(writer.value(call.args[0], "timestamp"), body)


def _floor(moment: str, unit: str) -> str:
    return f"date_trunc('{unit}', CAST({moment} AS TIMESTAMP_LTZ))"


def _last_day(call: Call, writer: Writer, _: Write) -> str:
    return f"last_day(CAST({writer.value(call.args[0], 'timestamp')} AS DATE))"


def _difference(call: Call, writer: Writer, _: Write) -> str:
    first, second = (writer.value(node, "timestamp") for node in call.args)
    unit = call.option
    if unit in _SECONDS:
        return f"({_count(second, unit)} - {_count(first, unit)})"
    if unit in ("DAY", "WEEK"):
        days = f"CAST(datediff({second}, {first}) AS BIGINT)"
        return days if unit == "DAY" else f"({days} DIV 7L)"  # DuckDB counts the weeks that are over
    months = f"months_between({_floor(second, unit)}, {_floor(first, unit)})"
    return f"CAST(rint({months} / {({'YEAR': 12, 'QUARTER': 3, 'MONTH': 1})[unit]}D) AS BIGINT)"


def _count(moment: str, unit: str) -> str:
    """Whole units since 1970."""
    return f"floor(unix_seconds(CAST({moment} AS TIMESTAMP_LTZ)) / {_SECONDS[unit]})"


def _shift(sign: int) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        moment, interval = call.args
        assert isinstance(interval, exp.Interval)
        count, unit = interval_length(interval)
        count, value = sign * count, writer.value(moment, "timestamp")
        if unit in ("YEAR", "QUARTER", "MONTH"):
            months = count * {"YEAR": 12, "QUARTER": 3, "MONTH": 1}[unit]
            shifted = f"({value} + make_ym_interval(0, {months}))"
        else:
            days, seconds = divmod(count * {"WEEK": 7 * _DAY, "DAY": _DAY, **_SECONDS}[unit], _DAY)
            shifted = f"({value} + make_dt_interval({days}, 0, 0, {seconds}))"
        return let(shifted, lambda y: in_calendar(y, "TIMESTAMP_NTZ"))

    return render


DATES: Mapping[str, Rendering] = {
    **{part: _part(part) for part in _PARTS},
    "STRFTIME": _format,
    "DATE_TRUNC": _truncate,
    "LAST_DAY": _last_day,
    "DATE_DIFF": _difference,
    "+ INTERVAL": _shift(1),
    "- INTERVAL": _shift(-1),
}
