"""What a histogram would measure and how wrong it would be, beside the least that any linear strategy has: free."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.census.histograms._aware import LEVEL_SHARES
from discreet.census.histograms._pictures import plan_chart
from discreet.census.histograms._question import PreparedHistogram
from discreet.charts import load_altair
from discreet.errors import printable
from discreet.marginals.strategies import COLUMN_NORM, TreeStrategy, Workload
from discreet.prices import Additive
from discreet.privacy import Loss, in_words, to_json
from discreet.release import ShownTable

__all__ = ["HistogramPlan", "histogram_plan"]

_MOST_QUERIES = 40


@dataclass(frozen=True, repr=False, eq=False)
class HistogramPlan(ShownTable):
    """The root mean square error of the workload's queries, of numbers that are unbiased. Made by `plan_histogram`.

    Attributes
    ----------
    column
        Which one would be counted.
    cells_in_all, queries
        How many there are.
    strategy
        What would be measured, in words.
    error
        The planned one. Of a histogram that is aware of the data the larger of the two that it may have: of the tree
        that it falls back to, or of the levels before a partition. Its integers are nearer.
    bound
        The least that any linear strategy has, at the same spend: the SVD bound (Li and Miklau 2013).
    plain
        Of the strategy that knows nothing of the data.
    standard_errors
        Of some queries of the workload: for ranges those in the middle of so many cells; for prefixes the first so many
        cells; the first 40 of a list.
    loss
        What it would cost.
    unit, rows_per_unit
        Whom it protects: the column that names a person, or ``"rows"``; how many rows of one person count.
    """

    column: str
    cells_in_all: int
    queries: int
    strategy: str
    error: float
    bound: float
    plain: float
    standard_errors: tuple[tuple[str, float], ...]
    loss: Loss
    unit: str
    rows_per_unit: int

    def plot(self) -> Any:
        """The errors as an altair chart, beside the bound. Costs nothing. Raises `MissingExtra` without altair."""
        return load_altair().Chart.from_dict(self.to_vega_lite())

    def to_vega_lite(self) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        means = {"mean of all queries": self.error, "least of any linear strategy": self.bound}
        return plan_chart(self.column, self.standard_errors, means, in_words(self.loss))

    def explain(self) -> str:
        """What would be published and how wrong it would be, in words."""
        people = "every row is another person" if self.unit == "rows" else f"a person is a value of {self.unit}"
        lines = [
            f"{self.column} in {self.cells_in_all:,} cells, for {self.queries:,} queries.",
            "",
            f"Protected: {people}; at most {self.rows_per_unit:,} rows of one count.",
            f"Measured: {self.strategy}.",
            f"Error: {self.note()}.",
            "",
            "Standard errors of unbiased numbers:",
            *(f"  {name}: {error:,.1f}" for name, error in self.standard_errors),
            "",
            f"Cost: {in_words(self.loss)}, once; ranges are free.",
        ]
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "column": self.column,
            "cells": self.cells_in_all,
            "queries": self.queries,
            "strategy": self.strategy,
            "error": self.error,
            "bound": self.bound,
            "plain": self.plain,
            "standard_errors": [{"query": name, "standard_error": error} for name, error in self.standard_errors],
            "loss": to_json(self.loss),
        }

    def header(self) -> list[tuple[str, bool]]:
        """Queries, and the error of each."""
        return [("query", False), ("standard error", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002 - shown alike
        """The queries as text."""
        return [[name, f"{error:,.1f}"] for name, error in self.standard_errors][:first]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002 - shown alike
        """The mean error, beside the least."""
        plain = f", without awareness {self.plain:,.1f}" if self.error != self.plain else ""
        return (
            f"root mean square error of all queries {self.error:,.1f}{plain}; no linear strategy is below "
            f"{self.bound:,.1f}"
        )

    def _cost(self) -> str:
        return in_words(self.loss)


def histogram_plan(prepared: PreparedHistogram) -> HistogramPlan:
    """The plan of a histogram that was checked."""
    workload, prices = prepared.merged, prepared.prices
    if prices.is_quadratic:
        (variance,) = _variances(prepared.mechanisms)
        factors = prepared.factorization
        error = plain = factors.mean_variance * variance
        widest = variance / COLUMN_NORM**2
        strategy = f"a factorisation of {workload.cells:,} rows"

        def variance_of(query: NDArray[np.float64]) -> float:
            return factors.variance(query) * variance
    else:
        tree, levels = prepared.tree, prepared.tree
        noise = [prices.measurement(prices.total * share) for share in tree.shares]
        (widest,) = _variances([prices.measurement(prices.total)])
        error = plain = tree.mean_variance(workload, _variances(noise))
        strategy = f"blocks of {_listed(tree.widths)} cells"
        if prepared.data_aware:
            levels = TreeStrategy(workload.cells, prepared.widths, LEVEL_SHARES)
            fallen = tree.mean_variance(workload, _variances(prepared.tree_noise))
            error = max(fallen, levels.mean_variance(workload, _variances(prepared.mechanisms)))
            ways = f"then {strategy}, or those of {_listed(prepared.widths)} and a private partition"
            strategy = f"blocks of {prepared.widths[0]:,} cells; {ways}"
        squares = levels.least_squares(_variances(prepared.mechanisms))

        def variance_of(query: NDArray[np.float64]) -> float:
            return squares.variance([*[None] * (levels.tree.levels - 1), query])

    table = prepared.bounded.tables[0]
    return HistogramPlan(
        column=prepared.column.name,
        cells_in_all=prepared.workload.cells,
        queries=workload.count,
        strategy=strategy,
        error=math.sqrt(error),
        bound=math.sqrt(workload.bound * widest),
        plain=math.sqrt(plain),
        standard_errors=_examples(prepared, workload, variance_of),
        loss=prepared.loss,
        unit=prepared.policy.unit(table).name or "rows",
        rows_per_unit=prepared.rows,
    )


def _examples(
    prepared: PreparedHistogram, merged: Workload, variance_of: Callable[[NDArray[np.float64]], float]
) -> tuple[tuple[str, float], ...]:
    """Some queries, with the standard errors that they would have."""
    ends: list[tuple[str, int, int]] = []
    if merged.kind == "queries":
        text = prepared.column.text
        pairs = zip(prepared.workload.ends[:_MOST_QUERIES], merged.ends, strict=False)
        ends = [(f"{text(a)} … {text(b)}", *inside) for (a, b), inside in pairs]
    else:
        lengths = sorted({min(4**i, merged.cells) for i in range(math.ceil(math.log(merged.cells + 1, 4)) + 1)})
        for length in lengths:
            first = (merged.cells - length) // 2 if merged.kind == "ranges" else 0
            ends.append((f"{length:,} cell{'s' if length > 1 else ''}", first, first + length - 1))
    at = np.arange(merged.cells)
    queries = [(name, ((at >= first) & (at <= last)).astype(np.float64)) for name, first, last in ends]
    return tuple((name, math.sqrt(variance_of(query))) for name, query in queries)


def _variances(mechanisms: Sequence[Additive]) -> list[float]:
    return [max(each.std, 1e-6) ** 2 for each in mechanisms]


def _listed(widths: Sequence[int]) -> str:
    return ", ".join(f"{width:,}" for width in widths)
