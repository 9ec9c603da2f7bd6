"""Check a synthetic table against private rows, through a session."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.privacy import Loss
from discreet.session import Session
from discreet.synth._table import SyntheticTable
from discreet.synth.checks._classifier import Target
from discreet.synth.checks._question import CheckTable
from discreet.synth.checks._release import SyntheticCheck

__all__ = ["check"]


def check(  # noqa: PLR0913
    session: Session,
    table: SyntheticTable,
    spend: Loss,
    *,
    target: Target | None = None,
    accept: Mapping[str, float] | None = None,
    idempotency_key: str | None = None,
) -> SyntheticCheck:
    """Buy how far a synthetic table is from the private rows, with intervals.

    What is compared are 131,072 rows of the synthetic table, those of ``sample(131_072, label="check")``, with the
    rows of the private table that count (where keys were discovered, those that have one): the mean over marginals of
    one column, two and three of their total variation distance, in the public cells of the fit. With a target a
    classifier that learnt from synthetic rows alone is judged on private ones: its accuracy, and the area under its
    curve (AUC). It is a points score: logistic regression on which cell each column is in. The same check, under the
    same version label of the policy, is given again at no cost, whatever is to be accepted.

    Parameters
    ----------
    session
        From `discreet.connect`, on the private table and under the policy that the synthetic one was fitted under.
    table
        From `fit`.
    spend
        What to charge, beside what the fit cost.
    target
        A column of two values, or one with the value that is to be recognised: ``{"income": ">50K"}``.
    accept
        Limits: ``{"tv2": 0.05}`` accepts at most so large a distance, ``{"auc": 0.8}`` at least so large an AUC.
        Whether all of them are met, by the noisy estimates, is `SyntheticCheck.accepted`.
    idempotency_key
        As in `Session.answer`.

    Raises
    ------
    QueryError
        For a table or column that this policy does not have as it was fitted; nothing is spent.
    ParameterError
        For a target without two values, a limit of what is not estimated, or a spend that is too small; nothing is
        spent.
    BudgetExceeded, DataError, LedgerError, Cancelled
        As `Session.answer` does.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> from discreet import synth
    >>> policy = {"version": "1", "budget": {"rho": 9},
    ...           "tables": {"t": {"unit": "rows", "columns": {"age": {"type": "int", "bounds": [0, 99]},
    ...                                                        "member": {"type": "bool", "nullable": False}}}}}
    >>> people = pa.table({"age": [20 + i % 60 for i in range(4000)], "member": [i % 60 > 30 for i in range(4000)]})
    >>> with dp.connect({"t": people}, policy) as session:
    ...     table = synth.fit(session, "t", spend=dp.rho(4))
    ...     found = synth.check(session, table, spend=dp.rho(4), target="member", accept={"tv2": 0.1, "auc": 0.9})
    >>> found.accepted, found.confidence("tv2") > 0.99, found.error("auc") < 0.02
    (True, True, True)
    """
    question = CheckTable(table, spend, target, dict(accept or {}))
    return session.answer(question, idempotency_key=idempotency_key)
