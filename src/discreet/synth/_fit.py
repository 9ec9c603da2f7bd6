"""Fit a synthetic table through a session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from discreet.marginals import CellChoice
from discreet.privacy import Loss
from discreet.session import Session
from discreet.synth._question import Synthesize, Tier
from discreet.synth._table import SyntheticTable

__all__ = ["fit", "load"]


def fit(  # noqa: PLR0913
    session: Session,
    table: str,
    spend: Loss,
    *,
    tier: Tier = "best",
    columns: Sequence[str] | None = None,
    cells: Mapping[str, CellChoice] | None = None,
    target: str | None = None,
    workload: Sequence[Sequence[str]] = (),
    idempotency_key: str | None = None,
) -> SyntheticTable:
    """A synthetic stand-in for a private table, charged once.

    The same fit, under the same version label of the policy, is given again from the ledger at no cost.

    Parameters
    ----------
    session
        From `discreet.connect`.
    table
        A private table of its policy.
    spend
        What to charge: ε, (ε, δ), ρ or μ, in a currency that the ledger can read.
    tier
        ``"instant"`` measures a network of pairs at once; ``"best"`` goes on from there in rounds that choose what the
        table has wrong, and measure it.
    columns
        Which columns to fit; all but those that say whose a row is, if None is said.
    cells
        For a number or date, into how many equal cells its bounds are cut (32, and zero apart, by default), or the ends
        between cells. They are public: choose them without looking at the rows.
    target
        A column that models will predict: what it has to do with the others is measured first.
    workload
        Marginals that matter more than others, each a list of columns.
    idempotency_key
        As in `Session.answer`.

    Raises
    ------
    QueryError
        For a table or column that is not there, or has neither keys nor bounds; nothing is spent.
    ParameterError
        For a wrong choice, or a spend that is too small to measure one marginal; nothing is spent.
    BudgetExceeded, DataError, LedgerError, Cancelled
        As `Session.answer` does.
    """
    question = Synthesize(table, spend, tier, columns, dict(cells or {}), target, workload)
    return session.answer(question, idempotency_key=idempotency_key)


def load(path: str | os.PathLike[str]) -> SyntheticTable:
    """The synthetic table in a file by `save`. That it is genuine is not checked: ask `discreet verify`.

    Raises `DataError` if the file cannot be read, `LedgerError` if it holds no synthetic table.
    """
    return SyntheticTable.load(path)
