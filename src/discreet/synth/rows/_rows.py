"""Rows of a synthetic table: cells from its distribution, values from the cells, and the rules that every row keeps.

A row that breaks a hard rule is drawn again: first within its merged cells, so that the marginals stay what they are,
then anew. So every row keeps the hard rules, whatever the private rows do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.marginals import ColumnCells, Merge, Model, PublicStream, model_of, places_of, sample_cells
from discreet.marginals.conditions import rows_that_keep
from discreet.synth.rules import BoundRules, Rules

__all__ = ["Given", "RowSource", "public_rows"]

_WITHIN, _ANEW = 16, 64
"""How often broken rows are drawn again within their merged cells, and anew."""
_FEWEST = 256
_TRIED = 4_096
Cells = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Given:
    """A value that a column has in every row, and its public cell."""

    cell: int
    value: object


@dataclass(frozen=True, eq=False)
class RowSource:
    """What rows are drawn from; all of it is public."""

    columns: tuple[ColumnCells, ...]
    merges: tuple[Merge, ...]
    model: Model
    rules: BoundRules
    given: Mapping[int, Given]

    def rows(self, count: int, stream: PublicStream) -> pa.Table:
        """So many rows, each of which keeps the hard rules.

        Raises `ParameterError` if there are no such rows with what is given.
        """
        table, merged = self._drawn(count, stream)
        broken = self._broken(table)
        if not broken.size:
            return table
        mended = _Mended(table, broken)
        for turn in range(2 * _WITHIN):
            again = self._within([cells[mended.broken] for cells in merged], stream, tried=turn >= _WITHIN)
            mended.replace(np.setdiff1d(np.arange(again.num_rows), self._broken(again)), again)
            if not mended.broken.size:
                return mended.table
        for _ in range(_ANEW):
            fresh, _ = self._drawn(max(mended.broken.size, _FEWEST), stream)
            mended.fill(np.setdiff1d(np.arange(fresh.num_rows), self._broken(fresh)), fresh)
            if not mended.broken.size:
                return mended.table
        if mended.broken.size < count:
            return mended.repeated()
        if self.given:
            names = ", ".join(f"{self.columns[i].name} = {self.columns[i].text(g.cell)}" for i, g in self.given.items())
            raise ParameterError(f"no row with {names} keeps the rules of this table; give fewer or other values")
        return public_rows(self.rules, count)

    def keeping(self, count: int, stream: PublicStream) -> pa.Table:
        """Those of so many rows that keep the hard rules; where none does, of rows at the places that were tried."""
        rows, merged = self._drawn(count, stream)
        keep = rows_that_keep(self.rules.rules.hard, rows)
        if not keep.any():
            rows = self._within(merged, stream, tried=True)
            keep = rows_that_keep(self.rules.rules.hard, rows)
        return rows.filter(pa.array(keep))

    def _broken(self, rows: pa.Table) -> Cells:
        return np.flatnonzero(~rows_that_keep(self.rules.rules.hard, rows))

    def _drawn(self, count: int, stream: PublicStream) -> tuple[pa.Table, list[Cells]]:
        """Rows of the model, balanced, in a random order, and the merged cell of each in every column."""
        merged, order = sample_cells(self.model, count, stream)
        shuffled = stream.order(count)
        drawn = [self._cells(i, cells, order, shuffled, stream) for i, cells in enumerate(merged)]
        origin = np.empty(count, np.int64)
        origin[shuffled] = np.arange(count)
        return self._table(drawn), [cells[origin] for cells in merged] if self.rules.rules.hard else []

    def _cells(
        self, i: int, merged: Cells, order: Cells, shuffled: Cells, stream: PublicStream
    ) -> tuple[Cells, NDArray[np.float64]]:
        """Of each row the public cell of a column, and a place in it, balanced along an order of the rows.

        `shuffled` says for each row where it goes.
        """
        merge = self.merges[i]
        along = order[np.argsort(merged[order], kind="stable")]
        held = merged[along]
        numbers = np.bincount(held, minlength=merge.size)
        ranks = np.arange(held.size) - (np.cumsum(numbers) - numbers)[held]
        places = places_of(ranks, i, stream.uniform(merge.size)[held])
        cells, within = merge.spread(held, places)
        public, within_cell = np.empty(held.size, np.int64), np.empty(held.size)
        goes = shuffled[along]
        public[goes], within_cell[goes] = cells, within
        return public, within_cell

    def _within(self, merged: Sequence[Cells], stream: PublicStream, *, tried: bool) -> pa.Table:
        """Other rows in the same merged cells, at any places or at those where the hard rules were tried."""
        drawn = [
            merge.spread(cells, stream.uniform(cells.size)) for merge, cells in zip(self.merges, merged, strict=True)
        ]
        for i, (at, places) in (self.rules.places_tried if tried else {}).items():
            cells = drawn[i][0]
            first, end = (np.searchsorted(at, cells, side=side) for side in ("left", "right"))
            drawn[i] = cells, places[first + (stream.uniform(cells.size) * (end - first)).astype(np.int64)]
        return self._table(drawn)

    def _table(self, drawn: Sequence[tuple[Cells, NDArray[np.float64]]]) -> pa.Table:
        arrays: list[pa.Array[Any]] = []
        public: dict[int, Cells] = {}
        for i, (column, (cells, places)) in enumerate(zip(self.columns, drawn, strict=True)):
            given = self.given.get(i)
            public[i] = cells if given is None else np.full(cells.size, given.cell)
            values = column.values(public[i], places)
            if given is not None and column.keys is None and given.cell != column.valued:
                values = pa.array([given.value] * cells.size, values.type)
            arrays.append(values)
        names = [column.name for column in self.columns]
        for each in sorted(self.rules.rules.followers, key=lambda follower: follower.place):
            arrays.insert(each.place, each.at(self.columns, public))
            names.insert(each.place, each.name)
        return pa.Table.from_arrays(arrays, names=names)


class _Mended:
    """Rows of which some are broken and replaced one by one."""

    def __init__(self, table: pa.Table, broken: Cells) -> None:
        self._tables, self._rows, self.broken = [table], np.arange(table.num_rows), broken

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables(self._tables).take(pa.array(self._rows, pa.int64())).combine_chunks()

    def replace(self, good: Cells, by: pa.Table) -> None:
        """Replace those broken rows whose place among them is in `good`, each by the row there."""
        self._put(self.broken[good], good, by)

    def fill(self, good: Cells, by: pa.Table) -> None:
        """Replace as many broken rows as there are good ones."""
        good = good[: self.broken.size]
        self._put(self.broken[: good.size], good, by)

    def _put(self, places: Cells, rows: Cells, by: pa.Table) -> None:
        self._rows[places] = sum(each.num_rows for each in self._tables) + np.arange(rows.size)
        self._tables.append(by.take(pa.array(rows, pa.int64())))
        self.broken = np.setdiff1d(self.broken, places)

    def repeated(self) -> pa.Table:
        """The rows with copies of others in the place of those that are broken still."""
        keeping = np.setdiff1d(np.arange(self._rows.size), self.broken)
        self._rows[self.broken] = self._rows[keeping[np.arange(self.broken.size) % keeping.size]]
        return self.table


def public_rows(rules: BoundRules, count: int = 1) -> pa.Table:
    """Rows of which only the rules are known. Raises `ParameterError` if none keeps them.

    Their cells are uniform where the rules leave them. The columns that rules are on have the same rows each time,
    whatever others there are: so there are some after a charge if there were before it.
    """
    named, stream = rules.named, PublicStream(b"rows of which only the rules are known")
    keeping = _uniform(named).keeping(_TRIED, stream)
    if not keeping.num_rows:
        raise ParameterError(f"nothing satisfies all rules together: none of {_TRIED:,} rows that were tried does")
    rows = keeping.take(pa.array(np.arange(count) % keeping.num_rows, pa.int64()))
    others = tuple(column for column in rules.columns if column not in named.columns)
    beside = _uniform(BoundRules(Rules(), others)).rows(count, stream) if others else rows
    order = [column.name for column in rules.columns]
    for each in sorted(rules.rules.followers, key=lambda follower: follower.place):
        order.insert(each.place, each.name)
    both = dict(zip((*beside.column_names, *rows.column_names), (*beside.columns, *rows.columns), strict=True))
    return pa.table([both[name] for name in order], names=order)


def _uniform(rules: BoundRules) -> RowSource:
    """Rows of all cells that rules leave."""
    merges = tuple(Merge(tuple(range(column.size)), (1.0,) * column.size) for column in rules.columns)
    model = model_of([column.size for column in rules.columns], rules.finished({}, merges), 1.0)
    return RowSource(rules.columns, merges, model, rules, {})
