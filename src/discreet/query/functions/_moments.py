"""Ranges of dates and timestamps, in whole microseconds since 1970-01-01; a date counts as its midnight.

The calendar is Gregorian throughout, from the year 1 to 9999. An infinite end says that no bound is known, and stands
for that end of the calendar.
"""

from __future__ import annotations

import datetime as dt
import math
from calendar import monthrange
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from discreet.query.functions._ranges import End, Range, span

__all__ = [
    "DAY",
    "changes",
    "first_moment",
    "last_day",
    "last_days",
    "microseconds",
    "moment_at",
    "moments_between",
    "part",
    "shifted",
]

DAY = 86_400_000_000
"""Microseconds of a day, which bounds of dates count."""
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (timestamps here have no zone)
_MICROSECOND = dt.timedelta(microseconds=1)
_LENGTHS: Mapping[str, int] = {"SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6, "DAY": DAY, "WEEK": 7 * DAY}
_MONTHS: Mapping[str, int] = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MONDAY = 4 * DAY
"""The first Monday after the epoch."""


def microseconds(moment: dt.date) -> int:
    """A date, or a timestamp without a zone, in microseconds since 1970.

    >>> microseconds(dt.date(1969, 12, 31)) // DAY
    -1
    """
    timestamp = moment if isinstance(moment, dt.datetime) else dt.datetime.combine(moment, dt.time())
    return (timestamp - _EPOCH) // _MICROSECOND


_FIRST, _LAST = microseconds(dt.date.min), microseconds(dt.date.max) + DAY - 1


def moment_at(count: int) -> dt.datetime:
    """A timestamp, from its microseconds since 1970; a year outside the calendar is refused by Python."""
    return _EPOCH + dt.timedelta(microseconds=count)


def _ends(bounds: Range) -> tuple[int, int]:
    """Both ends within the calendar; a range outside of it is of what is always null."""
    return math.floor(min(max(bounds.lower, _FIRST), _LAST)), math.ceil(min(max(bounds.upper, _FIRST), _LAST))


def _months(count: int) -> int:
    moment = moment_at(count)
    return moment.year * 12 + moment.month - 1


def _units(count: int, unit: str) -> int:
    """How many times a part of the date has changed since some moment."""
    return _months(count) // _MONTHS[unit] if unit in _MONTHS else count // _LENGTHS[unit]


def _difference(first: int, second: int, unit: str) -> int:
    if unit != "WEEK":
        return _units(second, unit) - _units(first, unit)
    days = _units(second, "DAY") - _units(first, "DAY")
    return days // 7 if days >= 0 else -(-days // 7)


def changes(first: Range, second: Range, unit: str) -> Range:
    """How many times a part of the date changes from a moment to another; of weeks, how many times seven days are over.

    >>> year = Range(Fraction(microseconds(dt.date(2020, 1, 1))), Fraction(microseconds(dt.date(2020, 12, 31))))
    >>> changes(year, year, "DAY").upper
    Fraction(365, 1)
    """
    (low, high), (later_low, later_high) = _ends(first), _ends(second)
    return span(_difference(high, later_low, unit), _difference(low, later_high, unit))


def first_moment(bounds: Range, unit: str) -> Range:
    """Moments cut to the first of their year, quarter, month, week, day, hour, minute or second."""

    def cut(end: End) -> End:
        if math.isinf(end):
            return end
        count = math.floor(end)
        if unit in _MONTHS:
            year, month = divmod(_months(count) // _MONTHS[unit] * _MONTHS[unit], 12)
            return Fraction(microseconds(dt.date(year, month + 1, 1)))
        start = _MONDAY if unit == "WEEK" else 0
        return Fraction((count - start) // _LENGTHS[unit] * _LENGTHS[unit] + start)

    return Range(cut(bounds.lower), cut(bounds.upper), integer=True)


def last_day(date: dt.date) -> dt.date:
    """The last day of a date's month.

    >>> last_day(dt.date(2024, 2, 1))
    datetime.date(2024, 2, 29)
    """
    return dt.date(date.year, date.month, monthrange(date.year, date.month)[1])


def last_days(bounds: Range) -> Range:
    """Moments moved to the midnight of the last day of their month."""

    def moved(end: End) -> End:
        return end if math.isinf(end) else Fraction(microseconds(last_day(moment_at(math.floor(end)))))

    return Range(moved(bounds.lower), moved(bounds.upper), integer=True)


def moments_between(bounds: Range, unit: str, most: int) -> list[dt.datetime] | None:
    """The first moments of the years, quarters, months, … or seconds that a range meets; None for more than `most`.

    >>> year = Range(Fraction(microseconds(dt.date(2023, 11, 30))), Fraction(microseconds(dt.date(2024, 1, 1))))
    >>> [str(month.date()) for month in moments_between(year, "MONTH", 9)]
    ['2023-11-01', '2023-12-01', '2024-01-01']
    """
    if not bounds.finite:
        return None
    first, last = _ends(first_moment(bounds, unit))
    if unit in _MONTHS:
        months = range(_months(first), _months(last) + 1, _MONTHS[unit])
        return [dt.datetime(n // 12, n % 12 + 1, 1) for n in months] if len(months) <= most else None  # noqa: DTZ001
    counts = range(first, last + 1, _LENGTHS[unit])
    return [moment_at(count) for count in counts] if len(counts) <= most else None


def shifted(bounds: Range, count: int, unit: str) -> Range:
    """Moments later by so many units, or earlier; what leaves the calendar is null.

    A day that the month lacks becomes its last, with its own time: so of shifts by months the ends are whole days.
    """
    if unit not in _MONTHS:
        lower, upper = (
            end if math.isinf(end) else end + count * _LENGTHS[unit] for end in (bounds.lower, bounds.upper)
        )
    else:
        lower, upper = (_month_later(end, count * _MONTHS[unit]) for end in (bounds.lower, bounds.upper))
        upper += DAY - 1
    return Range(_inside(lower), _inside(upper), integer=True)


def _inside(end: End) -> End:
    """The end, or the nearest moment of the calendar."""
    return end if math.isinf(end) else min(max(Fraction(end), Fraction(_FIRST)), Fraction(_LAST))


def _month_later(end: End, months: int) -> End:
    """The midnight so many months later; one outside the calendar for what is outside of it."""
    if math.isinf(end):
        return end
    count = math.floor(end)
    year, month = divmod(_months(count) + months, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        return Fraction(_FIRST - DAY if year < dt.MINYEAR else _LAST + 1)
    day = min(moment_at(count).day, monthrange(year, month + 1)[1])
    return Fraction(microseconds(dt.date(year, month + 1, day)))


def part(bounds: Range, value: Callable[[Any], int], period: Callable[[Any], Any], widest: tuple[int, int]) -> Range:
    """A part of moments, which only grows within each period; `widest` are the bounds of any."""
    lower, upper = map(moment_at, _ends(bounds))
    return span(value(lower), value(upper)) if period(lower) == period(upper) else span(*widest)
