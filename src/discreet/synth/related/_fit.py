"""Fit synthetic tables that belong together, through a session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from discreet.marginals import CellChoice
from discreet.privacy import Loss
from discreet.session import Session
from discreet.synth._kind import of_kind
from discreet.synth._question import Tier
from discreet.synth.related._question import SynthesizeTables
from discreet.synth.related._release import SyntheticTables
from discreet.synth.related._shapes import History
from discreet.synth.rules import Rule

__all__ = ["fit_tables", "load_tables"]


def fit_tables(  # noqa: PLR0913
    session: Session,
    tables: Sequence[str],
    spend: Loss,
    *,
    tier: Tier = "best",
    histories: Mapping[str, History] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    cells: Mapping[str, Mapping[str, CellChoice]] | None = None,
    links: Mapping[str, str] | None = None,
    rules: Mapping[str, Sequence[Rule]] | None = None,
    idempotency_key: str | None = None,
) -> SyntheticTables:
    """Synthetic stand-ins for private tables that belong together, or for the histories of one, charged once.

    Rows belong to a row of another table along the policy's paths, as in ``unit = "order_id -> orders.id"``, or to the
    person's row in the table that has one for each person (``max_rows = 1``). They are drawn on the condition of that
    row, and get its new number. The same fit, under the same version label of the policy, is given again from the
    ledger at no cost. Source: ``proofs/synth_histories.md``.

    Parameters
    ----------
    session
        From `discreet.connect`.
    tables
        Tables of its policy; one alone has the histories of people. Public ones are used as they are.
    spend
        What to charge for all of it, as in `discreet.synth.fit`. It is shared by public parts.
    tier
        As in `discreet.synth.fit`.
    histories
        For tables that have several rows of a person: in which order they follow one another, and what is constant.
    columns, cells
        For each table, as in `discreet.synth.fit`.
    links
        Which columns hold keys of public tables, as in ``{"visits.plan": "plans.id"}``. Columns with the name of a
        public table's key do without. Keys that the public table has are drawn, no others.
    rules
        For each table what every row of it keeps, as in `discreet.synth.fit`: conditions, and `discreet.synth.Follows`.
        People are drawn on the condition that all their rows keep them.
    idempotency_key
        As in `Session.answer`.

    Raises
    ------
    QueryError
        For tables that do not belong together, and as `discreet.synth.fit`; nothing is spent.
    ParameterError
        For a wrong choice, or a spend that is too small to measure one marginal of each part; nothing is spent.
    BudgetExceeded, DataError, LedgerError, Cancelled
        As `Session.answer` does.

    >>> import discreet as dp
    >>> from discreet import synth
    >>> from discreet.datasets import rand
    >>> with dp.connect({"visits": rand.table}, policy=rand.policy) as session:
    ...     history = synth.History(order="year", constant=["coinsurance", "female"], along=["age"], repeats=False)
    ...     model = synth.fit_tables(session, ["visits"], dp.approx(1, "1e-7"), histories={"visits": history})
    >>> model.sample(people=1000)["visits"].column_names
    ['person', 'coinsurance', 'year', 'age', 'female', 'doctor_visits', 'dollars']
    """
    question = SynthesizeTables(
        tables,
        spend,
        tier,
        dict(histories or {}),
        dict(columns or {}),
        dict(cells or {}),
        dict(links or {}),
        dict(rules or {}),
    )
    return session.answer(question, idempotency_key=idempotency_key)


def load_tables(path: str | os.PathLike[str]) -> SyntheticTables:
    """The synthetic tables in a file by `save`. That they are genuine is not checked: ask `discreet verify`.

    Raises `DataError` if the file cannot be read, `LedgerError` if it holds no synthetic tables of `fit_tables`.
    """
    return of_kind(SyntheticTables, path)
