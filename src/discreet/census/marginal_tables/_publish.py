"""Plan and publish marginals of a table through a session, and load them again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from discreet import release
from discreet.census.marginal_tables._plan import MarginalsPlan, plan_of
from discreet.census.marginal_tables._question import PreparedMarginals, PublishMarginals
from discreet.census.marginal_tables._tables import MarginalTables
from discreet.census.marginal_tables._wanted import Minimized, Ways
from discreet.errors import LedgerError
from discreet.marginals import CellChoice
from discreet.policy import Policy
from discreet.privacy import Loss
from discreet.release import Terms
from discreet.session import Session

__all__ = ["load_marginals", "marginals", "plan_marginals", "plan_marginals_question"]


def marginals(  # noqa: PLR0913
    session: Session,
    table: str,
    spend: Loss,
    *,
    ways: Ways = 2,
    columns: Sequence[str] | None = None,
    cells: Mapping[str, CellChoice] | None = None,
    minimize: Minimized = "sum",
    idempotency_key: str | None = None,
) -> MarginalTables:
    """Many marginals of a private table together: unbiased numbers with the least error for the spend, and values.

    The unbiased numbers add up; values are never negative, fitted to what was measured: see `MarginalTables.table`.

    The spend is charged before anything is counted. The same question again is served from the ledger, free.

    Parameters
    ----------
    session
        From `discreet.connect`.
    table
        A private table of its policy.
    spend
        What to charge: ρ, μ, (ε, δ) or ε, in a currency that the ledger can read. With Gaussian noise, for all but pure
        ε, no linear strategy has less error; pure ε costs far more of it.
    ways
        Up to how many columns: all marginals of so many columns or fewer, the total too. Or the marginals themselves,
        each a list of columns; or a mapping of these to weights, how many times as much as others each counts.
    columns
        Which columns to tabulate; all but those that say whose a row is, if None is given.
    cells
        For a number or date, into how many equal cells its bounds are cut (32, and zero apart, by default), or the ends
        between cells. They are public: choose them without looking at the rows.
    minimize
        ``"sum"``: the variances of all cells together; ``"largest"``: the largest of one.
    idempotency_key
        As in `Session.answer`.

    Raises
    ------
    QueryError
        For a table or column that is not there, or without public cells, and for more cells than can be measured;
        nothing is spent.
    ParameterError
        For a wrong choice, or a spend too small for any noise; nothing is spent.
    BudgetExceeded, DataError, LedgerError, Cancelled
        As `Session.answer` does.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> from discreet import census
    >>> policy = {"version": "1", "budget": {"rho": 2}, "tables": {"people": {"unit": "rows", "columns": {
    ...     "age": {"type": "int", "bounds": [0, 99], "nullable": False},
    ...     "sex": {"type": "string", "keys": ["F", "M"], "nullable": False}}}}}
    >>> people = pa.table({"age": [i % 100 for i in range(4000)], "sex": ["F", "M", "M", "F"] * 1000})
    >>> with dp.connect({"people": people}, policy) as session:
    ...     tables = census.marginals(session, "people", spend=dp.rho(1), ways=2, cells={"age": 4})
    >>> tables.marginals
    ((), ('age',), ('sex',), ('age', 'sex'))
    >>> women = tables.total({"sex": "F", "age": ["0", "1 to 24", "25 to 49"]})
    >>> abs(women.unbiased - 1000) < 50, tables.standard_error("age", "sex") < 3
    (True, True)
    """
    question = PublishMarginals(table, spend, ways, columns, dict(cells or {}), minimize)
    return session.answer(question, idempotency_key=idempotency_key)


def plan_marginals(  # noqa: PLR0913
    session: Session,
    table: str,
    spend: Loss,
    *,
    ways: Ways = 2,
    columns: Sequence[str] | None = None,
    cells: Mapping[str, CellChoice] | None = None,
    minimize: Minimized = "sum",
) -> MarginalsPlan:
    """What `marginals` would measure with the same arguments, and how wrong each table would be. Costs nothing.

    Raises `QueryError` and `ParameterError` exactly where `marginals` would before its charge.
    """
    prepared = session.prepare(PublishMarginals(table, spend, ways, columns, dict(cells or {}), minimize))
    assert isinstance(prepared, PreparedMarginals)
    return plan_of(prepared)


def plan_marginals_question(question: PublishMarginals, policy: Policy) -> MarginalsPlan:
    """The plan of a question under a policy alone, before there is a source or a ledger. Raises as `plan_marginals`."""
    return plan_of(question.prepare(Terms.of_policy(policy)))


def load_marginals(path: str | os.PathLike[str]) -> MarginalTables:
    """The marginals in a file by `save`. That they are genuine is not checked: ask `discreet verify`.

    Raises `DataError` if the file cannot be read, `LedgerError` if it holds no marginals.
    """
    loaded = release.load(path)
    if isinstance(loaded, MarginalTables):
        return loaded
    raise LedgerError(f"{os.fspath(path)!r} holds no marginals of a table, but a {type(loaded).__name__}")
