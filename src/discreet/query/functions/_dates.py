"""Functions of dates and timestamps, which lie in the years 1 to 9999 and have no time zone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions._calls import Call, integer_literal
from discreet.query.functions._formats import CODES, format_parts, formatted
from discreet.query.functions._moments import changes, first_moment, last_day, last_days, part, shifted
from discreet.query.functions._ranges import Range
from discreet.query.functions._spec import Function, Kind, Scope, takes

__all__ = ["DATES", "interval_length"]

_UNITS: Mapping[str, float] = {
    "SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 7 * 86400, "MONTH": 28 * 86400,
    "QUARTER": 90 * 86400, "YEAR": 365 * 86400,
}  # fmt: skip
_CLOCK = ("HOUR", "MINUTE", "SECOND")
_DATE_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
_MOMENT = ("date", "timestamp")
_LONGEST = 10_000 * 365 * 86400


def interval_length(node: exp.Expr) -> tuple[int, str]:
    """How many of which unit an INTERVAL is; raises `QueryError` unless it is one constant with a unit."""
    unit = node.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    written = node.this
    text = written.name if isinstance(written, exp.Literal) and written.is_string else None
    if text is not None:
        digits = text.removeprefix("-")
        known = digits.isdecimal() and digits.isascii() and len(digits) <= 18
        count = int(text) if known else None
    else:
        count = None if written is None else integer_literal(written)
    if name not in _UNITS or count is None:
        raise QueryError(f"{node.sql()} is not an interval that queries can use; write for example INTERVAL 3 DAY")
    if abs(count) * _UNITS[name] > _LONGEST:
        raise QueryError(f"{node.sql()} is longer than 10,000 years; write a shorter one")
    return count, name


def _shifted(call: Call, scope: Scope) -> Kind:
    moment, interval = call.args
    if not isinstance(interval, exp.Interval):
        raise QueryError(f"{call.name} needs an INTERVAL, for example d + INTERVAL 3 DAY, not {interval.sql()}")
    interval_length(interval)
    return takes(_MOMENT, gives="timestamp")(Call(call.name, (moment,)), scope)


def _truncated(call: Call, scope: Scope) -> Kind:
    if call.option not in _UNITS:
        raise QueryError(f"DATE_TRUNC takes one of {', '.join(_UNITS)}, not {call.option}")
    takes(_MOMENT, gives="timestamp")(call, scope)
    kind = scope.kind(call.args[0])
    return "date" if kind == "date" and call.option in _DATE_UNITS else "timestamp"


def _difference(call: Call, scope: Scope) -> Kind:
    if call.option not in _UNITS:
        raise QueryError(f"DATE_DIFF takes one of {', '.join(_UNITS)}, not {call.option}")
    kind = scope.agree(call.args)
    if kind not in (*_MOMENT, "null"):
        raise QueryError(f"DATE_DIFF takes dates or timestamps, not a {kind}; convert it with CAST(… AS DATE)")
    return "number"


def _truncate(value: dt.date, unit: str) -> dt.date:
    if unit in _CLOCK:
        midnight, step = dt.datetime.combine(value, dt.time()), dt.timedelta(seconds=_UNITS[unit])
        return midnight + (value - midnight) // step * step if isinstance(value, dt.datetime) else midnight
    date = value.date() if isinstance(value, dt.datetime) else value
    match unit:
        case "YEAR":
            first = date.replace(month=1, day=1)
        case "QUARTER":
            first = date.replace(month=(date.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH":
            first = date.replace(day=1)
        case "WEEK":
            first = date - dt.timedelta(days=date.weekday())
        case _:
            first = date
    return dt.datetime.combine(first, dt.time()) if isinstance(value, dt.datetime) else first


def _part(names: str, does: str, bounds: tuple[int, int], evaluate: Callable[[Any], int], period: str = "") -> Function:
    """A part of a date, which only grows within each `period`; always, if there is none."""
    low, high = bounds
    name, *more = names.split()
    narrower = f"fewer where the bounds of d lie in one {period}" if period else "those of the bounds of d"

    def limits(call: Call, scope: Scope) -> Range:
        return part(scope.range(call.args[0]), evaluate, _PERIODS[period], bounds)

    return Function(
        (name, *more), f"{name}(d)", f"{does}; also EXTRACT and DATE_PART", f"{low} to {high}; {narrower}",
        "null where d is", takes(_MOMENT, gives="number"), (1, 1), limits, evaluate=evaluate, exact="always",
    )  # fmt: skip


_PERIODS: Mapping[str, Callable[[dt.datetime], Any]] = {
    "": lambda _: None,
    "year": lambda d: d.year,
    "ISO year": lambda d: d.isocalendar()[0],
    "month": lambda d: (d.year, d.month),
    "week": lambda d: d.toordinal() // 7,
    "ISO week": lambda d: d.isocalendar()[:2],
    "day": lambda d: d.toordinal(),
    "hour": lambda d: (d.toordinal(), d.hour),
    "minute": lambda d: (d.toordinal(), d.hour, d.minute),
}


def _format_kind(call: Call, scope: Scope) -> Kind:
    format_parts(call.option)
    return takes(_MOMENT, gives="string")(call, scope)


def _always(_: Call, __: Scope) -> bool:
    return True


def _changes(call: Call, scope: Scope) -> Range:
    first, second = map(scope.range, call.args)
    return changes(first, second, call.option)


def _first(call: Call, scope: Scope) -> Range:
    return first_moment(scope.range(call.args[0]), call.option)


def _last(call: Call, scope: Scope) -> Range:
    return last_days(scope.range(call.args[0]))


def _moved(sign: int) -> Callable[[Call, Scope], Range]:
    def range_of(call: Call, scope: Scope) -> Range:
        count, unit = interval_length(call.args[1])
        return shifted(scope.range(call.args[0]), sign * count, unit)

    return range_of


def _time(name: str) -> Callable[[Any], int]:
    return lambda d: getattr(d, name) if isinstance(d, dt.datetime) else 0


DATES = (
    _part("YEAR", "the year", (1, 9999), lambda d: d.year),
    _part("QUARTER", "the quarter", (1, 4), lambda d: (d.month + 2) // 3, "year"),
    _part("MONTH", "the month", (1, 12), lambda d: d.month, "year"),
    _part(
        "WEEK WEEKOFYEAR WEEK_OF_YEAR", "the week of the ISO calendar", (1, 53),
        lambda d: d.isocalendar()[1], "ISO year",
    ),
    _part("DAY DAYOFMONTH DAY_OF_MONTH", "the day of the month", (1, 31), lambda d: d.day, "month"),
    _part(
        "DAYOFWEEK WEEKDAY DOW DAY_OF_WEEK", "the day of the week, Sunday is 0", (0, 6),
        lambda d: d.isoweekday() % 7, "week",
    ),
    _part(
        "ISODOW DAYOFWEEK_ISO", "the day of the week, Monday is 1 and Sunday 7", (1, 7),
        lambda d: d.isoweekday(), "ISO week",
    ),
    _part("DAYOFYEAR DOY DAY_OF_YEAR", "the day of the year", (1, 366), lambda d: d.timetuple().tm_yday, "year"),
    _part("HOUR", "the hour", (0, 23), _time("hour"), "day"),
    _part("MINUTE", "the minute", (0, 59), _time("minute"), "hour"),
    _part("SECOND", "the second", (0, 59), _time("second"), "minute"),
    Function(
        ("STRFTIME", "TIME_TO_STR"), "STRFTIME(d, '%Y-%m')",
        f"a date as a text in a constant format, of {' '.join(CODES)}, in English; "
        "also STRFTIME('%Y-%m', d)", "not a number", "null where d is",
        _format_kind, (1, 1), evaluate=formatted,
    ),
    Function(
        ("DATE_TRUNC", "DATETRUNC", "TIMESTAMP_TRUNC"), "DATE_TRUNC('month', d)",
        "the first moment of the year, quarter, month, week, day, hour, minute or second; "
        "a date stays one down to days",
        "not a number", "null where d is", _truncated, (1, 1), _first, evaluate=_truncate,
    ),
    Function(
        ("LAST_DAY", "LAST_DAY_OF_MONTH"), "LAST_DAY(d)", "the last day of the month, a date",
        "not a number", "null where d is", takes(_MOMENT, gives="date"), (1, 1), _last, evaluate=last_day,
    ),
    Function(
        ("DATE_DIFF", "DATEDIFF"), "DATE_DIFF('day', a, b)",
        "how many times the part changes from a to b; of weeks, how many times seven days are over",
        "from the bounds of a and b; without, as many as 9,999 years have", "null where a or b is", _difference, (2, 2),
        _changes, exact="always",
    ),
    Function(
        ("+ INTERVAL", "DATE_ADD"), "d + INTERVAL 3 DAY",
        "a timestamp later by a constant; a day that the month lacks becomes its last",
        "not a number", "null where d is, and outside the years 1 to 9999", _shifted, (2, 2),
        _moved(1), null=_always,
    ),
    Function(
        ("- INTERVAL",), "d - INTERVAL 3 DAY", "a timestamp earlier by a constant", "not a number",
        "null where d is, and outside the years 1 to 9999", _shifted, (2, 2), _moved(-1), null=_always,
    ),
)  # fmt: skip
