"""What a plan says about its quantiles, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.query.measures._histograms import Histogram
from discreet.rational import decimal_text

if TYPE_CHECKING:
    from discreet.query._plan import Plan
    from discreet.query.budget._noise import Level

__all__ = ["quantile_lines", "rank_error", "rank_line"]


def quantile_lines(plan: Plan, level: Level) -> list[str]:
    """A line for each histogram of a level, and one for each MIN and MAX, which are not what their names say."""
    lines = [_histogram(level, i, histogram) for i, histogram in enumerate(level.bounded.histograms)]
    for aggregate in plan.aggregates:
        if aggregate.quantile is not None and aggregate.sql.startswith(("MIN(", "MAX(")):
            histogram, place = aggregate.quantile
            share = decimal_text(100 * level.bounded.histograms[histogram].probabilities[place])
            lines.append(f"{aggregate.sql} is the {share} % quantile: the outermost value is one person's own")
    return lines


def rank_line(plan: Plan, column: str, level: float) -> str | None:
    """How far the rank of an output column may be off, in words, or None for a column that hangs on no quantile."""
    if not _histograms(plan, column):
        return None
    rows = rank_error(plan, column, level)
    if rows is None:
        return 'rank within some rows, how many depends on their number; plan with assume={"rows": n}'
    return f"rank within ± {rows:,.4g} rows of a group; in its own unit that depends on the data"


def rank_error(plan: Plan, column: str, level: float) -> float | None:
    """By how many rows the rank of an output column may be off; None where it is no quantile or that is not known."""
    errors = [
        each.noise.quantiles[i].rank_error(plan.rows_per_group(each), level)
        for each in plan.levels
        if each.noise is not None
        for i in sorted(_histograms(plan, column))
    ]
    known = [error for error in errors if error is not None]
    return max(known) if known and len(known) == len(errors) else None


def _histograms(plan: Plan, column: str) -> set[int]:
    """The histograms whose quantiles an output column hangs on."""
    items = [item for item in plan.select.expressions if item.alias == column]
    placed = [int(leaf.name[1:]) for item in items for leaf in item.find_all(exp.Placeholder)]
    return {aggregate.quantile[0] for aggregate in (plan.aggregates[i] for i in placed) if aggregate.quantile}


def _histogram(level: Level, position: int, histogram: Histogram) -> str:
    low, high = (decimal_text(bound) for bound in histogram.bounds)
    shares = ", ".join(f"{decimal_text(100 * p)} %" for p in histogram.probabilities)
    rows = "" if histogram.when is None else f" where {histogram.when.sql()}"
    what = f"quantiles {shares} of {histogram.argument.sql()}{rows}, to the nearest {decimal_text(histogram.step)} "
    what += f"in [{low}, {high}]"
    if level.noise is None:
        return what
    mechanism = level.noise.quantiles[position].mechanism
    method = "drawn jointly" if mechanism.method == "joint" else "drawn one after the other"
    many = f", {method}" if len(histogram.probabilities) > 1 else ""
    return f"{what}; exponential mechanism, epsilon {decimal_text(mechanism.epsilon)} for each row{many}"
