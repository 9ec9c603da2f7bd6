"""Bounds of a numeric expression, from the bounds of its columns, by interval arithmetic in exact numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._types import Field, Row
from discreet.query.functions._moments import DAY
from discreet.query.functions._ranges import LARGEST
from discreet.query.functions._registry import find

__all__ = ["LARGEST", "Interval", "divides_safely", "interval", "moment_bounds"]

_DIVISIONS = ("/", "%", "POWER", "LOG")


@dataclass(frozen=True, slots=True)
class Interval:
    """All values that an expression can take once its columns are clamped; `integer` if they are whole numbers."""

    lower: Fraction
    upper: Fraction
    integer: bool


def interval(node: exp.Expr, columns: Mapping[str, Field], table: str) -> Interval:
    """The bounds of a numeric expression. Raises `QueryError` if a column has none or a divisor may be zero.

    A column counts as clamped to its bounds where a number is computed from it, also by way of a date, and as it is in
    conditions (also those of CASE) and in texts. The bounds are exact, or rounded outward; an engine's
    own rounding errors are not in them, and it clamps its result.

    >>> price = Field(type="int", bounds=(0, 10))
    >>> interval(exp.maybe_parse("1 - 2 * price"), {"price": price}, "t")
    Interval(lower=Fraction(-19, 1), upper=Fraction(1, 1), integer=True)
    """
    row = Row(columns)
    if row.kind(node) != "number":
        raise QueryError(f"{node.sql()} has no bounds; SUM and AVG take numbers")
    bounds = row.range(node)
    if not bounds.finite:
        raise _unbounded(node.unnest(), row, table)
    return Interval(Fraction(bounds.lower), Fraction(bounds.upper), bounds.integer)


def moment_bounds(node: exp.Expr, columns: Mapping[str, Field]) -> tuple[Fraction, Fraction] | None:
    """The bounds of a date or a timestamp once its columns are clamped, as those of a `Field`; None for anything else.

    >>> moment_bounds(exp.maybe_parse("GREATEST(LEAST(d, DATE '1970-01-31'), DATE '1970-01-01')"),
    ...               {"d": Field(type="date", nullable=False)})
    (Fraction(0, 1), Fraction(30, 1))
    """
    row = Row(columns)
    kind = row.kind(node)
    if kind not in ("date", "timestamp"):
        return None
    bounds = row.range(node)
    unit = DAY if kind == "date" else 1
    return (Fraction(bounds.lower) / unit, Fraction(bounds.upper) / unit) if bounds.finite else None


def divides_safely(node: exp.Expr, columns: Mapping[str, Field]) -> bool:
    """Whether no clamped row makes a divisor of an expression zero, not even by rounding.

    >>> divides_safely(exp.maybe_parse("1 / x"), {"x": Field(type="int", bounds=(1, 9))})
    True
    """
    row = Row(columns, present=True)
    return not any(row.nullable(division) for division in node.find_all(exp.Div, exp.Mod))


def _unbounded(node: exp.Expr, row: Row, table: str) -> QueryError:
    """Why an expression has no bounds: the innermost part of it that has none."""
    if isinstance(node, exp.Column):
        return QueryError(
            f"{node.name} has no bounds, so a sum over it could reveal anyone; "
            f"add bounds = [lower, upper] under [tables.{table}.columns.{node.name}] in the policy"
        )
    known = find(node)
    call = None if known is None else known[1]
    for argument in () if call is None else call.args:
        if row.kind(argument) == "number" and not row.range(argument).finite:
            return _unbounded(argument.unnest(), row, table)
    if call is not None and call.name in _DIVISIONS and _touches_zero(call.args[call.name == "/"], row):
        which = call.args[1 if call.name == "/" else 0].sql()
        return QueryError(
            f"{which} may be zero, so {node.sql()} has no bounds; divide by something whose bounds exclude zero"
        )
    if call is not None and call.args and all(row.kind(a) != "number" for a in call.args):
        return QueryError(f"{node.sql()} has no bounds; write GREATEST(LEAST({node.sql()}, upper), lower)")
    return QueryError(f"the bounds of {node.sql()} are too wide to be useful")


def _touches_zero(node: exp.Expr, row: Row) -> bool:
    return row.range(node).lower <= 0 <= row.range(node).upper
