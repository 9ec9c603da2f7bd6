"""A publication of tables on two levels, seen whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.audit.catalog._entry import Entry, counting_context
from discreet.census import Geography, PreparedPublication, Publication, Publish, Spec
from discreet.policy import load_policy
from discreet.privacy import Loss, pure
from discreet.query import Marginals
from discreet.release import Terms

__all__ = ["census_entries"]

_POLICY = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"block": {"type": "string"}}}}}
_BLOCKS = ["a", "b"]

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Publications:
    """Publications of the total at two levels, of a table that is given by its counts: all that was measured."""

    spend: Loss

    @cached_property
    def _prepared(self) -> PreparedPublication:
        land = Geography.of_areas({"block": _BLOCKS}, ["block"])
        question = Publish(Spec("t", land, {"total": ()}), self.spend)
        return question.prepare(Terms.of_policy(load_policy(_POLICY)))

    def draw(self, data: Counts, size: int) -> list[list[int]]:
        """`size` independent publications."""

        def counted(request: Marginals) -> tuple[Counts, ...]:
            return tuple(data for _ in request.sets)

        context = counting_context(self._prepared.policy, counted)
        prepared, counts = self._prepared, self._prepared.counted(context)
        return [
            [int(e) for noisy in prepared.measured(counts, prepared.payments(context)).values() for e in noisy.ravel()]
            for _ in range(size)
        ]


def census_entries() -> tuple[Entry, ...]:
    """The total of two areas and of both together at ε = 1, of which everything is seen.

    >>> [entry.name for entry in census_entries()]
    ['Publication of two levels']
    """
    spend = pure(1)
    crowd = np.array([400, 400])
    return (
        Entry(
            name="Publication of two levels",
            group="statistical tables",
            shown="Publication by discreet.census.publish(session, spec, spend=dp.pure(1))",
            mechanism=_Publications(spend),
            pairs=((crowd + np.array([1, 0]), crowd),),
            claim=spend,
            kind=Publication,
            samples=12_000,
            note="a row more is one more in its area at each level; integers and totals follow from what was measured",
        ),
    )
