"""A fit of a synthetic table, seen whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.catalog._entry import Entry, counting_context
from discreet.policy import load_policy
from discreet.privacy import Loss, pure
from discreet.query import Marginals
from discreet.release import Terms
from discreet.synth import PreparedTable, Synthesize, SyntheticTable

__all__ = ["synthetic_entries"]

_COLUMNS = {name: {"type": "bool", "nullable": False} for name in ("a", "b")}
_POLICY = {"version": "1", "tables": {"t": {"unit": "rows", "columns": _COLUMNS}}}
_CROWD = np.full((2, 2), 400)
"""As many rows in each cell that no cell is merged with another."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Fits:
    """Fits of two columns to a table that is given by its counts: all that was measured, in order."""

    spend: Loss

    @cached_property
    def _prepared(self) -> PreparedTable:
        return Synthesize("t", self.spend, "instant").prepare(Terms.of_policy(load_policy(_POLICY)))

    def draw(self, data: Counts, size: int) -> list[list[int]]:
        """`size` independent fits."""

        def counted(request: Marginals) -> tuple[Any, ...]:
            return tuple(data.sum(axis=tuple({0, 1} - set(each))) for each in request.sets)

        context = counting_context(self._prepared.policy, counted)
        return [
            [count for each in self._prepared.answer(context).measured for count in each.counts] for _ in range(size)
        ]


def synthetic_entries() -> tuple[Entry, ...]:
    """A fit of two columns at ε = 1, of which everything is seen.

    >>> [entry.name for entry in synthetic_entries()]
    ['SyntheticTable of two columns']
    """
    more = _CROWD.copy()
    more[1, 1] += 1
    spend = pure(1)
    return (
        Entry(
            name="SyntheticTable of two columns",
            group="synthetic tables",
            shown="SyntheticTable by discreet.synth.fit(session, 't', spend=dp.pure(1), tier='instant')",
            mechanism=_Fits(spend),
            pairs=((more, _CROWD),),
            claim=spend,
            kind=SyntheticTable,
            samples=12_000,
            note="a row more is one more in a cell of each marginal; a fit takes milliseconds, so outputs are few",
        ),
    )
