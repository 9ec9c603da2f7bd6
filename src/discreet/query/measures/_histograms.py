"""Histograms on a public grid, or over public values: what an engine counts to draw quantiles and modes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType, Key
from discreet.query.expressions._intervals import LARGEST, Interval, interval, moment_bounds
from discreet.query.expressions._types import Field, check_scalar
from discreet.query.functions._moments import moment_at
from discreet.query.parse._parse import refuse
from discreet.query.passes._quantiles import QUANTILES, probability

__all__ = ["MOST_CELLS", "Histogram", "ValueKind", "extract_quantiles"]

MOST_CELLS = 2**16
_PRECISION = 2**50
"""A grid is no finer than this share of the largest bound, so that doubles hold its points."""
_OF_A_CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200)
"""Seconds between the points of a grid of timestamps that is finer than a day."""
_SECONDS = 86_400

ValueKind = Literal["number", "date", "timestamp"] | ColumnType
"""What quantiles are of, or the type of the values that a mode is one of."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many rows lie in each cell of a grid: round(argument / step) − center, clamped to [0, upper].

    Rows where the argument is null are in no cell, nor are those that do not satisfy `when`, if it is given.
    `probabilities` are the quantiles asked for, in rising order. The `kind` of what they are of is a number, or a date
    or a timestamp, whose argument is the days or the seconds since 1970.

    Of a mode there are no probabilities, but `values`: a public value for each cell, which `kind` is the type of.
    """

    argument: exp.Expr
    step: Fraction
    center: int
    upper: int
    probabilities: tuple[Fraction, ...]
    when: exp.Expr | None = None
    kind: ValueKind = "number"
    values: tuple[Key, ...] = ()
    lower = 0

    @property
    def written(self) -> exp.Expr:
        """What the quantiles are of, as the query has it."""
        return self.argument if self.kind == "number" else self.argument.this

    @property
    def draws(self) -> int:
        """How many draws each group has: one for each quantile, or one for the mode."""
        return len(self.probabilities) or 1

    @property
    def largest(self) -> tuple[float, ...]:
        """The largest that each draw can be; of a mode, the place of its last value."""
        return (float(self.upper),) if self.values else (float(self.bounds[1]),) * len(self.probabilities)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The values of the first and the last cell, in the unit of the argument."""
        return self.center * self.step, (self.center + self.upper) * self.step


def extract_quantiles(
    aggregates: Mapping[str, tuple[exp.Expr, exp.Expr | None]], columns: Mapping[str, Field], table: str
) -> tuple[tuple[Histogram, ...], dict[str, tuple[int, int]]]:
    """One histogram for all quantiles of one argument over the same rows, and for each one its place among them.

    `aggregates` have the condition of their FILTER. Raises `QueryError` for an argument that is no number,
    has no bounds, or has only one value.
    """
    asked: dict[tuple[str, str], tuple[exp.Expr, exp.Expr | None, dict[str, Fraction]]] = {}
    for sql, (node, when) in aggregates.items():
        if isinstance(node, QUANTILES):
            argument = _argument(node, columns)
            rows = argument.sql(), "" if when is None else when.sql()
            asked.setdefault(rows, (argument, when, {}))[2][sql] = probability(node)
    histograms: list[Histogram] = []
    places: dict[str, tuple[int, int]] = {}
    for argument, when, shares in asked.values():
        rising = tuple(sorted(set(shares.values())))
        places |= {sql: (len(histograms), rising.index(share)) for sql, share in shares.items()}
        histograms.append(replace(_histogram(argument, rising, columns, table), when=when))
    return tuple(histograms), places


def _argument(node: exp.Expr, columns: Mapping[str, Field]) -> exp.Expr:
    argument = node.this
    if any(value for name, value in node.args.items() if name not in ("this", "expression")):
        raise refuse(f"the aggregate {node.sql()}")
    if isinstance(argument, exp.Star | exp.Distinct):
        raise refuse(f"{argument.sql()} in {node.sql()}")
    kind = check_scalar(argument, columns)
    if kind not in ("number", "date", "timestamp"):
        raise QueryError(f"{node.sql()} needs a number, a date or a timestamp, but {argument.sql()} is a {kind}")
    return argument


def _histogram(
    argument: exp.Expr, probabilities: Iterable[Fraction], columns: Mapping[str, Field], table: str
) -> Histogram:
    kind = check_scalar(argument, columns)
    if kind in ("date", "timestamp"):
        counted = _since_1970(argument, kind, columns, table)
        bounds = interval(counted, columns, table)
        step = _step(argument, bounds) if kind == "date" else _moment_step(argument, bounds)
    else:
        kind, counted, bounds = "number", argument, interval(argument, columns, table)
        step = _step(argument, bounds)
    lower, upper = -((-bounds.lower) // step), bounds.upper // step
    return Histogram(counted, step, lower, upper - lower, tuple(probabilities), kind=kind)


def _since_1970(
    argument: exp.Expr, kind: Literal["date", "timestamp"], columns: Mapping[str, Field], table: str
) -> exp.Expr:
    """The days since 1970 of a date, the seconds of a timestamp. Raises `QueryError` if it has no bounds."""
    if moment_bounds(argument, columns) is None:
        first, last = (f"{kind.upper()} '{day}'" for day in ("2020-01-01", "2026-12-31"))
        clamped = f"GREATEST(LEAST({argument.sql()}, {last}), {first})"
        inner = argument.unnest()
        declared = (
            f"add bounds = [2020-01-01, 2026-12-31] under [tables.{table}.columns.{inner.name}] in the policy, or "
        )
        raise QueryError(
            f"{argument.sql()} has no bounds, so its quantiles could reveal anyone; "
            f"{declared if isinstance(inner, exp.Column) else ''}write {clamped}"
        )
    epoch = exp.Cast(this=exp.Literal.string(_epoch(kind)), to=exp.DataType.build(kind.upper()))
    return exp.DateDiff(this=argument, expression=epoch, unit=exp.Var(this="DAY" if kind == "date" else "SECOND"))


def _epoch(kind: Literal["date", "timestamp"]) -> str:
    return str(moment_at(0).date() if kind == "date" else moment_at(0))


def _moment_step(argument: exp.Expr, bounds: Interval) -> Fraction:
    """The least number of seconds that clocks are read by with at most `MOST_CELLS` cells; whole days beyond."""
    least = (bounds.upper - bounds.lower) / (MOST_CELLS - 1)
    step = next((Fraction(seconds) for seconds in _OF_A_CLOCK if seconds >= least), None)
    if step is None:
        return _SECONDS * _step(argument, Interval(bounds.lower / _SECONDS, bounds.upper / _SECONDS, integer=True))
    if bounds.upper // step <= -((-bounds.lower) // step):
        raise QueryError(f"{argument.sql()} has only one second within its bounds, so it has no quantiles to find")
    return step


def _step(argument: exp.Expr, bounds: Interval) -> Fraction:
    """The least of …, 0.1, 0.2, 0.5, 1, 2, 5, … with at most `MOST_CELLS` cells; 1 at least for whole numbers."""
    width, largest = bounds.upper - bounds.lower, max(abs(bounds.lower), abs(bounds.upper))
    if width == 0:
        raise QueryError(f"{argument.sql()} has only one value within its bounds, so it has no quantiles to find")
    if width < 1 / LARGEST:
        raise QueryError(f"the bounds of {argument.sql()} are within 1e-200 of each other; rescale it")
    least = max(width / (MOST_CELLS - 1), largest / _PRECISION, Fraction(int(bounds.integer)))
    power = Fraction(10) ** (len(str(int(least))) - 1 if least >= 1 else -len(str(int(1 / least))))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= least)
    if bounds.upper // step <= -((-bounds.lower) // step):
        raise QueryError(
            f"the bounds of {argument.sql()} are too close together for their size; subtract the lower one"
        )
    return step
