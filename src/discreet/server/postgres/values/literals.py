"""Parameters of a question, from their bytes to constants of SQL.

Source: PostgreSQL manual, chapter "Data Types", and ``src/backend/utils/adt`` for the receive functions.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Final

__all__ = ["DUMMIES", "ParameterValueError", "literal", "quoted"]

_BOOL, _INT8, _INT2, _INT4, _STRING, _FLOAT4, _FLOAT8 = 16, 20, 21, 23, 25, 700, 701
_UNKNOWN, _BPCHAR, _VARCHAR, _NAME, _DATE, _TIMESTAMP, _TIMESTAMPTZ, _NUMERIC = (
    705,
    1042,
    1043,
    19,
    1082,
    1114,
    1184,
    1700,
)
_INTEGERS = {_INT2: 2, _INT4: 4, _INT8: 8}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?", re.IGNORECASE | re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?\s*(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII)
_MAX_DIGITS = 1_000
_EPOCH: Final = dt.datetime(2000, 1, 1)  # noqa: DTZ001 (timestamps have no zone)

DUMMIES: Final = {
    _BOOL: "TRUE", _INT2: "1", _INT4: "1", _INT8: "1", _FLOAT4: "1.0", _FLOAT8: "1.0", _NUMERIC: "1.0",
    _DATE: "CAST('2000-01-01' AS DATE)", _TIMESTAMP: "CAST('2000-01-01 00:00:00' AS TIMESTAMP)",
    _TIMESTAMPTZ: "CAST('2000-01-01 00:00:00' AS TIMESTAMP)",
}  # fmt: skip
"""A constant of each type, to describe a statement by before its parameters have values; the others have ``''``."""


class ParameterValueError(Exception):
    """A parameter's bytes are no value of its type, or one that a query has no constant for."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


def literal(oid: int, code: int, value: bytes | None) -> str:
    r"""The constant of SQL that a parameter of type `oid` in format `code` stands for.

    A value becomes a constant, whatever it holds: it is never read as SQL. A zoned timestamp becomes that of UTC.
    Raises `ParameterValueError` for a value that is none of its type (SQLSTATE 22P02 for text, 22P03 for binary), for
    NaN and infinities (22023), and for types that no constant is of (0A000).

    >>> literal(25, 0, b"Cork's"), literal(23, 1, b"\xff\xff\xff\xff"), literal(1082, 0, b"2024-02-29")
    ("'Cork''s'", '(-1)', "CAST('2024-02-29' AS DATE)")
    """
    if value is None:
        return "NULL"
    read = (_BINARY if code else _TEXT).get(oid)
    if read is None:
        raise ParameterValueError(
            "0A000",
            f"a parameter of the type with OID {oid} is not supported: give a number, a text, a truth value, a date or "
            "a timestamp",
        )
    try:
        return read(value)
    except (ValueError, ArithmeticError, struct.error, UnicodeDecodeError):
        state, form = ("22P03", "binary") if code else ("22P02", "text")
        raise ParameterValueError(state, f"a parameter is no value of its type in {form} format") from None


def quoted(text: str) -> str:
    """A text as a constant of SQL. Raises `ParameterValueError` for one with a zero byte."""
    if "\0" in text:
        raise ParameterValueError("22021", "a text of SQL has no zero byte")
    return "'" + text.replace("'", "''") + "'"


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _text(value: bytes) -> str:
    return quoted(value.decode())


def _integer_text(size: int) -> Callable[[bytes], str]:
    def read(value: bytes) -> str:
        text = value.decode().strip()
        if not _INTEGER.fullmatch(text) or not -(1 << 8 * size - 1) <= int(text) < 1 << 8 * size - 1:
            raise ValueError
        return _signed(str(int(text)))

    return read


def _integer_binary(size: int) -> Callable[[bytes], str]:
    def read(value: bytes) -> str:
        if len(value) != size:
            raise ValueError
        return _signed(str(int.from_bytes(value, "big", signed=True)))

    return read


def _finite(number: float) -> str:
    if not math.isfinite(number):
        raise ParameterValueError("22023", "a query has no constant for NaN or an infinity: give a finite number")
    return _signed(repr(number))


def _float_text(value: bytes) -> str:
    text = value.decode().strip()
    if text.lower().lstrip("+-") in ("nan", "infinity", "inf"):
        return _finite(math.nan)
    if not _NUMBER.fullmatch(text):
        raise ValueError
    return _finite(float(text))


def _float_binary(layout: str) -> Callable[[bytes], str]:
    return lambda value: _finite(struct.unpack(layout, value)[0])


def _numeric(number: Decimal) -> str:
    if not number.is_finite():
        return _finite(math.nan)
    if number.adjusted() > _MAX_DIGITS or len(text := f"{number:f}") > _MAX_DIGITS:
        raise ParameterValueError("22003", f"a number has at most {_MAX_DIGITS:,} digits")
    return _signed(text)


def _numeric_text(value: bytes) -> str:
    text = value.decode().strip()
    if text.lower().lstrip("+-") in ("nan", "infinity", "inf"):
        return _finite(math.nan)
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        raise ValueError
    return _numeric(Decimal(text))


def _numeric_binary(value: bytes) -> str:
    count, weight, sign, scale = struct.unpack_from("!hhHH", value)
    if sign in (0xC000, 0xD000, 0xF000):
        return _finite(math.nan)
    if sign not in (0, 0x4000) or count < 0 or len(value) != 8 + 2 * count or scale > _MAX_DIGITS:
        raise ValueError
    groups = struct.unpack_from(f"!{count}h", value, 8)
    if any(not 0 <= group < 10_000 for group in groups) or 4 * abs(weight) > _MAX_DIGITS or 4 * count > _MAX_DIGITS:
        raise ValueError
    digits = "".join(f"{group:04d}" for group in groups) or "0"
    number = Decimal(f"{'-' if sign else ''}{digits}E{4 * (weight + 1 - count)}") if count else Decimal(0)
    exact = number.normalize()
    exponent = exact.as_tuple().exponent
    return _numeric(number if isinstance(exponent, int) and -exponent > scale else exact)


def _bool_text(value: bytes) -> str:
    text = value.decode().strip().lower()
    if text in ("t", "true", "y", "yes", "on", "1"):
        return "TRUE"
    if text in ("f", "false", "n", "no", "off", "0"):
        return "FALSE"
    raise ValueError


def _bool_binary(value: bytes) -> str:
    if value not in (b"\0", b"\1"):
        raise ValueError
    return "TRUE" if value == b"\1" else "FALSE"


def _moment(value: dt.datetime) -> str:
    plain = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
    return f"CAST('{plain.isoformat(sep=' ')}' AS TIMESTAMP)"


def _iso(value: bytes) -> dt.datetime:
    """A date or a moment in ISO style, with a zone or without, as ``2024-02-29 +01`` of JDBC too."""
    match = _ISO.fullmatch(value.decode().strip())
    if match is None:
        raise ValueError
    zone = match[3] or ""
    if zone and zone != "Z" and len(zone) < 6:
        zone = f"{zone[:3]}:{zone[3:].lstrip(':') or '00'}"
    return dt.datetime.fromisoformat(f"{match[1]}T{match[2] or '00:00'}{zone}")


def _date_text(value: bytes) -> str:
    return f"CAST('{_iso(value).date().isoformat()}' AS DATE)"


def _date_binary(value: bytes) -> str:
    day = _EPOCH.date() + dt.timedelta(days=struct.unpack("!i", value)[0])
    return f"CAST('{day.isoformat()}' AS DATE)"


def _timestamp_text(value: bytes) -> str:
    """A zone in the text of a plain timestamp is dropped, as PostgreSQL does."""
    return _moment(_iso(value).replace(tzinfo=None))


def _timestamptz_text(value: bytes) -> str:
    return _moment(_iso(value))


def _timestamp_binary(value: bytes) -> str:
    return _moment(_EPOCH + dt.timedelta(microseconds=struct.unpack("!q", value)[0]))


def _array_binary(value: bytes) -> str:
    """An array of one dimension at most, as the text of one."""
    dimensions, _, oid = struct.unpack_from("!iiI", value)
    if dimensions == 0 and len(value) == 12:
        return "'{}'"
    count, _ = struct.unpack_from("!ii", value, 12)
    at, elements = 20, list[str]()
    if dimensions != 1 or not 0 <= count <= len(value):
        raise ValueError
    for _ in range(count):
        (length,) = struct.unpack_from("!i", value, at)
        cell = value[at + 4 : at + 4 + max(length, 0)]
        if length < -1 or len(cell) != max(length, 0):
            raise ValueError
        elements.append("NULL" if length < 0 else _element(oid, cell))
        at += 4 + max(length, 0)
    if at != len(value):
        raise ValueError
    return quoted("{" + ",".join(elements) + "}")


def _element(oid: int, cell: bytes) -> str:
    if oid in (*_INTEGERS, *_OBJECTS):
        if len(cell) != _INTEGERS.get(oid, 4):
            raise ValueError
        return str(int.from_bytes(cell, "big", signed=oid in _INTEGERS))
    if oid not in _TEXTS:
        raise ValueError
    escaped = cell.decode().replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _object_binary(value: bytes) -> str:
    (number,) = struct.unpack("!I", value)
    return str(number)


_TEXTS = (0, 18, _NAME, _STRING, _UNKNOWN, _BPCHAR, _VARCHAR)
_OBJECTS = (24, 26, 2205, 2206)
"""oid, and what names an object: regproc, regclass, regtype."""
_ARRAYS = (1002, 1003, 1005, 1007, 1009, 1015, 1016, 1028)
_TEXT: dict[int, Callable[[bytes], str]] = {
    **dict.fromkeys((*_TEXTS, *_OBJECTS), _text),
    **dict.fromkeys(_ARRAYS, _text),
    **{oid: _integer_text(size) for oid, size in _INTEGERS.items()},
    _BOOL: _bool_text, _FLOAT4: _float_text, _FLOAT8: _float_text, _NUMERIC: _numeric_text,
    _DATE: _date_text, _TIMESTAMP: _timestamp_text, _TIMESTAMPTZ: _timestamptz_text,
}  # fmt: skip
_BINARY: dict[int, Callable[[bytes], str]] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_OBJECTS, _object_binary),
    **dict.fromkeys(_ARRAYS, _array_binary),
    **{oid: _integer_binary(size) for oid, size in _INTEGERS.items()},
    _BOOL: _bool_binary, _FLOAT4: _float_binary("!f"), _FLOAT8: _float_binary("!d"), _NUMERIC: _numeric_binary,
    _DATE: _date_binary, _TIMESTAMP: _timestamp_binary, _TIMESTAMPTZ: _timestamp_binary,
}  # fmt: skip
