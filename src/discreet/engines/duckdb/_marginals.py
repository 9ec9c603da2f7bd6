"""Marginals of the rows that count, in one pass: DuckDB reads them as small numbers, which are counted as arrays.

For rows of people the caps come first: over packed rows where these fit, as sums have them, else by the plan in SQL.
Both keep the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.engines._marginals import Counts, MarginalCounts
from discreet.engines.duckdb._caps import Caps, Words, capped
from discreet.engines.duckdb._dialect import DIALECT
from discreet.engines.duckdb._layout import Field, Layout
from discreet.engines.duckdb._packed import find_people
from discreet.engines.duckdb._places import Places, places_of
from discreet.engines.duckdb._ranges import parts, slices
from discreet.engines.sql import counted_rows_sql, salts, uncapped
from discreet.query import Marginals
from discreet.release import check_cancelled

__all__ = ["count_marginals"]

_BATCH = 2**16
_FEW = 2**16
"""Up to this many rows the plan in SQL is as fast."""


def count_marginals(
    connection: duckdb.DuckDBPyConnection, request: Marginals, source: str, salt: bytes, *, packs: bool
) -> Counts:
    """The marginals of the rows of a source; `packs` says that it may be read several times."""
    enums = uncapped(DIALECT, request.bounded, "").enums
    places = places_of(request, enums)
    if packs and request.bounded.unit is not None:
        counts = _packed(connection, request, source, salt, places)
        if counts is not None:
            return counts
    chain, rows = counted_rows_sql(DIALECT, request.bounded, source, salt)
    items = [f"CAST({each.field.packed} AS {each.kind}) AS p{i}" for i, each in enumerate(places)]
    counts = _Counter(request, places)
    reader = connection.sql(f"{chain}SELECT {', '.join(items) or '1 AS one'} FROM {rows}").to_arrow_reader(_BATCH)
    for batch in reader:
        counts.add([column.to_numpy() for column in batch.columns[: len(places)]], batch.num_rows)
    return counts.counts()


class _Counter:
    """Counts rows by the places of their keys."""

    def __init__(self, request: Marginals, places: Sequence[Places]) -> None:
        self._places = places
        self._sizes = request.sizes
        self._counts = MarginalCounts(request.sets, request.sizes)

    def add(self, columns: Sequence[NDArray[Any]], rows: int) -> None:
        """Count rows, but for those of no public key, which a row that counts does not have."""
        check_cancelled()
        cells = [places.cells_at(column) for places, column in zip(self._places, columns, strict=True)]
        public = np.ones(rows, np.bool_)
        for some, size in zip(cells, self._sizes, strict=True):
            public &= (some >= 0) & (some < size)
        if not public.all():
            cells, rows = [some[public] for some in cells], int(public.sum())
        self._counts.add(cells, rows)

    def counts(self) -> Counts:
        return self._counts.counts()


def _packed(
    connection: duckdb.DuckDBPyConnection, request: Marginals, source: str, salt: bytes, places: Sequence[Places]
) -> Counts | None:
    """The marginals over packed rows; None if rows are few or do not fit.

    The keys are content here and no groups, so that they may fill several words.
    """
    rows = uncapped(DIALECT, request.bounded, source)
    ((count,),) = connection.execute(f"{rows.chain}SELECT count(*) FROM source").fetchall()
    if not count or count <= _FEW:
        return None
    fields = tuple(each.field for each in places)
    if not Layout(Field("u", 0, 0), (), fields).fits:
        return None
    ((kind,),) = connection.execute(f"{rows.chain}SELECT typeof(u) FROM source LIMIT 1").fetchall()
    people = find_people(connection, rows, kind, Layout(Field("u", 0, 0), (), fields))
    if people is None:
        return None
    try:
        layout = Layout(people.field, (), fields)
        if not layout.fits:
            return None
        by_rows = people.hashes(salts(salt)[1])
        caps = Caps(request.bounded.max_rows, None, by_rows, by_rows)
        counts = _Counter(request, places)
        sql = f"{rows.chain}SELECT {layout.pack()} FROM rows{people.joined}"
        for part in parts(connection, sql, count, layout.below_person):
            for every in slices(part, layout.below_person):
                check_cancelled()
                counted, _ = capped(every, layout.below_person, layout.below_group, caps)
                counts.add(_unpacked(layout, counted, places), counted[0].size)
        return counts.counts()
    finally:
        people.drop()


def _unpacked(layout: Layout, words: Words, places: Sequence[Places]) -> list[NDArray[Any]]:
    columns: list[NDArray[Any]] = []
    for i, each in enumerate(places):
        at = layout.place(i)
        content = words[at.word] >> at.shift & (1 << at.bits) - 1
        columns.append(content.astype(np.uint8 if each.field.bits <= 8 else np.uint32))
    return columns
