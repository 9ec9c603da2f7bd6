"""A column of a table: its type, its bounds, and its public values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, StrictBool, model_validator

from discreet.policy._strict import StrictModel, exact

__all__ = ["Bound", "Column", "ColumnType", "Key"]

ColumnType = Literal["bool", "int", "float", "decimal", "string", "date", "timestamp"]
Key = bool | int | str | dt.date | dt.datetime
Bound = Fraction | dt.date | dt.datetime
"""An end of a column's values, both ends included: a number, or a date or timestamp of such a column."""

_MAX_BOUND = Fraction(10) ** 100
_MAX_RANGE = 10_000
_NUMERIC = ("int", "float", "decimal")
_BOUNDED = (*_NUMERIC, "date", "timestamp")
_DATE_EXAMPLES = {
    "date": "dates, as [2020-01-01, 2026-12-31]",
    "timestamp": "timestamps without a time zone, or dates, as [2020-01-01, 2026-12-31T12:00:00]",
}


def _listed(keys: object) -> object:
    """The values of a range of keys; anything else as it is."""
    if not isinstance(keys, Mapping):
        return keys
    ends = cast("Mapping[object, object]", keys)
    if set(ends) != {"from", "to"}:
        raise ValueError("a range of keys has from and to, as in keys = { from = 1, to = 12 }")
    first, last = (dt.date.fromisoformat(end) if isinstance(end, str) else end for end in (ends["from"], ends["to"]))
    match first, last:
        case (dt.datetime(), _) | (_, dt.datetime()) | (bool(), _) | (_, bool()):
            pass
        case int(), int():
            return _counted(last - first, lambda place: first + place)
        case dt.date(), dt.date():
            return _counted((last - first).days, lambda place: first + dt.timedelta(days=place))
        case _:
            pass
    raise ValueError("a range of keys goes from a whole number to another, or from a date to another")


def _counted(steps: int, value: Callable[[int], Key]) -> tuple[Key, ...]:
    if not 0 <= steps < _MAX_RANGE:
        raise ValueError(f"a range of keys goes up, and has at most {_MAX_RANGE:,} values")
    return tuple(map(value, range(steps + 1)))


def _bound(value: object) -> object:
    if isinstance(value, dt.date):
        return value
    if isinstance(value, str):
        for read in (dt.date.fromisoformat, dt.datetime.fromisoformat):
            if "-" in value[1:]:
                try:
                    return read(value)
                except ValueError:
                    continue
    return exact(value)


_Bound = Annotated[Any, BeforeValidator(_bound)]


class Column(StrictModel):
    """A column that queries may name.

    `bounds` clamp its values before they enter a sum; `keys` are the values it can be grouped by, all of them public,
    as a list or, for whole numbers and dates, as a range ``{"from": 1, "to": 12}`` with both its ends. Without keys, a
    column has public groups where its type or its bounds leave few values, and else private keys, which are discovered
    under differential privacy. Bounds of a timestamp may be dates: the whole of the last day is within them.

    >>> Column(type="int", keys={"from": 1, "to": 4}).keys
    (1, 2, 3, 4)
    >>> Column(type="date", bounds=("2024-01-01", "2024-12-31")).bounds
    (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
    """

    type: ColumnType
    bounds: tuple[_Bound, _Bound] | None = None
    keys: Annotated[tuple[Any, ...] | None, BeforeValidator(_listed)] = None
    nullable: StrictBool = True

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.bounds is not None:
            self._check_bounds(*self.bounds)
        if self.keys is not None:
            object.__setattr__(self, "keys", _typed_keys(self.type, self.keys))
        return self

    def _check_bounds(self, lower: Bound, upper: Bound) -> None:
        if self.type not in _BOUNDED:
            raise ValueError(f"bounds are for {', '.join(_BOUNDED)} columns; this one is {self.type}")
        if self.type == "timestamp":
            lower, upper = _moment(lower, dt.time.min), _moment(upper, dt.time.max)
            object.__setattr__(self, "bounds", (lower, upper))
        ends = (lower, upper)
        if self.type in ("date", "timestamp"):
            wanted = dt.datetime if self.type == "timestamp" else dt.date
            if not all(type(end) is wanted for end in ends):
                raise ValueError(f"bounds of a {self.type} column must be {_DATE_EXAMPLES[self.type]}")
            if not lower <= upper:  # pyright: ignore[reportOperatorIssue]
                raise ValueError("bounds must be [first, last] with first not after last")
            return
        if not all(isinstance(end, Fraction) for end in ends):
            raise ValueError(f"bounds of {self.type} columns are numbers")
        assert isinstance(lower, Fraction)
        assert isinstance(upper, Fraction)
        if not lower < upper:
            raise ValueError("bounds must be [lower, upper] with lower < upper")
        if max(abs(lower), abs(upper)) > _MAX_BOUND:
            raise ValueError("bounds must lie within ±1e100")
        if self.type == "int" and (lower.denominator != 1 or upper.denominator != 1):
            raise ValueError("bounds of an int column must be whole numbers")

    @property
    def number_bounds(self) -> tuple[Fraction, Fraction] | None:
        """The bounds of a column of numbers; None without bounds, and for dates and timestamps."""
        return self.bounds if self.type in _NUMERIC else None


def _moment(end: Bound, time: dt.time) -> Bound:
    if isinstance(end, dt.datetime) and end.tzinfo is not None:
        raise ValueError("bounds of a timestamp column have no time zone; write them without, in UTC")
    if isinstance(end, dt.date) and not isinstance(end, dt.datetime):
        return dt.datetime.combine(end, time)
    return end


def _typed_keys(kind: ColumnType, keys: tuple[Any, ...]) -> tuple[Key, ...]:
    if kind in ("float", "decimal"):
        raise ValueError(f"a {kind} column cannot be grouped by; declare it int or string, or leave keys out")
    if not keys:
        raise ValueError("keys may not be an empty list; leave keys out if they are private")
    typed = tuple(_typed_key(kind, key) for key in keys)
    if len(set(typed)) != len(typed):
        raise ValueError("keys may not repeat")
    return typed


def _typed_key(kind: ColumnType, key: object) -> Key:
    match kind, key:
        case "bool", bool():
            return key
        case "int", int() if not isinstance(key, bool) and -(2**63) <= key < 2**63:
            return key
        case "string", str() if key.isascii() or key.encode(errors="ignore").decode() == key:  # no lone surrogates
            return key
        case "timestamp", dt.datetime() if key.tzinfo is None:
            return key
        case "date", dt.date() if not isinstance(key, dt.datetime):
            return key
        case "date", str():
            return dt.date.fromisoformat(key)
        case "timestamp", str():
            return _typed_key(kind, dt.datetime.fromisoformat(key))
        case _:
            raise ValueError(f"key {key!r} does not suit a column of type {kind}")
