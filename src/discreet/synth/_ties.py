"""Which columns a fit ties together, by marginals and rules, so that the tree of its distribution stays small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.marginals import Clique, cells, neighbours_of, triangulated

__all__ = ["Ties"]

_BESIDE = 2**20


class Ties:
    """Columns that are tied together, and which others may be: rules tie some whatever is measured.

    Without rules a network ties few, and all may be. With them the tree has a million cells at most beside those that
    rules alone make of it. All of it follows from the noisy sizes of merged cells and what was measured.

    >>> ties = Ties([100, 100, 100, 100], [(0, 1), (1, 2), (2, 3)])
    >>> ties.leave((0, 2)), ties.leave((0, 3))
    (True, False)
    """

    def __init__(self, sizes: Sequence[int], ruled: Iterable[Clique], measured: Iterable[Clique] = ()) -> None:
        self._sizes, ruled = sizes, list(ruled)
        self._graph = neighbours_of(len(sizes), ruled)
        self._most = self._cells() + _BESIDE if ruled else None
        self._graph = neighbours_of(len(sizes), measured, self._graph)
        self._held = self._cells()

    def _cells(self) -> int:
        return sum(cells(self._sizes, clique) for clique in triangulated(self._sizes, self._graph))

    def leave(self, pair: Clique) -> bool:
        """Whether the tree stays small with a pair that is tied too."""
        wider = neighbours_of(len(self._sizes), [pair], self._graph)
        if self._most is None or wider == self._graph:
            return True
        if self._held * (1 + min(self._sizes[column] for column in pair)) <= self._most:
            return True  # one of its columns in each clique would do
        try:
            triangulated(self._sizes, wider, most=self._most)
        except ValueError:
            return False
        return True

    def tie(self, pair: Clique) -> None:
        """Tie the columns of a pair."""
        self._graph = neighbours_of(len(self._sizes), [pair], self._graph)
        if self._most is not None:
            self._held = self._cells()

    def tied(self, pairs: Iterable[Clique]) -> list[Clique]:
        """Those of some pairs that the tree has room for, one after the other; they are tied."""
        chosen: list[Clique] = []
        for pair in pairs:
            if self.leave(pair):
                self.tie(pair)
                chosen.append(pair)
        return chosen
