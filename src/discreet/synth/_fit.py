"""Fit a synthetic table through a session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from discreet.marginals import CellChoice
from discreet.privacy import Loss
from discreet.session import Session
from discreet.synth._kind import of_kind
from discreet.synth._question import Synthesize, Tier
from discreet.synth._table import SyntheticTable
from discreet.synth._workload import Workload
from discreet.synth.rules import Rule

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
    workload: Workload = (),
    rules: Sequence[Rule] = (),
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
        Marginals that matter more than others, each a list of columns or a query in SQL; or a mapping of these to
        weights, how many times as much as others each counts.
    rules
        What every row keeps, whatever the private rows do: conditions in SQL, as ``"cost = 0 OR visits > 0"``, broken
        where they are false and not where they are unknown; and `discreet.synth.Soft`, `Follows` and `Total`. Rules are
        public: never read them off the rows.
    idempotency_key
        As in `Session.answer`.

    Raises
    ------
    QueryError
        For a table or column that is not there, or has neither keys nor bounds; nothing is spent.
    ParameterError
        For a wrong choice, rules that nothing satisfies, or a spend that is too small to measure one marginal; nothing
        is spent.
    BudgetExceeded, DataError, LedgerError, Cancelled
        As `Session.answer` does.
    """
    question = Synthesize(table, spend, tier, columns, dict(cells or {}), target, workload, rules)
    return session.answer(question, idempotency_key=idempotency_key)


def load(path: str | os.PathLike[str]) -> SyntheticTable:
    """The synthetic table in a file by `save`. That it is genuine is not checked: ask `discreet verify`.

    Raises `DataError` if the file cannot be read, `LedgerError` if it holds no synthetic table of `fit`; what
    `fit_tables` made is for `load_tables`.
    """
    return of_kind(SyntheticTable, path)
