"""Bounds of an arithmetic expression, from the bounds of its columns, by interval arithmetic in exact numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._field import Field as Column
from discreet.rational import rational

__all__ = ["LARGEST", "Interval", "divides_safely", "interval"]

LARGEST = Fraction(10) ** 200


@dataclass(frozen=True, slots=True)
class Interval:
    """All values that an expression can take once its columns are clamped; `whole` if they are whole numbers."""

    lower: Fraction
    upper: Fraction
    whole: bool


def interval(node: exp.Expr, columns: Mapping[str, Column], table: str) -> Interval:
    """The bounds of a numeric expression. Raises `QueryError` if a column has none or a divisor may be zero.

    >>> price = Column(type="int", bounds=(0, 10))
    >>> interval(exp.maybe_parse("1 - 2 * price"), {"price": price}, "t")
    Interval(lower=Fraction(-19, 1), upper=Fraction(1, 1), whole=True)
    """
    match node:
        case exp.Paren():
            return interval(node.this, columns, table)
        case exp.Literal():
            value = rational(node.name, "a number in the query")
            return Interval(value, value, value.denominator == 1)
        case exp.Column():
            return _column(node.name, columns[node.name], table)
        case exp.Neg():
            inner = interval(node.this, columns, table)
            return Interval(-inner.upper, -inner.lower, inner.whole)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _arithmetic(node, interval(node.left, columns, table), interval(node.right, columns, table))
        case _:
            raise QueryError(f"{node.sql()} has no bounds; SUM and AVG take arithmetic over bounded columns")


def divides_safely(node: exp.Expr, columns: Mapping[str, Column]) -> bool:
    """Whether no clamped row makes a divisor of an expression zero.

    >>> divides_safely(exp.maybe_parse("1 / x"), {"x": Column(type="int", bounds=(1, 9))})
    True
    """
    try:
        for division in node.find_all(exp.Div):
            interval(division, columns, "")
    except QueryError:
        return False
    return True


def _column(name: str, column: Column, table: str) -> Interval:
    if column.bounds is None:
        raise QueryError(
            f"{name} has no bounds, so a sum over it could reveal anyone; "
            f"add bounds = [lower, upper] under [tables.{table}.columns.{name}] in the policy"
        )
    lower, upper = column.bounds
    return Interval(lower, upper, column.type == "int")


def _arithmetic(node: exp.Binary, left: Interval, right: Interval) -> Interval:
    whole = left.whole and right.whole
    match node:
        case exp.Add():
            lower, upper = left.lower + right.lower, left.upper + right.upper
        case exp.Sub():
            lower, upper = left.lower - right.upper, left.upper - right.lower
        case exp.Mul():
            corners = [a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
            lower, upper = min(corners), max(corners)
        case _:
            if right.lower <= 0 <= right.upper:
                raise QueryError(
                    f"{node.right.sql()} may be zero, so {node.sql()} has no bounds; "
                    "divide by something whose bounds exclude zero"
                )
            corners = [a / b for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
            lower, upper, whole = min(corners), max(corners), False
    if max(abs(lower), abs(upper)) > LARGEST:
        raise QueryError(f"the bounds of {node.sql()} are too wide to be useful")
    return Interval(lower, upper, whole)
