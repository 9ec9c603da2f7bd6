"""Row-level expressions in an engine's SQL, none of which can raise on any row."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.engines.sql._dialect import Dialect
from discreet.engines.sql._functions_text import cut
from discreet.policy import ColumnType, Key
from discreet.query import HELD_TEXT, Field, Histogram, Kind, Row, Sum, is_moment, key_type
from discreet.rational import rational
from discreet.recursion import with_room

__all__ = ["Expressions"]

_KINDS: Mapping[Kind, str] = {
    "number": "DOUBLE",
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "null": "BOOLEAN",
}
_INT32 = 2**31
_INT64 = 2**63 - 1
_EXACT = 2**53
_ARITHMETIC = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div)


@dataclass(frozen=True, slots=True)
class Expressions:
    """Expressions over the clean columns of one query, in one engine's words."""

    dialect: Dialect
    columns: Mapping[str, Field]

    @with_room
    def condition(self, node: exp.Expr) -> str:
        """A condition of WHERE, over clean columns; null where SQL says null."""
        return self._writer(clamped=False).value(node, "bool")

    def key(self, node: exp.Expr) -> str:
        """What to group by, in the type of `key_type`; whole numbers beyond 64 bits are null."""
        return self.value_of(node, key_type(node, self.columns))

    def key_literal(self, value: Key) -> str:
        """A public key."""
        return _literal(self.dialect, value)

    @with_room
    def value_of(self, node: exp.Expr, kind: ColumnType, *, clamped: bool = False) -> str:
        """An expression as a value of a policy's type. Whole numbers beyond 64 bits are null.

        A column alone is as it is on the row; with `clamped`, a number is computed from clamped columns, as in a sum.
        """
        node = node.unnest()
        if isinstance(node, exp.Column) and self.columns[node.name].type == kind:
            return self.dialect.reference(node.name)
        writer = self._writer(clamped=clamped and not isinstance(node, exp.Column))
        if kind == "int":
            return writer.integer(node) if writer.row.exact(node) else self.dialect.to_integer(writer.number(node))
        return writer.value(node, "number" if kind in ("float", "decimal") else kind)

    @with_room
    def held(self, node: exp.Expr, kind: ColumnType, most: int = HELD_TEXT) -> str:
        """A value that an engine holds for each row or group: as `value_of`, and of a text the beginning."""
        value = self.value_of(node, kind)
        if kind != "string":
            return value
        return self.dialect.cut(value, most) if isinstance(node.unnest(), exp.Column) else cut(value, most)

    @with_room
    def comparable(self, node: exp.Expr) -> str:
        """What equalities compare, such that values that may equal one value are equal: numbers are doubles."""
        return self._writer(clamped=False).value(node)

    @with_room
    def distinct_value(self, node: exp.Expr) -> str:
        """A row's value of an expression of any kind, to tell it from others: whole numbers exactly, not clamped.

        Texts that may be long have digests.
        """
        writer = self._writer(clamped=False)
        node = node.unnest()
        kind = writer.row.kind(node)
        if kind == "number" and writer.row.exact(node):
            return writer.integer(node)
        value = writer.value(node, "number")
        if kind != "string":
            return value
        return self.dialect.named(value) if isinstance(node, exp.Column) else self.dialect.digest(value)

    @with_room
    def contribution(self, measure: Sum | Histogram) -> str:
        """One row's part in a sum, or its cell: a whole number within the measure's limits, null if the expression is.

        It is an INTEGER where the limits are such numbers, which engines add up faster.

        Columns are clamped to their bounds, except in conditions and texts; the result is rounded to the grid
        and clamped again, so neither an infinity nor a rounding error escapes the planned range.
        """
        argument, dialect = measure.argument.unnest(), self.dialect
        low, high = measure.lower + measure.center, measure.upper + measure.center
        if isinstance(argument, exp.Column) and self.columns[argument.name].type == "int" and measure.step == 1:
            integer = f"greatest(least({dialect.reference(argument.name)}, {high}), {low})"
        else:
            row = Row(self.columns, clamped=not isinstance(argument, exp.Column))
            number = _Writer(row, dialect, fast=self._is_strict(argument)).number(argument)
            if isinstance(argument, exp.Column) and dialect.compares_first:
                return self._clamped(dialect.rounded(dialect.scaled(number, measure.step)), measure)
            integer = dialect.cast(dialect.on_grid(number, measure.step, low, high), "BIGINT")
        shifted = f"{integer} - {measure.center}" if measure.center else integer
        return dialect.cast(f"CASE WHEN {self.present(argument)} THEN {shifted} END", _kind(measure))

    def _clamped(self, value: str, measure: Sum | Histogram) -> str:
        """A whole double, clamped and centred, null where it is: faster than `least` and `greatest`, if short."""
        kind, center, double = _kind(measure), measure.center, self.dialect.double
        low, high = measure.lower + center, measure.upper + center
        # differences of whole numbers of 53 bits are exact
        exact = max(abs(low), abs(high), abs(center)) <= _EXACT
        to_integer = self.dialect.to_integer
        inside = to_integer(f"{value} - {double(center)}", kind) if exact else f"{to_integer(value)} - {center}"
        above, below = (self.dialect.cast(str(limit), kind) for limit in (measure.upper, measure.lower))
        return (
            f"CASE WHEN {value} > {double(high)} THEN {above} WHEN {value} < {double(low)} THEN {below} "
            f"ELSE {inside} END"
        )

    @with_room
    def present(self, argument: exp.Expr) -> str:
        """Whether an expression is not null on a row, with columns clamped where a number is computed from them.

        Arithmetic is null where a column of it is, or where it is undefined.
        """
        argument = argument.unnest()
        if not self._is_strict(argument):
            return f"({self._writer(clamped=not isinstance(argument, exp.Column)).value(argument)} IS NOT NULL)"
        names = sorted({column.name for column in argument.find_all(exp.Column)})
        return " AND ".join(f"{self.dialect.reference(name)} IS NOT NULL" for name in names) or "TRUE"

    def _is_strict(self, argument: exp.Expr) -> bool:
        """Whether an expression is arithmetic that is null only where a column of it is."""
        arithmetic = all(isinstance(node, _ARITHMETIC) for node in argument.walk())
        return arithmetic and not Row(self.columns, present=True).nullable(argument)

    def _writer(self, *, clamped: bool) -> _Writer:
        return _Writer(Row(self.columns, clamped=clamped), self.dialect)


def _kind(measure: Sum | Histogram) -> str:
    return "INTEGER" if measure.lower >= -_INT32 and measure.upper < _INT32 else "BIGINT"


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes expressions over clean columns. `fast` clamps a null to a bound, for where nulls are sorted out before."""

    row: Row
    dialect: Dialect
    fast: bool = False

    @property
    def raw(self) -> _Writer:
        return _Writer(replace(self.row, clamped=False), self.dialect)

    def value(self, node: exp.Expr, kind: Kind | None = None) -> str:
        node = node.unnest()
        own = self.row.kind(node)
        if own == "null" and kind is not None:
            return self.dialect.cast("NULL", _KINDS[kind])
        if own == "number":
            return self.number(node)
        written = self._other(node)
        return self.dialect.cast(written, "TIMESTAMP") if kind == "timestamp" and own == "date" else written

    def number(self, node: exp.Expr) -> str:
        node = node.unnest()
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Literal():
                return self.dialect.double(rational(node.name, "a number in the query"))
            case exp.Null():
                return self.dialect.cast("NULL", "DOUBLE")
            case _:
                entry, call = self.row.call(node)
                written = self.dialect.renderings[call.name](call, self._for(node), self.number)
                integer = entry.exact != "branches" and self.row.exact(node) and not isinstance(node, exp.Neg)
                return self.dialect.cast(written, "DOUBLE") if integer else written

    def integer(self, node: exp.Expr) -> str:
        node = node.unnest()
        match node:
            case exp.Column():
                return self._integer_column(node)
            case exp.Literal():
                return self.dialect.cast(node.name, "BIGINT")
            case exp.Null():
                return self.dialect.cast("NULL", "BIGINT")
            case exp.Neg():
                return self.dialect.cast(f"-{node.this.unnest().name}", "BIGINT")
            case _:
                _, call = self.row.call(node)
                return self.dialect.renderings[call.name](call, self._for(node), self.integer)

    def alike(self, nodes: tuple[exp.Expr, ...]) -> list[str]:
        kind = self.row.agree(nodes)
        if kind != "number":
            return [self.value(node, kind) for node in nodes]
        numbers = [node for node in nodes if self.row.kind(node) != "null"]
        write = self.integer if all(map(self.row.exact, numbers)) else self.number
        return [write(node) for node in nodes]

    def _for(self, node: exp.Expr) -> _Writer:
        """The writer of a node's arguments: clamped as long as numbers and dates are computed from such."""
        return self if self.row.clamps(node) else self.raw

    def _other(self, node: exp.Expr) -> str:
        match node:
            case exp.Column():
                return self._moment_column(node)
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return "TRUE" if node.this else "FALSE"
            case exp.Literal():
                return self.dialect.text(node.name)
            case _ if is_moment(node):
                assert isinstance(node, exp.Cast)
                return self.dialect.cast(self.dialect.text(node.this.name), node.to.sql())
            case _:
                kind = self.row.kind(node)
                _, call = self.row.call(node)
                inner = self._for(node)
                return self.dialect.renderings[call.name](call, inner, lambda part: inner.value(part, kind))

    def _column(self, node: exp.Column) -> str:
        column = self.dialect.reference(node.name)
        # what is no number must not stop a query
        value = self.dialect.cast(column, "DOUBLE") if self.row.kind(node) == "number" else self.dialect.number(column)
        bounds = self.row.columns[node.name].bounds
        if not self.row.clamped or bounds is None:
            return value
        low, high = map(self.dialect.double, bounds)
        return f"greatest(least({value}, {high}), {low})" if self.fast else _between(value, low, high)

    def _integer_column(self, node: exp.Column) -> str:
        value, bounds = self.dialect.reference(node.name), self.row.columns[node.name].bounds
        if not self.row.clamped or bounds is None:
            return value
        low, high = max(math.ceil(bounds[0]), -_INT64), min(math.floor(bounds[1]), _INT64)
        return _between(value, *(self.dialect.cast(str(limit), "BIGINT") for limit in (low, high)))

    def _moment_column(self, node: exp.Column) -> str:
        """A column of any kind but numbers: dates and timestamps are clamped to their bounds."""
        value, limits = self.dialect.reference(node.name), self.row.moments(node)
        return value if limits is None else _between(value, *(_literal(self.dialect, each) for each in limits))


def _between(value: str, low: str, high: str) -> str:
    return f"(CASE WHEN {value} > {high} THEN {high} WHEN {value} < {low} THEN {low} ELSE {value} END)"


def _literal(dialect: Dialect, value: Key) -> str:
    text, cast = dialect.text, dialect.cast
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return cast(str(value), "BIGINT")
        case str():
            return text(value)
        case dt.datetime():
            return cast(text(value.isoformat(sep=" ")), "TIMESTAMP")
        case dt.date():
            return cast(text(value.isoformat()), "DATE")
