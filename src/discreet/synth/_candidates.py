"""The marginals that a fit may measure: a public list with public weights."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.marginals import Clique, cells

__all__ = ["WEIGHT", "Candidates", "Wanted", "candidates"]

WEIGHT = 16
"""The weight of a pair; weights are whole numbers, so that scores are."""
_TRIPLE, _OF_TARGET = 8, 1
_MOST_CELLS = 20_000
_MOST_ALL = 2**24
_MOST_LISTED = 20_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller cares about: the position of a target column, and marginals by the positions of their columns.

    A marginal of the workload counts so many times as much as others. The pairs `first` are measured before anything is
    chosen.
    """

    target: int | None = None
    workload: tuple[tuple[Clique, int], ...] = ()
    first: tuple[Clique, ...] = ()

    def moved(self, places: Mapping[int, int]) -> Wanted:
        """The same for columns at other places; what has no place any more is left out."""
        sets = tuple((tuple(sorted(places[i] for i in each if i in places)), w) for each, w in self.workload)
        target = None if self.target is None else places.get(self.target)
        pairs = tuple(tuple(sorted(places[i] for i in each)) for each in self.first if all(i in places for i in each))
        return Wanted(target, tuple((each, weight) for each, weight in sets if each), pairs)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Marginals of two columns or more, and the weight of each in a choice."""

    weights: Mapping[Clique, int]

    @property
    def largest_weight(self) -> int:
        """How much the choice weighs a row at most: what one row moves a score by."""
        return max(self.weights.values(), default=WEIGHT)


def candidates(sizes: Sequence[int], wanted: Wanted, most: int) -> Candidates:
    """Of columns with so many cells: all pairs, triples and larger sets with the target, and those that are named.

    Only sets of at most `most` columns count, and of at most 20,000 cells; if there are too many in all, the largest
    number of columns that leaves few enough is taken. Named marginals stay.

    >>> sorted(candidates([2, 2, 2, 2], Wanted(target=3), most=3).weights)
    [(0, 1), (0, 1, 3), (0, 2), (0, 2, 3), (0, 3), (1, 2), (1, 2, 3), (1, 3), (2, 3)]
    """
    named = dict(wanted.workload)
    for degree in range(most, 0, -1):
        listed = dict(_listed(sizes, wanted.target, degree))
        for each, weight in named.items():
            if len(each) > 1:
                listed[each] = max(listed.get(each, 0), WEIGHT * weight)
            for pair in itertools.combinations(each, 2):
                listed[pair] = max(listed.get(pair, 0), WEIGHT * max(weight // 2, 1))
        listed = {clique: weight for clique, weight in listed.items() if cells(sizes, clique) <= _MOST_CELLS}
        if len(listed) <= _MOST_LISTED and sum(cells(sizes, clique) for clique in listed) <= _MOST_ALL:
            return Candidates(listed)
    return Candidates({})


def _listed(sizes: Sequence[int], target: int | None, degree: int) -> list[tuple[Clique, int]]:
    columns = range(len(sizes))
    listed = [(pair, WEIGHT) for pair in itertools.combinations(columns, 2)] if degree >= 2 else []
    if target is None:
        return listed
    others = [column for column in columns if column != target]
    for count in range(2, degree):
        listed += [
            (tuple(sorted((*each, target))), _TRIPLE * _OF_TARGET) for each in itertools.combinations(others, count)
        ]
    return listed
