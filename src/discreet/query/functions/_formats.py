"""Formats of dates, in the codes that every engine writes in the same way."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from discreet.errors import QueryError

__all__ = ["CLOCK_CODES", "CODES", "format_parts", "formatted"]

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MOST = 100
"""Characters of a format, so that what it writes is shorter than texts may be."""

CODES: Mapping[str, Callable[[dt.datetime], str]] = {
    "%Y": lambda d: f"{d.year:04}",
    "%y": lambda d: f"{d.year % 100:02}",
    "%m": lambda d: f"{d.month:02}",
    "%b": lambda d: _MONTHS[d.month - 1][:3],
    "%B": lambda d: _MONTHS[d.month - 1],
    "%d": lambda d: f"{d.day:02}",
    "%j": lambda d: f"{d.timetuple().tm_yday:03}",
    "%a": lambda d: _DAYS[d.weekday()][:3],
    "%A": lambda d: _DAYS[d.weekday()],
    "%u": lambda d: str(d.isoweekday()),
    "%G": lambda d: f"{d.isocalendar()[0]:04}",
    "%V": lambda d: f"{d.isocalendar()[1]:02}",
    "%H": lambda d: f"{d.hour:02}",
    "%I": lambda d: f"{(d.hour + 11) % 12 + 1:02}",
    "%p": lambda d: "AM" if d.hour < 12 else "PM",
    "%M": lambda d: f"{d.minute:02}",
    "%S": lambda d: f"{d.second:02}",
    "%f": lambda d: f"{d.microsecond:06}",
}
"""What each code is of a moment."""
CLOCK_CODES = ("%H", "%I", "%p", "%M", "%S", "%f")
"""Those of the time of day; the others are of the day alone."""


@lru_cache(256)
def format_parts(text: str) -> tuple[tuple[str, bool], ...]:
    """The parts of a format, each with whether it is a code; `QueryError` for a code that is not known, and for none.

    >>> format_parts("%Y: 100%%")
    (('%Y', True), (': 100', False), ('%', False))
    """
    parts = [part for part in re.split(r"(%-?.?)", text, flags=re.DOTALL) if part]
    unknown = next((part for part in parts if part.startswith("%") and part != "%%" and part not in CODES), None)
    if unknown is not None:
        raise QueryError(f"STRFTIME does not know {unknown}; it knows {' '.join(CODES)} and %% for a percent sign")
    if len(text) > _MOST or CODES.keys().isdisjoint(parts):
        raise QueryError(f"a format of STRFTIME has at least one of {' '.join(CODES)}, and at most {_MOST} characters")
    return tuple((part, True) if part in CODES else (part.replace("%%", "%"), False) for part in parts)


def formatted(moment: dt.date, text: str) -> str:
    """A date or a timestamp in a format.

    >>> formatted(dt.date(2024, 2, 29), "%A, %d %B %Y")
    'Thursday, 29 February 2024'
    """
    timestamp = moment if isinstance(moment, dt.datetime) else dt.datetime.combine(moment, dt.time())
    return "".join(CODES[part](timestamp) if is_code else part for part, is_code in format_parts(text))
