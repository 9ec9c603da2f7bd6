"""Calendar windows, in UTC: where the one of a moment begins, and where the next one does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

__all__ = ["PERIODS", "Period", "begun", "next_start", "start"]

Period = Literal["day", "week", "month", "quarter", "year"]

PERIODS: tuple[Period, ...] = get_args(Period)


def start(every: Period, at: datetime) -> datetime:
    """The beginning of the window that holds `at`; weeks begin on Monday.

    >>> start("quarter", datetime(2026, 11, 22, 18, tzinfo=UTC)).date()
    datetime.date(2026, 10, 1)
    """
    day = datetime(at.year, at.month, at.day, tzinfo=UTC)
    match every:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)


def next_start(every: Period, at: datetime) -> datetime:
    """The beginning of the window after the one that holds `at`; the end of all dates if there is none."""
    longest = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
    try:
        return start(every, start(every, at) + timedelta(days=longest[every]))
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def begun(every: Period, since: datetime, at: datetime) -> int:
    """How many windows have begun after `since`, up to and with the one that holds `at`, later.

    >>> begun("month", datetime(2026, 11, 22, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    2
    """
    return _number(every, at) - _number(every, since)


def _number(every: Period, at: datetime) -> int:
    match every:
        case "day":
            return at.toordinal()
        case "week":
            return (at.toordinal() - 1) // 7
        case "month":
            return 12 * at.year + at.month
        case "quarter":
            return 4 * at.year + (at.month - 1) // 3
        case "year":
            return at.year
