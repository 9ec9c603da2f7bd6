"""Plan and publish a histogram through a session, and load it again."""

from __future__ import annotations

import os
from collections.abc import Sequence

from discreet import release
from discreet.census.histograms._plan import HistogramPlan, histogram_plan
from discreet.census.histograms._question import CountCells, PreparedHistogram, WorkloadChoice
from discreet.census.histograms._release import Histogram
from discreet.errors import LedgerError
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.release import Terms
from discreet.session import Session

__all__ = ["histogram", "load_histogram", "plan_histogram", "plan_histogram_question"]


def histogram(  # noqa: PLR0913
    session: Session,
    column: str,
    *,
    spend: Loss,
    cells: int | Sequence[object] | None = None,
    workload: WorkloadChoice = "ranges",
    data_aware: bool = False,
    table: str | None = None,
    idempotency_key: str | None = None,
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
    idempotency_key
        As in `Session.answer`.

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
    question = CountCells(column, spend, cells, workload, data_aware, table)
    return session.answer(question, idempotency_key=idempotency_key)


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


def plan_histogram_question(question: CountCells, policy: Policy) -> HistogramPlan:
    """The plan of a question under a policy alone, before there is a source or a ledger. Raises as `plan_histogram`."""
    return histogram_plan(question.prepare(Terms.of_policy(policy)))


def load_histogram(path: str | os.PathLike[str]) -> Histogram:
    """The histogram in a file by `Histogram.save`. That it is genuine is for `discreet verify` to say.

    Raises `DataError` if it cannot be read, `LedgerError` if it holds no histogram.
    """
    loaded = release.load(path)
    if isinstance(loaded, Histogram):
        return loaded
    raise LedgerError(f"{os.fspath(path)!r} holds no histogram, but a {type(loaded).__name__}")
