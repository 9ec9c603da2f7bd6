"""How the columns of a query hang on its measures, at a public point of reference."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.query._aggregates import Aggregate
from discreet.query._answer import QUANTILE, answer
from discreet.query._bounded import Group
from discreet.query._levels import Level
from discreet.query._measures import Measure, Product, Sum

__all__ = ["column_slopes", "typical"]

_ROWS = 1_000
_OFF_MIDDLE = Fraction(15, 26)
"""1/√3: a value that is as likely anywhere within bounds lies so far from their middle, as a part of half their width,
in root mean square."""


def column_slopes(
    select: exp.Select, levels: Sequence[Level], aggregates: Sequence[Aggregate]
) -> list[list[list[float]]]:
    """For each level and each column, its slope by each measure's noise, in a group of 1,000 rows with typical values.

    The columns are those of the result that carry noise, and the aggregates that only HAVING or ORDER BY reads.
    What hangs on a quantile is left out. Public facts alone decide; costs nothing.
    """
    measures = len(levels[0].bounded.measures)
    groups = [[_group(level)] for level in levels]
    alone = exp.Select(expressions=[*(item.copy() for item in select.expressions), *_only_read(select)])
    shapes = answer(alone, levels, aggregates, groups).shapes.values()
    return [
        [
            [
                float(shape.slopes[i][row]) if i in shape.slopes else 0.0
                for i in range(measures * row, measures * row + measures)
            ]
            for shape in shapes
            if QUANTILE not in shape.slopes
        ]
        for row in range(len(levels))
    ]


def typical(measure: Measure, rows: int) -> int:
    """A measure of so many rows, none of them null, of values spread about as wide as they lie from the middle.

    >>> typical(Sum(exp.column("x"), Fraction(1), 0, -26, 26), 10)
    150
    """
    match measure:
        case Sum():
            return round(rows * _mean(measure))
        case Product():
            left, right = _half(measure.left), _half(measure.right)
            together = left * right / (3 if measure.left == measure.right else 6)
            return round(
                rows * ((_mean(measure.left) * _mean(measure.right) + together) / 2**measure.shift - measure.center)
            )
        case _:
            return rows


def _mean(measure: Sum) -> Fraction:
    return Fraction(measure.lower + measure.upper, 2) + _OFF_MIDDLE * _half(measure)


def _half(measure: Sum) -> Fraction:
    return Fraction(measure.upper - measure.lower, 2)


def _group(level: Level) -> Group:
    key = tuple(None if key.values is None else key.values[0] for key in level.bounded.keys)
    sums = tuple(typical(measure, _ROWS) for measure in level.bounded.measures)
    tops = tuple((float(h.bounds[1]),) * len(h.probabilities) for h in level.bounded.histograms)
    return Group(key, 0, sums, quantiles=tops)


def _only_read(select: exp.Select) -> list[exp.Expr]:
    """The aggregates of HAVING and ORDER BY that no column of the result reads, each as a column."""
    shown = {leaf.name for item in select.expressions for leaf in item.find_all(exp.Placeholder)}
    clauses = [clause for name in ("having", "order") if (clause := select.args.get(name)) is not None]
    read = dict.fromkeys(leaf.name for clause in clauses for leaf in clause.find_all(exp.Placeholder))
    return [exp.alias_(exp.Placeholder(this=name), f":{name}", quoted=True) for name in read if name not in shown]
