"""Marginals of a table, seen whole by somebody who knows all rows and wonders about one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.catalog._entry import Entry, counting_context
from discreet.census import MarginalTables, PreparedMarginals, PublishMarginals
from discreet.policy import load_policy
from discreet.privacy import Loss, mu
from discreet.query import Marginals
from discreet.release import Terms

__all__ = ["marginal_entries"]

_COLUMNS = {
    "a": {"type": "int", "bounds": [1, 2], "nullable": False},
    "b": {"type": "int", "bounds": [1, 3], "nullable": False},
}
_POLICY = {"version": "1", "tables": {"t": {"unit": "rows", "columns": _COLUMNS}}}
_CROWD = np.full((2, 3), 50)

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Tables:
    """All marginals of two columns, of a table that is given by its counts: a score of all integers, and the integers.

    The score is the loss of privacy of continuous noise: how much farther what was measured is from what would be
    measured of one table than of the other.
    """

    spend: Loss
    tables: tuple[Counts, Counts]

    @cached_property
    def _prepared(self) -> PreparedMarginals:
        return PublishMarginals("t", self.spend, ways=2).prepare(Terms.of_policy(load_policy(_POLICY)))

    def draw(self, data: Counts, size: int) -> list[list[float]]:
        """`size` independent releases."""

        def counted(request: Marginals) -> tuple[Any, ...]:
            return tuple(_summed(data, each) for each in request.sets)

        context = counting_context(self._prepared.policy, counted)
        return [self._scored(self._prepared.answer(context)) for _ in range(size)]

    def _scored(self, release: MarginalTables) -> list[float]:
        score, seen = 0.0, list[float]()
        measurements = self._prepared.measurements
        for columns, mechanism in measurements.mechanisms.items():
            measured = release.measured[columns]
            one, other = (measurements.query(_summed(table, columns)) for table in self.tables)
            ratio = ((measured - other) ** 2).sum() - ((measured - one) ** 2).sum()
            score += float(ratio) / (2 * mechanism.std**2)
            seen += measured.ravel().tolist()
        return [score, *seen]


def _summed(counts: Counts, columns: tuple[int, ...]) -> Counts:
    return np.asarray(counts.sum(axis=tuple({0, 1} - set(columns))))


def marginal_entries() -> tuple[Entry, ...]:
    """All marginals of two columns at μ = 1, of which everything is seen.

    >>> [entry.name for entry in marginal_entries()]
    ['MarginalTables of two columns']
    """
    more = _CROWD.copy()
    more[1, 2] += 1
    spend = mu(1)
    return (
        Entry(
            name="MarginalTables of two columns",
            group="statistical tables",
            shown="MarginalTables by discreet.census.marginals(session, 't', spend=dp.mu(1), ways=2)",
            mechanism=_Tables(spend, (more, _CROWD)),
            pairs=((more, _CROWD),),
            claim=spend,
            delta="1e-2",
            kind=MarginalTables,
            samples=6_000,
            note="a row more moves every residual by its most; answers are scored by who knows both tables; a release "
            "takes a millisecond, so outputs are few",
        ),
    )
