"""Row-level expressions in DuckDB's SQL, none of which can raise on any row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.engines.duckdb._relation import StoredColumn, identifier
from discreet.policy import Column, Key
from discreet.query import Histogram, Sum, divides_safely
from discreet.rational import rational

__all__ = ["clean", "condition", "contribution", "key_literal", "person", "present", "reference", "text"]

_TYPES: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "int": "BIGINT",
    "float": "DOUBLE",
    "decimal": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
}
_ARITHMETIC = (exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div)
_INT64 = 2**63


def reference(name: str) -> str:
    """A clean column of the query, under a name that no step of the chain uses for itself."""
    return identifier(f"c:{name}")


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def clean(stored: StoredColumn, column: Column) -> str:
    """A stored column as the policy's type: what does not cast is null.

    So is NaN, and a time outside the years 1 to 9999, which DuckDB knows and Python does not.
    """
    wanted = _TYPES[column.type]
    name = stored.sql
    if stored.type == "TIMESTAMPTZ_NS":  # which casts to nothing else
        name = f"TRY_CAST({name} AS TIMESTAMPTZ)"
    value = name if stored.type == wanted else f"TRY_CAST({name} AS {wanted})"
    if wanted == "DOUBLE":
        return f"NULLIF({value}, CAST('NaN' AS DOUBLE))"
    if wanted in ("DATE", "TIMESTAMP"):
        first, after = (f"CAST('{moment}' AS {wanted})" for moment in ("0001-01-01", "10000-01-01"))
        return f"CASE WHEN {value} >= {first} AND {value} < {after} THEN {value} END"
    return value


def person(stored: StoredColumn) -> str:
    """The column that names the person, in its own type; NaN is nobody."""
    name = stored.sql
    return f"NULLIF({name}, CAST('NaN' AS DOUBLE))" if stored.type in ("FLOAT", "DOUBLE") else name


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


def condition(node: exp.Expr, columns: Mapping[str, Column]) -> str:
    """A condition of WHERE, over clean columns; null where SQL says null."""
    match node:
        case exp.Paren():
            return condition(node.this, columns)
        case exp.And() | exp.Or():
            word = "AND" if isinstance(node, exp.And) else "OR"
            return f"({condition(node.left, columns)} {word} {condition(node.right, columns)})"
        case exp.Not():
            return f"(NOT {condition(node.this, columns)})"
        case exp.Is():
            return f"({_value(node.this, columns)} IS NULL)"
        case exp.Like():
            return f"({_value(node.this, columns)} LIKE {_value(node.expression, columns)})"
        case exp.In():
            alternatives = (_comparison(node.this, "=", item, columns) for item in node.expressions)
            return f"({' OR '.join(alternatives)})"
        case _ if type(node) in _OPERATORS and isinstance(node, exp.Binary):
            return _comparison(node.left, _OPERATORS[type(node)], node.right, columns)
        case _:
            return _value(node, columns)


def contribution(measure: Sum | Histogram, columns: Mapping[str, Column]) -> str:
    """One row's part in a sum, or its cell: a whole number within the measure's limits, null if a column of it is null.

    Columns are clamped to their bounds, the result is rounded to the grid and clamped again, so neither an infinity
    nor a rounding error escapes the planned range.
    """
    argument = measure.argument.unnest()
    low, high = measure.lower + measure.center, measure.upper + measure.center
    if isinstance(argument, exp.Column) and columns[argument.name].type == "int" and measure.step == 1:
        whole = f"greatest(least({reference(argument.name)}, {high}), {low})"
    else:
        scaled = _number(argument, columns, clamp=not isinstance(argument, exp.Column))
        if measure.step != 1:
            scaled = f"{scaled} * {_double(1 / measure.step)}"
        whole = f"CAST(greatest(least(round({scaled}), {_double(high)}), {_double(low)}) AS BIGINT)"
    shifted = f"{whole} - {measure.center}" if measure.center else whole
    return f"CASE WHEN {present(argument, columns)} THEN {shifted} END"


def present(argument: exp.Expr, columns: Mapping[str, Column]) -> str:
    """Whether an expression is not null on a row. Arithmetic is null where a column of it is, or a divisor is zero."""
    arithmetic = all(isinstance(node, _ARITHMETIC) for node in argument.walk())
    if not arithmetic or not divides_safely(argument, columns):
        return f"({_value(argument, columns)} IS NOT NULL)"
    names = sorted({column.name for column in argument.find_all(exp.Column)})
    return " AND ".join(f"{reference(name)} IS NOT NULL" for name in names) or "TRUE"


def _comparison(left: exp.Expr, operator: str, right: exp.Expr, columns: Mapping[str, Column]) -> str:
    sides = (left.unnest(), right.unnest())
    if all(_is_integer(side, columns) for side in sides):
        a, b = (_integer(side) for side in sides)
    else:
        a, b = (_value(side, columns) for side in sides)
    return f"({a} {operator} {b})"


def _value(node: exp.Expr, columns: Mapping[str, Column]) -> str:
    """An expression of any kind; numbers are doubles."""
    node = node.unnest()
    match node:
        case exp.Column() if columns[node.name].type not in ("int", "float", "decimal"):
            return reference(node.name)
        case exp.Literal() if node.is_string:
            return text(node.name)
        case exp.Boolean():
            return "TRUE" if node.this else "FALSE"
        case exp.Cast():
            return f"CAST({text(node.this.name)} AS {node.to.sql()})"
        case exp.Column() | exp.Literal() | exp.Neg() | exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _number(node, columns, clamp=False)
        case _:
            return condition(node, columns)


def _number(node: exp.Expr, columns: Mapping[str, Column], *, clamp: bool) -> str:
    node = node.unnest()
    match node:
        case exp.Column():
            value = f"CAST({reference(node.name)} AS DOUBLE)"
            bounds = columns[node.name].bounds
            if clamp and bounds is not None:
                return f"greatest(least({value}, {_double(bounds[1])}), {_double(bounds[0])})"
            return value
        case exp.Literal():
            return _double(rational(node.name, "a number in the query"))
        case exp.Neg():
            return f"(- {_number(node.this, columns, clamp=clamp)})"
        case exp.Div():
            top, bottom = (_number(side, columns, clamp=clamp) for side in (node.left, node.right))
            return f"({top} / NULLIF({bottom}, {_double(Fraction(0))}))"
        case _:
            assert isinstance(node, exp.Binary)
            top, bottom = (_number(side, columns, clamp=clamp) for side in (node.left, node.right))
            return f"({top} {_OPERATORS[type(node)]} {bottom})"


def _is_integer(node: exp.Expr, columns: Mapping[str, Column]) -> bool:
    if isinstance(node, exp.Neg):
        node = node.this.unnest()
        return isinstance(node, exp.Literal) and _is_integer(node, columns)
    if isinstance(node, exp.Column):
        return columns[node.name].type == "int"
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and int(node.name) < _INT64


def _integer(node: exp.Expr) -> str:
    if isinstance(node, exp.Column):
        return reference(node.name)
    sign = "-" if isinstance(node, exp.Neg) else ""
    return f"CAST({sign}{node.this.unnest().name if sign else node.name} AS BIGINT)"


def _double(value: Fraction | int) -> str:
    return f"CAST({text(repr(float(value)))} AS DOUBLE)"
