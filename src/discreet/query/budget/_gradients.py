"""Derivatives of a query's columns by its measures, at public points of reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.query.budget._noise import Level
from discreet.query.measures._aggregates import Aggregate
from discreet.query.measures._bounded import Group
from discreet.query.measures._measures import Measure, Product, Sum
from discreet.query.results._answer import QUANTILE, answer
from discreet.query.results._dual import Floats

__all__ = ["column_slopes", "typical"]

_ROWS = 1_000
_PLACES = (Fraction(1, 6), Fraction(1, 2), Fraction(5, 6))
"""How far means lie from the middle of their bounds, in halves of the bounds' width: thirds of a mean that is as likely
anywhere, by their own middles."""


def column_slopes(
    select: exp.Select, levels: Sequence[Level], aggregates: Sequence[Aggregate]
) -> list[list[list[float]]]:
    """For each level and each column, its slopes by each measure's noise, in three groups of 1,000 made-up rows.

    The columns are those of the result that carry noise, and the aggregates that only HAVING or ORDER BY reads.
    What hangs on a quantile is left out. Public facts alone decide; costs nothing.
    """
    measures = len(levels[0].bounded.measures)
    groups = [[_group(level, place) for place in _PLACES] for level in levels]
    alone = exp.Select(expressions=[*(item.copy() for item in select.expressions), *_only_read(select)])
    shapes = answer(alone, levels, aggregates, groups).shapes.values()
    known = [shape.slopes for shape in shapes if QUANTILE not in shape.slopes]

    def level_slopes(level: int, slopes: Mapping[int, Floats], row: int) -> list[float]:
        at = range(measures * level, measures * (level + 1))
        return [float(slopes[i][row]) if i in slopes else 0.0 for i in at]

    each = len(_PLACES)
    return [
        [level_slopes(level, slopes, level * each + place) for slopes in known for place in range(each)]
        for level in range(len(levels))
    ]


def typical(measure: Measure, rows: int, place: Fraction = _PLACES[1]) -> int:
    """A measure of so many rows, none of them null, whose values have their mean at a place in their bounds.

    Their variance is a quarter of the largest with that mean, and the correlation of two is a half.

    >>> typical(Sum(exp.column("x"), Fraction(1), 0, -20, 20), 10)
    100
    """
    match measure:
        case Sum():
            return round(rows * _mean(measure, place))
        case Product():
            left, right = measure.left, measure.right
            spread = _half(left) * _half(right) * (1 - place**2) / (4 if left == right else 8)
            product = _mean(left, place) * _mean(right, place) + spread
            return round(rows * (product / 2**measure.shift - measure.center))
        case _:
            return rows


def _mean(measure: Sum, place: Fraction) -> Fraction:
    return Fraction(measure.lower + measure.upper, 2) + place * _half(measure)


def _half(measure: Sum) -> Fraction:
    return Fraction(measure.upper - measure.lower, 2)


def _group(level: Level, place: Fraction) -> Group:
    key = tuple(None if key.values is None else key.values[0] for key in level.bounded.keys)
    sums = tuple(typical(measure, _ROWS, place) for measure in level.bounded.measures)
    tops = tuple((float(h.bounds[1]),) * len(h.probabilities) for h in level.bounded.histograms)
    return Group(key, 0, sums, quantiles=tops)


def _only_read(select: exp.Select) -> list[exp.Expr]:
    """The aggregates of HAVING and ORDER BY that no column of the result reads, each as a column."""
    shown = {leaf.name for item in select.expressions for leaf in item.find_all(exp.Placeholder)}
    clauses = [clause for name in ("having", "order") if (clause := select.args.get(name)) is not None]
    read = dict.fromkeys(leaf.name for clause in clauses for leaf in clause.find_all(exp.Placeholder))
    return [exp.alias_(exp.Placeholder(this=name), f":{name}", quoted=True) for name in read if name not in shown]
