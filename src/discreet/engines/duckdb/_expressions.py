"""Row-level expressions in DuckDB's SQL, none of which can raise on any row."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.engines.duckdb._functions import RENDERINGS
from discreet.engines.duckdb._functions_dates import in_calendar
from discreet.engines.duckdb._functions_numbers import double
from discreet.engines.duckdb._relation import StoredColumn, identifier
from discreet.policy import ColumnType, Key
from discreet.query import Field, Histogram, Kind, Row, Sum, is_moment, key_type
from discreet.rational import rational

__all__ = [
    "clean",
    "condition",
    "contribution",
    "distinct_value",
    "key",
    "key_literal",
    "person",
    "person_text",
    "present",
    "reference",
    "text",
    "value_of",
]

_TYPES: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "int": "BIGINT",
    "float": "DOUBLE",
    "decimal": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_KINDS: Mapping[Kind, str] = {
    "number": "DOUBLE",
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "null": "BOOLEAN",
}
_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")
_FIRST_TIME = "CAST('290309-12-22 (BC) 00:00:00' AS TIMESTAMP)"
_INT32 = 2**31
_INT64 = 2**63 - 1
_EXACT = 2**53
_ARITHMETIC = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div)


def reference(name: str) -> str:
    """A clean column of the query, under a name that no step of the chain uses for itself."""
    return identifier(f"c:{name}")


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def clean(stored: StoredColumn, kind: ColumnType) -> str:
    """A stored column as the policy's type: what does not cast is null.

    So is NaN, and a time outside the years 1 to 9999, which DuckDB knows and Python does not.
    """
    wanted = _TYPES[kind]
    name = stored.sql
    if stored.type == "TIMESTAMPTZ_NS":  # which casts to nothing else
        name = f"TRY_CAST({name} AS TIMESTAMPTZ)"
    if wanted == "VARCHAR":
        return name if stored.type == wanted else _text_of(name, stored)
    value = name if stored.type == wanted else f"TRY_CAST({name} AS {wanted})"
    if wanted == "DOUBLE":
        return f"NULLIF({value}, CAST('NaN' AS DOUBLE))"
    if wanted in ("DATE", "TIMESTAMP"):
        return in_calendar(value, wanted)
    return value


def person(stored: StoredColumn) -> str:
    """The column that names the person, in its own type; NaN is nobody, and the two zeros are one person."""
    if stored.type not in ("FLOAT", "DOUBLE"):
        return stored.sql
    return f"NULLIF({stored.sql} + CAST(0 AS {stored.type}), CAST('NaN' AS {stored.type}))"


def person_text(stored: StoredColumn) -> str:
    """The column that names the person as text, equal where persons are."""
    return _text_of(person(stored), stored)


def _text_of(value: str, stored: StoredColumn) -> str:
    """A stored value as text; null for a time before DuckDB's calendar, of which the text stops a query.

    Such a time is computed away before the cast, not avoided by CASE: DuckDB may cast all of a dictionary, whichever
    of it is asked for.
    """
    if stored.type not in _TIMES:
        return f"TRY_CAST({value} AS VARCHAR)"
    time = value if stored.type == "TIMESTAMP" else f"TRY_CAST({value} AS TIMESTAMP)"
    return f"CAST(nullif(greatest({time}, {_FIRST_TIME}), {_FIRST_TIME}) AS VARCHAR)"


def key_literal(value: Key) -> str:
    """A public key."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"CAST({value} AS BIGINT)"
        case str():
            return text(value)
        case dt.datetime():
            return f"CAST({text(value.isoformat(sep=' '))} AS TIMESTAMP)"
        case dt.date():
            return f"CAST({text(value.isoformat())} AS DATE)"


def condition(node: exp.Expr, columns: Mapping[str, Field]) -> str:
    """A condition of WHERE, over clean columns; null where SQL says null."""
    return _Writer(Row(columns, clamped=False)).value(node, "bool")


def key(node: exp.Expr, columns: Mapping[str, Field]) -> str:
    """What to group by, over clean columns, in the type of `key_type`; whole numbers beyond 64 bits are null."""
    return value_of(node, columns, key_type(node, columns))


def value_of(node: exp.Expr, columns: Mapping[str, Field], kind: ColumnType, *, clamped: bool = False) -> str:
    """An expression as a value of a policy's type. Whole numbers beyond 64 bits are null.

    A column alone is as it is on the row; with `clamped`, a number is computed from clamped columns, as in a sum.
    """
    node = node.unnest()
    if isinstance(node, exp.Column) and columns[node.name].type == kind:
        return reference(node.name)
    writer = _Writer(Row(columns, clamped=clamped and not isinstance(node, exp.Column)))
    if kind == "int":
        return writer.integer(node) if writer.row.exact(node) else f"TRY_CAST({writer.number(node)} AS BIGINT)"
    return writer.value(node, "number" if kind in ("float", "decimal") else kind)


def distinct_value(node: exp.Expr, columns: Mapping[str, Field]) -> str:
    """A row's value of an expression of any kind, to tell it from others: whole numbers exactly, not clamped."""
    writer = _Writer(Row(columns, clamped=False))
    node = node.unnest()
    exact = writer.row.kind(node) == "number" and writer.row.exact(node)
    return writer.integer(node) if exact else writer.value(node, "number")


def contribution(measure: Sum | Histogram, columns: Mapping[str, Field]) -> str:
    """One row's part in a sum, or its cell: a whole number within the measure's limits, null if the expression is.

    It is an INTEGER where the limits are such numbers, which DuckDB adds up faster.

    Columns are clamped to their bounds, except in conditions, texts and dates; the result is rounded to the grid and
    clamped again, so neither an infinity nor a rounding error escapes the planned range.
    """
    argument = measure.argument.unnest()
    low, high = measure.lower + measure.center, measure.upper + measure.center
    if isinstance(argument, exp.Column) and columns[argument.name].type == "int" and measure.step == 1:
        whole = f"greatest(least({reference(argument.name)}, {high}), {low})"
    else:
        row = Row(columns, clamped=not isinstance(argument, exp.Column))
        scaled = _Writer(row, fast=_is_strict(argument, columns)).number(argument)
        if measure.step != 1:
            scaled = f"{scaled} * {double(1 / measure.step)}"
        if isinstance(argument, exp.Column):
            return _clamped(f"round({scaled})", measure)
        whole = f"CAST(greatest(least(round({scaled}), {double(high)}), {double(low)}) AS BIGINT)"
    shifted = f"{whole} - {measure.center}" if measure.center else whole
    return f"CAST(CASE WHEN {present(argument, columns)} THEN {shifted} END AS {_kind(measure)})"


def _clamped(value: str, measure: Sum | Histogram) -> str:
    """A double that is whole, clamped and centred, null where it is: faster than `least` and `greatest`, if short."""
    kind, center = _kind(measure), measure.center
    low, high = measure.lower + center, measure.upper + center
    # differences of whole numbers of 53 bits are exact
    exact = max(abs(low), abs(high), abs(center)) <= _EXACT
    inside = f"TRY_CAST({value} - {double(center)} AS {kind})" if exact else f"TRY_CAST({value} AS BIGINT) - {center}"
    above, below = (f"CAST({limit} AS {kind})" for limit in (measure.upper, measure.lower))
    return (
        f"CASE WHEN {value} > {double(high)} THEN {above} WHEN {value} < {double(low)} THEN {below} ELSE {inside} END"
    )


def _kind(measure: Sum | Histogram) -> str:
    return "INTEGER" if measure.lower >= -_INT32 and measure.upper < _INT32 else "BIGINT"


def present(argument: exp.Expr, columns: Mapping[str, Field]) -> str:
    """Whether an expression is not null on a row, with columns clamped where a number is computed from them.

    Arithmetic is null where a column of it is, or where it is undefined.
    """
    argument = argument.unnest()
    if not _is_strict(argument, columns):
        row = Row(columns, clamped=not isinstance(argument, exp.Column))
        return f"({_Writer(row).value(argument)} IS NOT NULL)"
    names = sorted({column.name for column in argument.find_all(exp.Column)})
    return " AND ".join(f"{reference(name)} IS NOT NULL" for name in names) or "TRUE"


def _is_strict(argument: exp.Expr, columns: Mapping[str, Field]) -> bool:
    """Whether an expression is arithmetic that is null only where a column of it is."""
    arithmetic = all(isinstance(node, _ARITHMETIC) for node in argument.walk())
    return arithmetic and not Row(columns, present=True).nullable(argument)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes expressions over clean columns. `fast` clamps a null to a bound, for where nulls are sorted out before."""

    row: Row
    fast: bool = False

    @property
    def raw(self) -> _Writer:
        return _Writer(replace(self.row, clamped=False))

    def value(self, node: exp.Expr, kind: Kind | None = None) -> str:
        node = node.unnest()
        own = self.row.kind(node)
        if own == "null" and kind is not None:
            return f"CAST(NULL AS {_KINDS[kind]})"
        if own == "number":
            return self.number(node)
        written = self._other(node)
        return f"CAST({written} AS TIMESTAMP)" if kind == "timestamp" and own == "date" else written

    def number(self, node: exp.Expr) -> str:
        node = node.unnest()
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Literal():
                return double(rational(node.name, "a number in the query"))
            case exp.Null():
                return "CAST(NULL AS DOUBLE)"
            case _:
                entry, call = self.row.call(node)
                written = RENDERINGS[call.name](call, self._for(node), self.number)
                integer = entry.exact != "branches" and self.row.exact(node) and not isinstance(node, exp.Neg)
                return f"CAST({written} AS DOUBLE)" if integer else written

    def integer(self, node: exp.Expr) -> str:
        node = node.unnest()
        match node:
            case exp.Column():
                return self._whole_column(node)
            case exp.Literal():
                return f"CAST({node.name} AS BIGINT)"
            case exp.Null():
                return "CAST(NULL AS BIGINT)"
            case exp.Neg():
                return f"CAST(-{node.this.unnest().name} AS BIGINT)"
            case _:
                _, call = self.row.call(node)
                return RENDERINGS[call.name](call, self._for(node), self.integer)

    def alike(self, nodes: tuple[exp.Expr, ...]) -> list[str]:
        kind = self.row.agree(nodes)
        if kind != "number":
            return [self.value(node, kind) for node in nodes]
        numbers = [node for node in nodes if self.row.kind(node) != "null"]
        write = self.integer if all(map(self.row.exact, numbers)) else self.number
        return [write(node) for node in nodes]

    def _for(self, node: exp.Expr) -> _Writer:
        """The writer of a node's arguments: clamped as long as numbers are computed from numbers."""
        return self if self.row.kind(node) == "number" else self.raw

    def _other(self, node: exp.Expr) -> str:
        match node:
            case exp.Column():
                return reference(node.name)
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return "TRUE" if node.this else "FALSE"
            case exp.Literal():
                return text(node.name)
            case _ if is_moment(node):
                assert isinstance(node, exp.Cast)
                return f"CAST({text(node.this.name)} AS {node.to.sql()})"
            case _:
                kind = self.row.kind(node)
                _, call = self.row.call(node)
                return RENDERINGS[call.name](call, self._for(node), lambda part: self.raw.value(part, kind))

    def _column(self, node: exp.Column) -> str:
        cast = "CAST" if self.row.kind(node) == "number" else "TRY_CAST"  # what is no number must not stop a query
        value = f"{cast}({reference(node.name)} AS DOUBLE)"
        bounds = self.row.columns[node.name].bounds
        if not self.row.clamped or bounds is None:
            return value
        low, high = map(double, bounds)
        return f"greatest(least({value}, {high}), {low})" if self.fast else _between(value, low, high)

    def _whole_column(self, node: exp.Column) -> str:
        value, bounds = reference(node.name), self.row.columns[node.name].bounds
        if not self.row.clamped or bounds is None:
            return value
        low, high = max(math.ceil(bounds[0]), -_INT64), min(math.floor(bounds[1]), _INT64)
        return _between(value, f"CAST({low} AS BIGINT)", f"CAST({high} AS BIGINT)")


def _between(value: str, low: str, high: str) -> str:
    return f"(CASE WHEN {value} > {high} THEN {high} WHEN {value} < {low} THEN {low} ELSE {value} END)"
