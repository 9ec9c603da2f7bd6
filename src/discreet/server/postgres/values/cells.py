"""How PostgreSQL writes a value, as text and in its binary format.

Source: PostgreSQL manual, chapter "Data Types", and ``src/backend/utils/adt`` for the send functions.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

__all__ = [
    "array_binary", "array_text", "bool_text", "bytes_text", "date_binary", "float4_text", "float8_text",
    "interval_binary", "interval_text", "numeric_binary", "numeric_text", "packed", "time_binary", "time_text",
    "timestamp_binary", "timestamp_text", "timestamptz_text", "vector_text",
]  # fmt: skip

_EPOCH_DATE = dt.date(2000, 1, 1)
_EPOCH = dt.datetime(2000, 1, 1)  # noqa: DTZ001 (timestamps have no zone)
_MICROSECOND = dt.timedelta(microseconds=1)


def packed(layout: str) -> Callable[[Any], bytes]:
    """What packs one number by a layout of `struct`."""
    return struct.Struct(layout).pack


def bool_text(value: bool) -> str:  # noqa: FBT001
    """As ``t`` or ``f``."""
    return "t" if value else "f"


def bytes_text(value: bytes) -> str:
    """As a backslash, an x and hexadecimal digits."""
    return "\\x" + value.hex()


def float8_text(value: float) -> str:
    """The shortest digits that give the same double, as extra_float_digits = 1 has it.

    >>> [float8_text(x) for x in (1.0, 1e15, 1e-5, float("-inf"), 0.1)]
    ['1', '1e+15', '1e-05', '-Infinity', '0.1']
    """
    return _float_text(repr(float(value)), 15)


def float4_text(value: float) -> str:
    """The same of a single.

    >>> [float4_text(x) for x in (0.1, 1e6, 123456)]
    ['0.1', '1e+06', '123456']
    """
    return _float_text(str(np.float32(value)), 6)


def _float_text(shortest: str, digits_before_point: int) -> str:
    number = Decimal(shortest)
    if number.is_nan():
        return "NaN"
    if number.is_infinite():
        return "Infinity" if number > 0 else "-Infinity"
    sign = "-" if number.is_signed() else ""
    if not number:
        return f"{sign}0"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    exponent = number.adjusted()
    if not -4 <= exponent < digits_before_point:
        point = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{point}e{exponent:+03d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    before, after = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{before}.{after}" if after else f"{sign}{before}"


def numeric_text(value: Decimal) -> str:
    """All digits, with the zeros of its scale."""
    return f"{value:f}"


def numeric_binary(value: Decimal) -> bytes:
    """Digits in base 10,000, their weight, sign and scale."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # NaN
        return struct.pack("!hhHh", 0, 0, 0xC000, 0)
    scale = max(0, -exponent)
    text = ("".join(map(str, digits)) + "0" * max(0, exponent)).rjust(scale, "0")
    integer, fraction = text[: len(text) - scale], text[len(text) - scale :]
    integer = integer.rjust(-(-len(integer) // 4) * 4, "0")
    fraction = fraction.ljust(-(-len(fraction) // 4) * 4, "0")
    groups = [int((integer + fraction)[i : i + 4]) for i in range(0, len(integer + fraction), 4)]
    weight = len(integer) // 4 - 1
    while groups and not groups[0]:
        groups.pop(0)
        weight -= 1
    while groups and not groups[-1]:
        groups.pop()
    if not groups:
        weight = sign = 0
    return struct.pack(f"!hhHh{len(groups)}h", len(groups), weight, 0x4000 * sign, scale, *groups)


def date_binary(value: dt.date) -> bytes:
    """Days from 2000-01-01."""
    return struct.pack("!i", (value - _EPOCH_DATE).days)


def time_text(value: dt.time) -> str:
    """Without trailing zeros of the second's fraction.

    >>> time_text(dt.time(9, 30, 0, 250_000))
    '09:30:00.25'
    """
    text = value.isoformat()
    return text.rstrip("0") if "." in text else text


def time_binary(value: dt.time) -> bytes:
    """Microseconds from midnight."""
    return struct.pack("!q", (dt.datetime.combine(_EPOCH_DATE, value) - _EPOCH) // _MICROSECOND)


def timestamp_text(value: dt.datetime) -> str:
    """As DateStyle ISO has it."""
    return f"{value.date().isoformat()} {time_text(value.time())}"


def timestamptz_text(value: dt.datetime) -> str:
    """The same in UTC, the zone of every session."""
    return timestamp_text(value.astimezone(dt.UTC).replace(tzinfo=None)) + "+00"


def timestamp_binary(value: dt.datetime) -> bytes:
    """Microseconds from the start of 2000, in UTC where there is a zone."""
    plain = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
    return struct.pack("!q", (plain - _EPOCH) // _MICROSECOND)


_Span = dt.timedelta | tuple[int, int, int]
"""A duration, or months, days and nanoseconds."""


def _span(value: _Span) -> tuple[int, int, int]:
    """Months, days and microseconds."""
    if isinstance(value, dt.timedelta):
        return 0, value.days, value.seconds * 10**6 + value.microseconds
    months, days, nanoseconds = value
    return months, days, nanoseconds // 1000


def interval_binary(value: _Span) -> bytes:
    """Microseconds, days and months."""
    months, days, microseconds = _span(value)
    return struct.pack("!qii", microseconds, days, months)


def interval_text(value: _Span) -> str:
    """As IntervalStyle postgres has it.

    >>> interval_text((14, -3, 4_500_000_000)), interval_text(dt.timedelta())
    ('1 year 2 mons -3 days +00:00:04.5', '00:00:00')
    """
    months, days, microseconds = _span(value)
    years, months = int(months / 12), months - 12 * int(months / 12)
    parts: list[str] = []
    before = False
    for count, unit in ((years, "year"), (months, "mon"), (days, "day")):
        if count:
            parts.append(f"{'+' if before and count > 0 else ''}{count} {unit}{'' if count == 1 else 's'}")
            before = count < 0
    if microseconds or not parts:
        seconds, fraction = divmod(abs(microseconds), 10**6)
        sign = "-" if microseconds < 0 else "+" if before else ""
        clock = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        parts.append(clock + (f".{fraction:06d}".rstrip("0") if fraction else ""))
    return " ".join(parts)


def array_text(text: Callable[[Any], str]) -> Callable[[list[Any]], str]:
    """What writes a list as ``{a,"b c",NULL}``."""

    def element(value: Any) -> str:
        if value is None:
            return "NULL"
        cell = text(value)
        if cell and cell.upper() != "NULL" and not any(c in '{},"\\' or c.isspace() for c in cell):
            return cell
        escaped = cell.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    return lambda values: "{" + ",".join(map(element, values)) + "}"


def array_binary(oid: int, binary: Callable[[Any], bytes]) -> Callable[[list[Any]], bytes]:
    """What packs a list as an array of one dimension, or of none if it is empty."""

    def pack(values: list[Any]) -> bytes:
        missing = any(value is None for value in values)
        if not values:
            return struct.pack("!iiI", 0, 0, oid)
        parts = [struct.pack("!iiIii", 1, missing, oid, len(values), 1)]
        for value in values:
            cell = None if value is None else binary(value)
            parts.append(struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell)
        return b"".join(parts)

    return pack


def vector_text(values: list[Any]) -> str:
    """As the catalogue's int2vector and oidvector are written."""
    return " ".join(map(str, values))
