"""What a plan says of each column of the result: how far off noise may put it, and what else may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.query._quantile_words import rank_line
from discreet.query.measures._measures import Product, Sum
from discreet.query.results._answer import QUANTILE
from discreet.rational import decimal_text

if TYPE_CHECKING:
    from discreet.query._plan import Plan

__all__ = ["column_lines"]

_DEPENDS = {True: 'depends on the data; plan with assume={"rows": n}', False: "depends on the data"}


def column_lines(plan: Plan, level: float) -> list[str]:
    """A line for each column with noise: its half-width, the measures that it is read off, what may bias it."""
    cells = [
        (f"{name}: {_half_width(plan, name, level)}", _read_off(plan, name), _bias(plan, name)) for name in plan.noisy
    ]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(2)]
    return [f"{first:<{widths[0]}}  {second:<{widths[1]}}  {third}" for first, second, third in cells]


def _half_width(plan: Plan, column: str, level: float) -> str:
    half = plan.error(column, level)
    if half is not None:
        return f"± {'~' if plan.approximate(column) else ''}{half:.4g}"
    return rank_line(plan, column, level) or _DEPENDS[plan.rows is None and plan.before is None]


def _read_off(plan: Plan, column: str) -> str:
    numbers = ["quantiles" if i == QUANTILE else f"[{i + 1}]" for i in plan.measures_of(column)]
    return f"from {' '.join(numbers)}"


def _bias(plan: Plan, column: str) -> str:
    """What of the bounds and caps may move the answer, beside noise."""
    found = list(dict.fromkeys(filter(None, (_clamped(plan, i) for i in plan.measures_of(column)))))
    if plan.unit.name is not None:
        found.append("caps on a person's rows" + (" and groups" if plan.levels[0].bounded.max_groups else ""))
    return f"bias: {', '.join(found) or 'none'}"


def _clamped(plan: Plan, position: int) -> str:
    bounded = plan.levels[0].bounded
    if position == QUANTILE:
        return "clamping of values to their bounds"
    match bounded.measures[position]:
        case Sum() as measure:
            return _limits(measure)
        case Product() as measure:
            return ", ".join(dict.fromkeys(_limits(side) for side in (measure.left, measure.right)))
        case _:
            return ""


def _limits(measure: Sum) -> str:
    low, high = ((bound + measure.center) * measure.step for bound in (measure.lower, measure.upper))
    if low == high:
        return ""
    return f"clamping of {measure.argument.sql()} to [{decimal_text(low)}, {decimal_text(high)}]"
