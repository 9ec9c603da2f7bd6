"""Histograms measured for ranges, seen whole by somebody who knows all rows and wonders about one."""

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

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class _Histograms:
    """Histograms of a table that is given by its counts: a score of all that was measured, and the integers, in order.

    The score is the loss of privacy: how much likelier what was measured is of one table than of the other.
    """

    spend: Loss
    tables: tuple[Counts, Counts]
    data_aware: bool = False

    @cached_property
    def _prepared(self) -> PreparedHistogram:
        cells = len(self.tables[0])
        column = {"type": "int", "bounds": [1, cells], "nullable": False}
        policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": column}}}})
        asked = CountCells("x", self.spend, cells, data_aware=self.data_aware)
        return asked.prepare(Terms.of_policy(policy))

    def draw(self, data: Counts, size: int) -> list[list[float]]:
        """`size` independent histograms."""
        context = counting_context(self._prepared.policy, lambda _: (data,))
        return [self._scored(self._prepared.answer(context)) for _ in range(size)]

    def _scored(self, release: Histogram) -> list[float]:
        score, seen = 0.0, list[float]()
        for part in release.measured:
            one, other = (_exact(release, part.part, table) for table in self.tables)
            apart = np.abs(part.numbers - other).sum() - np.abs(part.numbers - one).sum()
            score += float(apart) * 2**0.5 / part.mechanism.std
            seen += part.counts
        return [round(score, 6), *seen]


def _exact(release: Histogram, part: str, counts: Counts) -> Counts:
    """What a part is the noisy sums of."""
    partition = release.partition
    if "blocks of " in part:
        width = int(part.rpartition(" ")[2])
        return np.add.reduceat(counts, np.arange(0, len(counts), width))
    assert partition is not None
    split = np.array(partition.split)
    segments = partition.segment_sums(counts)
    if part == "split cells":
        return np.asarray(partition.bucket_sums(counts)[split[partition.segments]])
    return np.asarray(segments[split] if part == "split units" else segments[~split])


def histogram_entries() -> tuple[Entry, ...]:
    """Histograms of 16 cells, and of 64 that are aware of the data, at ε = 1, of which everything is seen.

    >>> [entry.name for entry in histogram_entries()]
    ['Histogram for ranges', 'Histogram by a private partition']
    """
    spend = pure(1)
    crowd, sparse = np.full(16, 50), np.zeros(64, np.int64)
    more, fuller = crowd.copy(), sparse.copy()
    more[0] += 1
    fuller[9] += 1
    return (
        Entry(
            name="Histogram for ranges",
            group="statistical tables",
            shown="Histogram by discreet.census.histogram(session, 'x', spend=dp.pure(1), workload='ranges')",
            mechanism=_Histograms(spend, (more, crowd)),
            pairs=((more, crowd),),
            claim=spend,
            kind=Histogram,
            samples=12_000,
            note="a row more is one more in a block of each width; integers and ranges follow from what was measured",
        ),
        Entry(
            name="Histogram by a private partition",
            group="statistical tables",
            shown="Histogram by discreet.census.histogram(session, 'x', spend=dp.pure(1), data_aware=True)",
            mechanism=_Histograms(spend, (fuller, sparse), data_aware=True),
            pairs=((fuller, sparse),),
            claim=spend,
            kind=Histogram,
            samples=6_000,
            note="a row more is one more in the first blocks, in each level, and in a segment; a release takes "
            "milliseconds, so outputs are few",
        ),
    )
