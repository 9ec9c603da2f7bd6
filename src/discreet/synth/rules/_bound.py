"""Rules bound to the cells of a table: which cells have no rows, which fewer, and which a known number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, QueryError, printable
from discreet.marginals import (
    FORBIDDEN,
    Clique,
    ColumnCells,
    KnownShare,
    Merge,
    Numbers,
    neighbours_of,
    rake,
    summed_potentials,
    triangulated,
)
from discreet.synth.rules._cells import Tried, places_tried, tried
from discreet.synth.rules._rules import Rules

__all__ = ["BoundRules"]

_MOST_CELLS = 2**22
_OFF = 1e-6
_NARROW = 30.0
_SHOWN = 60


@dataclass(frozen=True, eq=False)
class BoundRules:
    """The rules of a table with the cells of its columns."""

    rules: Rules
    columns: tuple[ColumnCells, ...]
    known: Mapping[tuple[str, bool], Tried] = field(default_factory=dict[tuple[str, bool], Tried])
    """Conditions that were tried already, with what an unknown one counts as."""

    @cached_property
    def named(self) -> BoundRules:
        """The same rules with those columns alone that they are on, or that others follow from."""
        follows = (follower.sources(self.columns) for follower in self.rules.followers)
        places = {
            column: place for place, column in enumerate(sorted({i for e in (*self.cliques, *follows) for i in e}))
        }
        every = [(each, True) for each in (*self.hard, *(each for each, _ in self.soft))]
        every += [(each, False) for each, _ in self.totals]
        known = {
            (each.condition, null): replace(each, columns=tuple(places[i] for i in each.columns))
            for each, null in every
        }
        return BoundRules(self.rules, tuple(self.columns[i] for i in places), known)

    @property
    def rows(self) -> int | None:
        """How many rows there are, if that is public."""
        return self.rules.rows

    @cached_property
    def hard(self) -> tuple[Tried, ...]:
        """The conditions that every row keeps."""
        return tuple(self._tried(text, null=True) for text in self.rules.hard)

    @cached_property
    def soft(self) -> tuple[tuple[Tried, float], ...]:
        """The conditions that rows may break, with their weights."""
        return tuple((self._tried(each.condition, null=True), float(each.weight)) for each in self.rules.soft)

    @cached_property
    def totals(self) -> tuple[tuple[Tried, int], ...]:
        """The conditions that a known number of rows holds."""
        some = [each for each in self.rules.totals if each.where is not None]
        return tuple((self._tried(each.where or "", null=False), each.rows) for each in some)

    def _tried(self, text: str, *, null: bool) -> Tried:
        known = self.known.get((text, null))
        return tried(text, self.columns, self.rules.followers, null=null) if known is None else known

    def check(self) -> None:
        """Raise `QueryError` or `ParameterError` for rules that nothing satisfies, or that cells cannot hold."""
        for each in (*self.hard, *(soft for soft, _ in self.soft)):
            if not each.ever:
                raise ParameterError(f"nothing satisfies the rule {_short(each)!r}: no value that its columns can have")
        for each, _ in self.totals:
            if ((each.share > 0) & (each.share < 1)).any():
                raise QueryError(
                    f"the total of {_short(each)!r} is of parts of cells: choose cells that end where it does, "
                    "with cells="
                )
        sizes = [column.size for column in self.columns]
        try:
            triangulated(sizes, neighbours_of(len(sizes), self.cliques), most=_MOST_CELLS)
        except ValueError:
            raise QueryError(
                "the rules tie columns together with more combinations of cells than a fit can hold: choose fewer "
                "cells, or rules on fewer columns"
            ) from None
        apart = [Merge(tuple(range(size)), (1.0,) * size) for size in sizes]
        _, off = rake(sizes, self.fixed(apart), self._known(apart))
        if off > _OFF:
            raise ParameterError(
                "nothing satisfies all totals together, with the other rules: one of them is too much, or leaves no "
                "rows where they could be"
            )

    @cached_property
    def places_tried(self) -> dict[int, tuple[NDArray[np.int64], Numbers]]:
        """For each column that a hard rule is on, the cells and the places in them at which it was tried."""
        on = {i: [each.condition for each in self.hard if i in each.columns] for i in range(len(self.columns))}
        return {i: places_tried(self.columns[i], texts) for i, texts in on.items() if texts}

    @property
    def cliques(self) -> list[Clique]:
        """The columns that each rule ties together."""
        every = [*self.hard, *(each for each, _ in self.soft), *(each for each, _ in self.totals)]
        return list(dict.fromkeys(each.columns for each in every))

    def apart(self, column: int) -> NDArray[np.int64] | None:
        """A number for each cell of a column; those of different numbers hold rows of different totals."""
        size, rows = self.columns[column].size, list[NDArray[np.float64]]()
        for each, _ in self.totals:
            if column in each.columns:
                shape = [self.columns[i].size for i in each.columns]
                rows.append(np.moveaxis(each.share.reshape(shape), each.columns.index(column), 0).reshape(size, -1))
        if not rows:
            return None
        return np.unique(np.concatenate(rows, axis=1), axis=0, return_inverse=True)[1].astype(np.int64).ravel()

    def fixed(self, merges: Sequence[Merge]) -> dict[Clique, Numbers]:
        """The potentials of merged cells that have no rows, by the hard rules."""
        return summed_potentials(
            *({each.columns: np.where(each.merged(merges, any_point=True) > 0, 0.0, FORBIDDEN)} for each in self.hard)
        )

    def finished(self, potentials: Mapping[Clique, Numbers], merges: Sequence[Merge]) -> dict[Clique, Numbers]:
        """The potentials of a fit with those of all rules: hard ones, then soft ones, then totals.

        Where it has next to no rows that a total needs, it is drawn towards the uniform distribution, which can have
        all totals: that was checked.
        """
        soft = [{each.columns: _rarer(each.merged(merges, any_point=False), weight)} for each, weight in self.soft]
        drawn, fixed, known = summed_potentials(potentials, *soft), self.fixed(merges), self._known(merges)
        widest = max((float(np.ptp(values)) for values in drawn.values()), default=0.0)
        raked: dict[Clique, Numbers] = {}
        for share in (1.0, _NARROW / max(widest, _NARROW), 0.0):
            scaled = {clique: share * values for clique, values in drawn.items()}
            raked, off = rake([merge.size for merge in merges], summed_potentials(scaled, fixed), known)
            if off <= _OFF:
                break
        return raked

    def _known(self, merges: Sequence[Merge]) -> list[KnownShare]:
        rows = self.rules.rows or 1
        return [
            KnownShare(each.columns, each.merged(merges, any_point=True) > 0, count / rows)
            for each, count in self.totals
        ]


def _rarer(held: Numbers, weight: float) -> Numbers:
    """The logarithm of s + (1 − s) e⁻ʷ, finite for s = 0 and any weight."""
    share = np.clip(held, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(share), np.log1p(-share) - weight)


def _short(each: Tried) -> str:
    return printable(each.condition[:_SHOWN])
