"""Answer a request in shards of the units, if the engine cannot answer it at once.

An engine's memory and disk are limited. What a request needs grows with the units that it reads, and the plan bounds
what one unit can need. So a request that fails is split into eight shards, a shard that fails into eight again, until
each fits. Whether a request succeeds then depends neither on the number of units nor on the presence of one more. A
hash of a row's owner picks its shard, so that all rows of a unit are in one. Sums of integers add up over shards. See
proofs/relations.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.engines._marginals import Counts
from discreet.query import BoundedAggregate, Cells, Distinct, Group, Marginals
from discreet.release import check_cancelled

__all__ = ["ALL", "Shard", "added", "counts_in_shards", "in_shards"]

_WAYS = 8
_DEEPEST = _WAYS**4
"""The most shards: what still fails then would fail for one unit as well."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Shard:
    """The units whose hash is `index` modulo `count`."""

    index: int
    count: int

    def split(self) -> list[Shard]:
        """The shards that make up this one.

        >>> Shard(1, 8).split()[:2]
        [Shard(index=1, count=64), Shard(index=9, count=64)]
        """
        return [Shard(self.index + i * self.count, self.count * _WAYS) for i in range(_WAYS)]


ALL = Shard(0, 1)


def in_shards(
    request: BoundedAggregate,
    groups: Callable[[Shard], list[Group] | None],
    values: Callable[[Shard, int], Sequence[Row] | None],
) -> list[Group] | None:
    """The groups of a request, at once or in shards; None if the engine cannot answer even small ones.

    `groups` asks about a shard, and returns None if the engine fails. `values` asks for the keys and the value of every
    distinct value of the measure at a position, which alone do not add up.
    """
    at_once = groups(ALL)
    if at_once is not None:
        return at_once
    total = _Total(request)

    def add(shard: Shard) -> bool:
        answered = groups(shard)
        distinct = None if answered is None else [values(shard, place) for place in total.distinct]
        if answered is None or distinct is None or None in distinct:
            return False
        total.add(answered, [rows for rows in distinct if rows is not None])
        return True

    return total.groups() if added(ALL, add) else None


def counts_in_shards(request: Marginals, counts: Callable[[Shard], Counts | None]) -> Counts | None:
    """The marginals of a request, at once or in shards; None if the engine cannot count even small ones."""
    total = tuple(np.zeros(request.shape(each), np.int64) for each in request.sets)
    if 0 in request.sizes:  # no row has a key among none
        return total
    at_once = counts(ALL)
    if at_once is not None:
        return at_once

    def add(shard: Shard) -> bool:
        counted = counts(shard)
        if counted is None:
            return False
        for so_far, some in zip(total, counted, strict=True):
            np.add(so_far, some, out=so_far)
        return True

    return total if added(ALL, add) else None


def added(shard: Shard, add: Callable[[Shard], bool]) -> bool:
    """Whether what a shard holds could be added, an eighth at a time."""
    if shard.count >= _DEEPEST:
        return False
    for each in shard.split():
        check_cancelled()
        if not add(each) and not added(each, add):
            return False
    return True


@dataclass(slots=True)
class _Sums:
    """One group so far."""

    units: int
    sums: list[int]
    cells: list[Cells]


@dataclass(slots=True)
class _Total:
    """Groups added up over shards, and the distinct values of each measure that counts them."""

    request: BoundedAggregate
    distinct: list[int] = field(init=False)
    _groups: dict[Row, _Sums] = field(default_factory=dict[Row, _Sums])
    _values: list[set[Row]] = field(init=False)

    def __post_init__(self) -> None:
        self.distinct = [i for i, measure in enumerate(self.request.measures) if isinstance(measure, Distinct)]
        self._values = [set() for _ in self.distinct]

    def add(self, groups: Sequence[Group], values: Sequence[Sequence[Row]]) -> None:
        """Add the answer about one shard."""
        for group in groups:
            so_far = self._groups.setdefault(group.key, _Sums(0, [0] * len(group.sums), []))
            so_far.units += group.units
            so_far.sums = [a + b for a, b in zip(so_far.sums, group.sums, strict=True)]
            cells = so_far.cells or [_NO_CELLS] * len(group.cells)
            so_far.cells = [_together(a, b) for a, b in zip(cells, group.cells, strict=True)]
        for known, rows in zip(self._values, values, strict=True):
            known.update(rows)

    def groups(self) -> list[Group]:
        """The groups of all shards together."""
        counts = [dict[Row, int]() for _ in self.distinct]
        for known, count in zip(self._values, counts, strict=True):
            for *key, _ in known:
                count[tuple(key)] = count.get(tuple(key), 0) + 1
        for place, count in zip(self.distinct, counts, strict=True):
            for key, so_far in self._groups.items():
                so_far.sums[place] = count.get(key, 0)
        return [Group(key, each.units, tuple(each.sums), tuple(each.cells)) for key, each in self._groups.items()]


_NO_CELLS: Cells = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def _together(one: Cells, other: Cells) -> Cells:
    cells, which = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts = np.zeros(cells.size, np.int64)
    np.add.at(counts, which, np.concatenate([one[1], other[1]]))
    return cells, counts
