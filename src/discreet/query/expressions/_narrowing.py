"""What conditions leave of columns and of the values that expressions over them can have."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.policy import ColumnType, Key
from discreet.query.expressions._truth import Truths
from discreet.query.expressions._types import Field
from discreet.query.functions._calls import read
from discreet.query.functions._moments import DAY, microseconds, moment_at
from discreet.query.parse._trees import size_of

__all__ = ["Narrowed", "Narrowing"]

_MOST_LISTED = 10_000
_MOST_STEPS = 50_000
"""Parts of conditions that are worked out for values, one by one; a condition that takes more rules nothing out."""
_MOST_PARTS = 1_000
_EXACT = 2**53
_INTEGERS: tuple[ColumnType, ...] = ("int", "date", "timestamp")
_FLIPPED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ,
}  # fmt: skip

Interval = tuple[Fraction | float, Fraction | float]
_ALL: Interval = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A column of the rows that satisfy conditions.

    `open_ends` are those of its bounds, 0 for the lower and 1 for the upper, at which rows may have values beyond them.
    `is_less` says that conditions took away some of its values, beside null.
    """

    field: Field
    open_ends: tuple[int, ...] = (0, 1)
    is_less: bool = False


class Narrowing:
    """Conditions that every row of a query satisfies, as far as they say which values a key can still have.

    A condition rules a value out if it cannot be true beside it, whatever the rest of the row; what is not sure rules
    nothing out. With `nulls_only` nothing but null is ruled out, and of columns alone.
    """

    def __init__(
        self, conditions: Iterable[exp.Expr], columns: Mapping[str, Field], *, nulls_only: bool = False
    ) -> None:
        self._truths = Truths(tuple(conditions), columns)
        self._columns = columns
        self._nulls_only = nulls_only
        self._known: dict[str, Narrowed] = {}

    def column(self, name: str) -> Narrowed:
        """What is left of a column: its keys, its bounds, and whether it may be null.

        Where conditions list its values, these are its keys; where they bound it on both sides, these are its bounds.

        >>> age = {"age": Field("int", (Fraction(0), Fraction(99)))}
        >>> left = Narrowing([exp.maybe_parse("age >= 18"), exp.maybe_parse("age < 65")], age).column("age")
        >>> [int(bound) for bound in left.field.bounds], left.open_ends, left.field.nullable
        ([18, 64], (), False)
        """
        if name not in self._known:
            self._known[name] = self._column(name)
        return self._known[name]

    def left(self, node: exp.Expr, values: Iterable[Key | None]) -> tuple[Key | None, ...]:
        """Those of the values of an expression, which may be a column, that conditions on it do not rule out."""
        return tuple(values) if self._nulls_only else self._left(node, values)

    def _left(self, node: exp.Expr, values: Iterable[Key | None]) -> tuple[Key | None, ...]:
        remaining = tuple(values)
        kind = self._columns[node.name].type if isinstance(node, exp.Column) else None
        for condition in self._truths.reading(node):
            listed = None if kind is None or len(remaining) == 1 else self._listed_by(condition, node, kind)
            if listed is not None:
                among = set(listed)
                remaining = tuple(value for value in remaining if value in among)
            if len(remaining) * size_of(condition, _MOST_PARTS) <= _MOST_STEPS:
                possible = self._truths.possible
                remaining = tuple(value for value in remaining if True in possible(condition, node, value))
        return remaining

    def _column(self, name: str) -> Narrowed:
        node, field = exp.column(exp.to_identifier(name, quoted=True)), self._columns[name]
        reading = self._truths.reading(node)
        if not reading:
            return Narrowed(field)
        field = replace(field, nullable=field.nullable and bool(self._left(node, (None,))))
        if self._nulls_only:
            return Narrowed(field)
        if field.keys is not None:
            keys = self.left(node, field.keys)
            return Narrowed(replace(field, keys=keys), is_less=len(keys) < len(field.keys))
        listed = self.listed(node, field.type)
        if listed is not None and _all_within(listed, field):
            return Narrowed(replace(field, keys=listed, computed=True), is_less=True)
        lower, upper = _ALL
        for condition in reading:
            low, high = self._interval(condition, name, field.type)
            lower, upper = max(lower, low), min(upper, high)
        if lower > upper:
            return Narrowed(replace(field, keys=(None,) if field.nullable else (), computed=True), is_less=True)
        if field.bounds is None:
            if math.isinf(lower) or math.isinf(upper):
                return Narrowed(field)
            return Narrowed(replace(field, bounds=(Fraction(lower), Fraction(upper))), (), is_less=True)
        first, last = field.bounds
        bounds = Fraction(min(max(lower, first), last)), Fraction(min(max(upper, first), last))
        ends = tuple(i for i, beyond in enumerate((lower < first, upper > last)) if beyond)
        return Narrowed(replace(field, bounds=bounds), ends, is_less=bounds != field.bounds)

    def listed(self, node: exp.Expr, kind: ColumnType) -> tuple[Key, ...] | None:
        """The values that conditions list for an expression of a type, as IN does; None if none lists them all."""
        for condition in () if self._nulls_only else self._truths.reading(node):
            values = self._listed_by(condition, node, kind)
            if values is not None and len(values) <= _MOST_LISTED:
                return tuple(value for value in self.left(node, dict.fromkeys(values)) if value is not None)
        return None

    def _listed_by(self, condition: exp.Expr, node: exp.Expr, kind: ColumnType) -> list[Key] | None:
        inner = condition.unnest()
        match inner:
            case exp.Or():
                left, right = (self._listed_by(side, node, kind) for side in (inner.left, inner.right))
                return None if left is None or right is None else [*left, *right]
            case exp.And():
                left = self._listed_by(inner.left, node, kind)
                return self._listed_by(inner.right, node, kind) if left is None else left
            case exp.In() if inner.expressions and self._truths.is_same(inner.this, node):
                constants = [self._truths.constant(item) for item in inner.expressions]
            case exp.EQ() if self._truths.is_same(inner.left, node) or self._truths.is_same(inner.right, node):
                constants = [
                    self._truths.constant(inner.right if self._truths.is_same(inner.left, node) else inner.left)
                ]
            case _:
                return None
        values: list[Key] = []
        for constant in constants:
            if constant is None:
                return None
            try:
                values += [] if constant[0] is None else _of_type(constant[0], kind)
            except TypeError:
                return None
        return values

    def _interval(self, condition: exp.Expr, name: str, kind: ColumnType) -> Interval:
        """From which value to which a column lies where a condition holds, in the units of its bounds."""
        node = condition.unnest()
        match node:
            case exp.And() | exp.Or():
                (low, high), (other_low, other_high) = (self._interval(s, name, kind) for s in (node.left, node.right))
                if isinstance(node, exp.And):
                    return max(low, other_low), min(high, other_high)
                return min(low, other_low), max(high, other_high)
            case exp.Is(this=side) if isinstance(side.unnest(), exp.Column) and side.unnest().name == name:
                return (math.inf, -math.inf) if isinstance(node.expression.unnest(), exp.Null) else _ALL
            case exp.In() if node.expressions:
                ends = [self._compared(exp.EQ, node.this, item, name, kind) for item in node.expressions]
                return min(low for low, _ in ends), max(high for _, high in ends)
            case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                low, high = self._compared(type(node), node.left, node.right, name, kind)
                flipped = self._compared(_FLIPPED[type(node)], node.right, node.left, name, kind)
                return max(low, flipped[0]), min(high, flipped[1])
            case _:
                return _ALL

    def _compared(
        self, operator: type[exp.Expr], side: exp.Expr, other: exp.Expr, name: str, kind: ColumnType
    ) -> Interval:
        constant = self._truths.constant(other)
        if constant is None:
            return _ALL
        if constant[0] is None:
            return math.inf, -math.inf
        part, inner = "", side.unnest()
        if kind in ("date", "timestamp") and not isinstance(inner, exp.Column):
            call = read(inner)
            if call is None or (call.name, call.option) not in (("YEAR", ""), ("CAST", "DATE")):
                return _ALL
            part, inner = call.name, call.args[0].unnest()
        if not isinstance(inner, exp.Column) or inner.name != name:
            return _ALL
        value = constant[0]
        if part == "YEAR":
            return _of_years(_satisfying(operator, _number(value, "int"), "int"), kind)
        if part == "CAST":
            days = _satisfying(operator, _number(value, "date"), "date")
            return days if kind == "date" else (days[0] * DAY, days[1] * DAY + DAY - 1)
        return _satisfying(operator, _number(value, kind), kind)


def _number(value: object, kind: ColumnType) -> Fraction | None:
    """A constant in the units of a column's bounds; None for what is not compared exactly."""
    if isinstance(value, dt.date):
        return Fraction(microseconds(value), DAY if kind == "date" else 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    inexact = isinstance(value, float) or kind != "int"
    return None if inexact and abs(value) >= _EXACT else Fraction(value)


def _satisfying(operator: type[exp.Expr], value: Fraction | None, kind: ColumnType) -> Interval:
    """Where a column lies that compares so with a value."""
    if value is None:
        return _ALL
    integer = kind in _INTEGERS
    low, high = (Fraction(math.ceil(value)), Fraction(math.floor(value))) if integer else (value, value)
    match operator:
        case exp.EQ:
            return low, high
        case exp.GTE:
            return low, math.inf
        case exp.LTE:
            return -math.inf, high
        case exp.GT:
            return (high + 1 if integer else _beside(value, math.inf)), math.inf
        case _:
            return -math.inf, (low - 1 if integer else _beside(value, -math.inf))


def _beside(value: Fraction, towards: float) -> Fraction:
    """The next double, as all numbers that are not whole are compared."""
    return Fraction(math.nextafter(float(value), towards))


def _of_years(years: Interval, kind: ColumnType) -> Interval:
    """The dates or timestamps of some years."""
    unit = DAY if kind == "date" else 1
    low, high = years
    if not math.isinf(low):
        low = math.inf if low > dt.MAXYEAR else -math.inf if low < dt.MINYEAR else _new_year(int(low), unit)
    if not math.isinf(high):
        high = (
            -math.inf if high < dt.MINYEAR else math.inf if high >= dt.MAXYEAR else _new_year(int(high) + 1, unit) - 1
        )
    return low, high


def _new_year(year: int, unit: int) -> Fraction:
    return Fraction(microseconds(dt.date(year, 1, 1)), unit)


def _of_type(value: Key, kind: ColumnType) -> list[Key]:
    """The value as a column of a type holds it; none if it cannot. Raises `TypeError` if that is not sure."""
    if kind == "string" and isinstance(value, str):
        return [value]
    if kind == "bool" and isinstance(value, bool):
        return [value]
    if kind in ("date", "timestamp") and isinstance(value, dt.date):
        moment = moment_at(microseconds(value))
        if kind == "timestamp":
            return [moment]
        return [moment.date()] if moment.time() == dt.time() else []
    if kind == "int" and isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, float) and abs(value) >= _EXACT:
            raise TypeError
        return [int(value)] if value == int(value) else []
    raise TypeError


def _all_within(values: Sequence[Key], field: Field) -> bool:
    """Whether no value is beyond the bounds of its column."""
    if field.bounds is None:
        return True
    numbers = [_number(value, field.type) for value in values]
    return all(number is not None and field.bounds[0] <= number <= field.bounds[1] for number in numbers)
