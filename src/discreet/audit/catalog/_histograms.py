"""A histogram measured for ranges, seen whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.audit.catalog._entry import Entry, counting_context
from discreet.census.histograms import CountCells, Histogram, PreparedHistogram
from discreet.policy import load_policy
from discreet.privacy import Loss, pure
from discreet.release import Terms

__all__ = ["histogram_entries"]

_CELLS = 16
_COLUMN = {"type": "int", "bounds": [1, _CELLS], "nullable": False}
_POLICY = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": _COLUMN}}}}

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Histograms:
    """Histograms of a table that is given by its counts: all that was measured, in order."""

    spend: Loss

    @cached_property
    def _prepared(self) -> PreparedHistogram:
        return CountCells("x", self.spend, _CELLS).prepare(Terms.of_policy(load_policy(_POLICY)))

    def draw(self, data: Counts, size: int) -> list[list[int]]:
        """`size` independent histograms."""
        context = counting_context(self._prepared.policy, lambda _: (data,))
        released = [self._prepared.answer(context) for _ in range(size)]
        return [[count for part in each.measured for count in part.counts] for each in released]


def histogram_entries() -> tuple[Entry, ...]:
    """A histogram of 16 cells at ε = 1, of which everything is seen.

    >>> [entry.name for entry in histogram_entries()]
    ['Histogram for ranges']
    """
    spend = pure(1)
    crowd = np.full(_CELLS, 50)
    more = crowd.copy()
    more[0] += 1
    return (
        Entry(
            name="Histogram for ranges",
            group="statistical tables",
            shown="Histogram by discreet.census.histogram(session, 'x', spend=dp.pure(1), workload='ranges')",
            mechanism=_Histograms(spend),
            pairs=((more, crowd),),
            claim=spend,
            kind=Histogram,
            samples=12_000,
            note="a row more is one more in a block of each width; integers and ranges follow from what was measured",
        ),
    )
