"""Histograms on a public grid: what an engine counts so that quantiles can be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._intervals import LARGEST, Interval, interval
from discreet.query.expressions._types import Field, check_scalar
from discreet.query.parse._parse import refuse
from discreet.query.passes._quantiles import QUANTILES, probability

__all__ = ["MOST_CELLS", "Histogram", "extract_quantiles"]

MOST_CELLS = 2**16
_PRECISION = 2**50
"""A grid is no finer than this share of the largest bound, so that doubles hold its points."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many rows lie in each cell of a grid: round(argument / step) − center, clamped to [0, upper].

    Rows where the argument is null are in no cell, nor are those that do not satisfy `when`, if it is given.
    `probabilities` are the quantiles asked for, in rising order.
    """

    argument: exp.Expr
    step: Fraction
    center: int
    upper: int
    probabilities: tuple[Fraction, ...]
    when: exp.Expr | None = None
    lower = 0

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
        bounds = interval(argument, columns, table)
        histograms.append(replace(_histogram(argument, bounds, rising), when=when))
    return tuple(histograms), places


def _argument(node: exp.Expr, columns: Mapping[str, Field]) -> exp.Expr:
    argument = node.this
    if any(value for name, value in node.args.items() if name not in ("this", "expression")):
        raise refuse(f"the aggregate {node.sql()}")
    if isinstance(argument, exp.Star | exp.Distinct):
        raise refuse(f"{argument.sql()} in {node.sql()}")
    kind = check_scalar(argument, columns)
    if kind in ("date", "timestamp"):
        raise QueryError(
            f"{node.sql()} of a {kind} is not supported; keep a bounded number beside it, such as days since some day"
        )
    if kind != "number":
        raise QueryError(f"{node.sql()} needs a number, but {argument.sql()} is a {kind}")
    return argument


def _histogram(argument: exp.Expr, bounds: Interval, probabilities: Iterable[Fraction]) -> Histogram:
    step = _step(argument, bounds)
    lower, upper = -((-bounds.lower) // step), bounds.upper // step
    return Histogram(argument, step, lower, upper - lower, tuple(probabilities))


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
