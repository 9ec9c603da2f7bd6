"""How wrong the queries of a histogram would be, before anything is paid, and how little any strategy could do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.census.histograms._question import PreparedHistogram
from discreet.marginals.strategies import COLUMN_NORM
from discreet.prices import DiscreteLaplace

__all__ = ["HistogramPlan", "histogram_plan"]


@dataclass(frozen=True)
class HistogramPlan:
    """The root mean square error of the workload's queries, of numbers that are unbiased.

    Attributes
    ----------
    cells, queries
        How many there are.
    strategy
        What would be measured, in words.
    error
        The planned one; None where a private partition decides: it depends on the data.
    bound
        The least that any linear strategy has, at the same spend: the SVD bound (Li and Miklau 2013).
    plain
        Of the strategy that knows nothing of the data.
    """

    cells: int
    queries: int
    strategy: str
    error: float | None
    bound: float
    plain: float


def histogram_plan(prepared: PreparedHistogram) -> HistogramPlan:
    """The plan of a histogram that was checked."""
    workload = prepared.merged
    variances = [max(each.std, 1e-6) ** 2 for each in prepared.mechanisms]
    if prepared.prices.is_quadratic:
        error = prepared.factorization.mean_variance * variances[0]
        unit = variances[0] / COLUMN_NORM**2
        strategy = f"a factorisation of {workload.cells:,} rows"
    else:
        tree = prepared.tree
        noise = [prepared.prices.measurement(prepared.prices.total * share) for share in tree.shares]
        error = tree.mean_variance(workload, [max(each.std, 1e-6) ** 2 for each in noise])
        widest = prepared.prices.measurement(prepared.prices.total)
        assert isinstance(widest, DiscreteLaplace)
        unit = widest.std**2
        strategy = f"blocks of {', '.join(f'{width:,}' for width in tree.widths)} cells"
    plain = math.sqrt(error)
    if prepared.data_aware:
        blocks = " and ".join(f"{width:,}" for width in prepared.widths)
        strategy = f"blocks of {blocks} cells, then the segments of a private partition"
    planned = None if prepared.data_aware else plain
    bound = math.sqrt(workload.bound * unit)
    return HistogramPlan(prepared.workload.cells, workload.count, strategy, planned, bound, plain)
