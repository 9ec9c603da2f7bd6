"""Plan and publish a histogram through a session, and load it again."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from discreet import release
from discreet.census.histograms._aware import LEVEL_SHARES
from discreet.census.histograms._question import CountCells, PreparedHistogram, WorkloadChoice
from discreet.census.histograms._release import Histogram
from discreet.errors import LedgerError
from discreet.marginals.strategies import COLUMN_NORM, TreeStrategy
from discreet.prices import Additive
from discreet.privacy import Loss
from discreet.session import Session

__all__ = ["HistogramPlan", "histogram", "histogram_plan", "load_histogram", "plan_histogram"]


def histogram(  # noqa: PLR0913
    session: Session,
    column: str,
    *,
    spend: Loss,
    cells: int | Sequence[object] | None = None,
    workload: WorkloadChoice = "ranges",
    data_aware: bool = False,
    table: str | None = None,
) -> Histogram:
    """Counts by cells of a column, charged once; the same histogram again is served from the ledger, free.

    Parameters
    ----------
    spend
        An ε buys weighted trees of blocks; (ε, δ), ρ or μ buy factorisations with Gaussian noise.
    cells
        Into how many equal cells the bounds of a number or date are cut, or the ends between cells. They are public.
    workload
        ``"ranges"``, ``"prefixes"``, or a list of pairs of a first and a last value, of whole cells.
    data_aware
        Under ε alone: spend a part on a private partition, within whose segments the integers are even, where wide
        blocks show that most hold nothing. Its integers are then far nearer, and its unbiased numbers less so.
    table
        Which one, if the policy has several.

    Raises `QueryError` and `ParameterError` for what cannot be counted, before any charge; `BudgetExceeded` where the
    ledger has not enough.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> from discreet.census.histograms import histogram
    >>> column = {"type": "int", "bounds": [1, 256], "nullable": False}
    >>> policy = {"version": "1", "budget": {"epsilon": 2},
    ...           "tables": {"people": {"unit": "rows", "columns": {"income": column}}}}
    >>> people = pa.table({"income": [i % 100 + 1 for i in range(10_000)]})
    >>> with dp.connect({"people": people}, policy) as session:
    ...     made = histogram(session, "income", cells=256, spend=dp.pure(1))
    >>> poor = made.range(1, 50)
    >>> abs(poor.unbiased - 5_000) < 300, poor.standard_error < 20, min(made.values)
    (True, True, 0)
    """
    return session.answer(CountCells(column, spend, cells, workload, data_aware, table))


def plan_histogram(  # noqa: PLR0913
    session: Session,
    column: str,
    *,
    spend: Loss,
    cells: int | Sequence[object] | None = None,
    workload: WorkloadChoice = "ranges",
    data_aware: bool = False,
    table: str | None = None,
) -> HistogramPlan:
    """How wrong `histogram` would be, beside the least that any linear strategy has. Costs nothing, touches no data.

    Raises as `histogram` does before its charge.
    """
    prepared = session.prepare(CountCells(column, spend, cells, workload, data_aware, table))
    assert isinstance(prepared, PreparedHistogram)
    return histogram_plan(prepared)


def load_histogram(path: str | os.PathLike[str]) -> Histogram:
    """The histogram in a file by `Histogram.save`. That it is genuine is for `discreet verify` to say.

    Raises `DataError` if it cannot be read, `LedgerError` if it holds no histogram.
    """
    loaded = release.load(path)
    if isinstance(loaded, Histogram):
        return loaded
    raise LedgerError(f"{os.fspath(path)!r} holds no histogram, but a {type(loaded).__name__}")


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
        The planned one. Of a histogram that is aware of the data the larger of the two that it may have: of the tree
        that it falls back to, or of the levels before a partition. Its integers are nearer.
    bound
        The least that any linear strategy has, at the same spend: the SVD bound (Li and Miklau 2013).
    plain
        Of the strategy that knows nothing of the data.
    """

    cells: int
    queries: int
    strategy: str
    error: float
    bound: float
    plain: float


def histogram_plan(prepared: PreparedHistogram) -> HistogramPlan:
    """The plan of a histogram that was checked."""
    workload, prices = prepared.merged, prepared.prices
    widest = _variances([prices.measurement(prices.total)])[0]
    if prices.is_quadratic:
        error = plain = prepared.factorization.mean_variance * _variances(prepared.mechanisms)[0]
        widest = _variances(prepared.mechanisms)[0] / COLUMN_NORM**2
        strategy = f"a factorisation of {workload.cells:,} rows"
    else:
        tree = prepared.tree
        noise = [prices.measurement(prices.total * share) for share in tree.shares]
        error = plain = tree.mean_variance(workload, _variances(noise))
        strategy = f"blocks of {_listed(tree.widths)} cells"
    if prepared.data_aware:
        levels = TreeStrategy(workload.cells, prepared.widths, LEVEL_SHARES)
        error = max(
            prepared.tree.mean_variance(workload, _variances(prepared.tree_noise)),
            levels.mean_variance(workload, _variances(prepared.mechanisms)),
        )
        strategy = (
            f"blocks of {prepared.widths[0]:,} cells; then {strategy}, or those of {_listed(prepared.widths)} and a "
            "private partition"
        )
    bound = math.sqrt(workload.bound * widest)
    return HistogramPlan(prepared.workload.cells, workload.count, strategy, math.sqrt(error), bound, math.sqrt(plain))


def _variances(mechanisms: Sequence[Additive]) -> list[float]:
    return [max(each.std, 1e-6) ** 2 for each in mechanisms]


def _listed(widths: Sequence[int]) -> str:
    return ", ".join(f"{width:,}" for width in widths)
