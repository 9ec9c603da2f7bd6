"""Asking a session about subsets of people, as an analyst may, paying as an analyst must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attack._outcome import Outcome
from discreet.attack.reconstruction._subsets import reconstruct
from discreet.errors import ParameterError
from discreet.privacy import Loss

__all__ = ["Asks", "asker", "reconstruction"]


class _Answer(Protocol):
    def to_arrow(self) -> pa.Table:
        """The answer as a table."""
        ...


class Asks(Protocol):
    """What answers SQL and charges for it: a `discreet.Session`."""

    def sql(self, query: Any, spend: Loss) -> _Answer:
        """See `discreet.Session.sql`."""
        ...


def asker(  # noqa: PLR0913, PLR0917
    session: Asks, table: str, person: str, ids: Sequence[int], secret: str, spend: Loss
) -> Callable[[NDArray[np.bool_]], float]:
    """A function that asks how many of a subset have a secret.

    Parameters
    ----------
    session
        Whom to ask.
    table, person
        A table, and its column of whole numbers that say who a row is about; the policy must allow to filter by it.
    ids
        The people; a subset is a truth value for each.
    secret
        The condition in SQL that is to be learnt of each.
    spend
        What each question costs.
    """
    known = np.asarray(ids)
    if known.dtype.kind not in "iu":
        raise ParameterError("ids are whole numbers")

    def ask(subset: NDArray[np.bool_]) -> float:
        listed = ", ".join(str(int(each)) for each in known[subset])
        if not listed:
            return 0.0
        query = f"SELECT COUNT(*) AS n FROM {table} WHERE {person} IN ({listed}) AND ({secret})"  # noqa: S608
        answer: Any = session.sql(query, spend).to_arrow().column("n")[0].as_py()
        return float("nan") if answer is None else float(answer)

    return ask


def reconstruction(  # noqa: PLR0913
    session: Asks,
    *,
    table: str,
    person: str,
    secret: str,
    truth: NDArray[np.bool_],
    spend: Loss,
    queries: int = 1000,
) -> Outcome:
    """Dinur and Nissim's attack through a session: many questions about random subsets of people.

    Parameters
    ----------
    session, table, person, secret
        As `asker`: people have the numbers 0 to the length of `truth`.
    truth
        Who has the secret, to which guesses are compared.
    spend
        What each question costs; the session refuses what its budget does not hold, and the attack ends with that.
    queries
        How many questions.

    Raises
    ------
    BudgetExceeded, QueryError
        As the session's `sql`.
    """
    ask = asker(session, table, person, list(range(len(truth))), secret, spend)
    return reconstruct(ask, truth, queries, "total")
