"""Plan and publish a histogram through a session, and load it again."""

from __future__ import annotations

import os
from collections.abc import Sequence

from discreet import release
from discreet.census.histograms._plan import HistogramPlan, histogram_plan
from discreet.census.histograms._question import CountCells, PreparedHistogram, WorkloadChoice
from discreet.census.histograms._release import Histogram
from discreet.errors import LedgerError
from discreet.privacy import Loss
from discreet.session import Session

__all__ = ["histogram", "load_histogram", "plan_histogram"]


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
        Under ε alone: spend a part on a private partition, within whose segments counts are taken as even. Far less
        error where most cells are empty, and no unbiased numbers.
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
