"""What an engine is asked to count for a fit: the marginals of the rows of a bounded aggregate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from discreet.errors import ParameterError, QueryError
from discreet.query.measures._bounded import BoundedAggregate

__all__ = ["Marginals"]

_MOST_CELLS = 2**28
"""2 GiB of 64-bit counts."""


@dataclass(frozen=True, slots=True)
class Marginals:
    """Counts of the rows of a bounded aggregate by each of several sets of its keys.

    The rows that count are those of `bounded`, which has public keys and nothing to sum: all marginals are of the same
    rows. The cell of a row for a key is the place of its value among the key's values, or the one that the place is
    merged into. One unit's rows count `bounded.max_rows` times at most in each marginal: see ``proofs/bounding.md``.

    Attributes
    ----------
    bounded
        Which rows count. Its keys are public, and it has no measures, no histograms, no cap on groups and no units.
    sets
        The positions of the keys of each marginal, rising; ``()`` is the number of rows.
    merged
        For each key None, or for the place of each of its values the cell that it is merged into, from 0.

    Raises `ParameterError` for what is no such request, `QueryError` for more than 2**28 cells in all.
    """

    bounded: BoundedAggregate
    sets: tuple[tuple[int, ...], ...]
    merged: tuple[tuple[int, ...] | None, ...] = ()

    def __post_init__(self) -> None:
        bounded = self.bounded
        if not self.merged:
            object.__setattr__(self, "merged", (None,) * len(bounded.keys))
        if bounded.measures or bounded.histograms or bounded.count_units or bounded.max_groups is not None:
            raise ParameterError(
                "bounded must have no measures, histograms, units or cap on groups: marginals are counts of its rows"
            )
        private = [key.name for key in bounded.keys if key.values is None]
        if private:
            raise ParameterError(f"the keys {', '.join(private)} are private; marginals are by public keys alone")
        self._check_merged()
        for places in self.sets:
            rising = all(a < b for a, b in pairwise(places))
            if not rising or any(not 0 <= place < len(bounded.keys) for place in places):
                raise ParameterError(
                    f"sets must hold positions of the {len(bounded.keys)} keys, rising within a set, got {places}"
                )
        cells = sum(math.prod(self.shape(places)) for places in self.sets)
        if cells > _MOST_CELLS:
            raise QueryError(
                f"the marginals have {cells:,} cells in all, and an engine counts at most {_MOST_CELLS:,} at once; "
                "ask for fewer of them, of fewer columns each, or merge values into fewer cells"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each key."""
        return tuple(
            len(key.values or ()) if cells is None else max(cells, default=-1) + 1
            for key, cells in zip(self.bounded.keys, self.merged, strict=True)
        )

    def shape(self, places: Sequence[int]) -> tuple[int, ...]:
        """The shape of the marginal by the keys at these positions."""
        sizes = self.sizes
        return tuple(sizes[place] for place in places)

    def _check_merged(self) -> None:
        keys = self.bounded.keys
        if len(self.merged) != len(keys):
            raise ParameterError(f"merged must have an entry for each of the {len(keys)} keys, got {len(self.merged)}")
        for key, cells in zip(keys, self.merged, strict=True):
            values = len(key.values or ())
            if cells is not None and (len(cells) != values or any(cell < 0 for cell in cells)):
                raise ParameterError(f"merged must have a cell from 0 for each of the {values} values of {key.name}")
