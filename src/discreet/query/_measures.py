"""Measures: the exact integers that an engine sums, and the aggregates that are read off them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Column
from discreet.query._intervals import LARGEST, Interval, divides_safely, interval
from discreet.query._parse import refuse
from discreet.query._quantile_measures import Histogram, lift_quantiles
from discreet.query._scalars import check_scalar

__all__ = ["Aggregate", "Count", "Measure", "Sum", "lift_aggregates"]

BITS = 30
"""The larger bound is 2^29 to 2^31 grid steps from zero, unless whole numbers make a coarser grid exact. So a
contribution, centred or not, is below 2^32 in magnitude, and 2^40 of them sum to less than 2^72: 128 bits hold it."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows there are, or have `argument` not null. Each row contributes 0 or 1."""

    argument: exp.Expr | None
    lower = 0
    upper = 1


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum over rows of round(argument / step) − center, clamped to [lower, upper]: whole numbers all."""

    argument: exp.Expr
    step: Fraction
    center: int
    lower: int
    upper: int


Measure = Count | Sum


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the query, read off the measures at positions `total` and `count`.

    COUNT is count. SUM is step · (total + center · count), and AVG is step · (total / count + center). A QUANTILE is
    drawn from a histogram, and `quantile` says from which one and which of its quantiles it is.
    """

    kind: Literal["COUNT", "SUM", "AVG", "QUANTILE"]
    sql: str
    total: int | None
    count: int | None
    step: Fraction = Fraction(1)
    center: int = 0
    bounds: Interval | None = None
    quantile: tuple[int, int] | None = None

    @property
    def whole(self) -> bool:
        """Whether the aggregate is a whole number, known exactly before noise."""
        sums_whole = self.bounds is not None and self.bounds.whole and self.step == 1
        return self.kind == "COUNT" or (self.kind == "SUM" and sums_whole)


def lift_aggregates(
    select: exp.Select, columns: Mapping[str, Column], table: str
) -> tuple[exp.Select, tuple[Measure, ...], tuple[Histogram, ...], tuple[Aggregate, ...]]:
    """Replace each distinct aggregate by a placeholder ``:a0``, ``:a1``, …; say what to sum and to count for them.

    A measure serves every aggregate that can use it: SUM(x) beside AVG(x) is read off AVG's two measures, and
    COUNT(x) of a column that is never null is COUNT(*).

    Raises `QueryError` for an unsupported aggregate or a sum without bounds.
    """
    select = select.copy()
    found: dict[str, exp.Expr] = {}
    for node in list(select.find_all(exp.AggFunc, exp.Func, exp.Filter, exp.Window)):
        if isinstance(node, exp.AggFunc) and node.find_ancestor(exp.Filter, exp.Window) is None:
            found.setdefault(node.sql(), node)
        elif isinstance(node, exp.Filter | exp.Window | exp.Anonymous):
            raise refuse(node.sql())
    averaged = {node.this.sql() for node in found.values() if isinstance(node, exp.Avg)}
    measures: dict[str, tuple[int, Measure]] = {}

    def position(key: str, measure: Measure) -> int:
        return measures.setdefault(key, (len(measures), measure))[0]

    def count(argument: exp.Expr) -> int:
        if isinstance(argument, exp.Star) or not _nullable(argument, columns):
            return position("COUNT(*)", Count(None))
        return position(f"COUNT({argument.sql()})", Count(argument))

    aggregates: list[Aggregate] = []
    histograms, quantiles = lift_quantiles(found, columns, table)
    for sql, node in found.items():
        if sql in quantiles:
            aggregates.append(Aggregate("QUANTILE", sql, None, None, quantile=quantiles[sql]))
            continue
        _check_aggregate(node, columns)
        argument = node.this
        if isinstance(node, exp.Count):
            aggregates.append(Aggregate("COUNT", sql, None, count(argument)))
            continue
        bounds = interval(argument, columns, table)
        centered = argument.sql() in averaged
        measure = _sum(argument, bounds, centered=centered)
        total = position(f"SUM({argument.sql()})", measure)
        aggregates.append(
            Aggregate(
                "AVG" if isinstance(node, exp.Avg) else "SUM",
                sql,
                total,
                count(argument) if centered else None,
                measure.step,
                measure.center,
                bounds,
            )
        )
    order = {sql: i for i, sql in enumerate(found)}
    for node in list(select.find_all(exp.AggFunc)):
        node.replace(exp.Placeholder(this=f"a{order[node.sql()]}"))
    return select, tuple(measure for _, measure in measures.values()), histograms, tuple(aggregates)


def _check_aggregate(node: exp.Expr, columns: Mapping[str, Column]) -> None:
    if not isinstance(node, exp.Count | exp.Sum | exp.Avg) or node.args.get("expressions"):
        raise refuse(f"the aggregate {node.sql()}")
    argument = node.this
    if isinstance(argument, exp.Star) and isinstance(node, exp.Count):
        return
    if isinstance(argument, exp.Distinct):
        raise refuse(f"DISTINCT in {node.sql()}")
    kind = check_scalar(argument, columns)
    if kind != "number" and not isinstance(node, exp.Count):
        raise QueryError(f"{node.sql()} needs a number, but {argument.sql()} is a {kind}")


def _nullable(argument: exp.Expr, columns: Mapping[str, Column]) -> bool:
    return not divides_safely(argument, columns) or any(
        columns[column.name].nullable for column in argument.find_all(exp.Column)
    )


def _sum(argument: exp.Expr, bounds: Interval, *, centered: bool) -> Sum:
    step = _step(bounds)
    lower, upper = _floor(bounds.lower / step), -_floor(-bounds.upper / step)
    center = (lower + upper) // 2 if centered else 0
    return Sum(argument, step, center, lower - center, upper - center)


def _step(bounds: Interval) -> Fraction:
    """The grid: 1 for whole numbers up to 2^30, else the power of two that spends 30 bits on the larger bound."""
    largest = max(abs(bounds.lower), abs(bounds.upper))
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise QueryError("the bounds of a SUM or AVG lie beyond 1e200, or all within 1e-200 of zero; rescale it")
    if largest == 0 or (bounds.whole and largest <= 2**BITS):
        return Fraction(1)
    exponent = (largest.numerator.bit_length() - largest.denominator.bit_length()) - BITS
    return Fraction(2) ** exponent


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator
