"""A bounded aggregate over people whose rows fit a few whole numbers each: sorted as arrays, many times faster.

DuckDB reads the rows and packs each, the packed rows are sorted and capped as arrays, and DuckDB sums what is left;
people and cells are counted as arrays. The rows that are kept are those that the plan in SQL keeps, so that the sums
are the same to the last unit. So whether rows fit, which depends on the people and on the number of private keys, shows
in nothing but the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.duckdb._caps import Caps, Words, capped, firsts
from discreet.engines.duckdb._cells import CellCounts, fits_counts
from discreet.engines.duckdb._dialect import DIALECT
from discreet.engines.duckdb._layout import Field, Layout, Place, value_field
from discreet.engines.duckdb._numbering import NumberedKeys, NumberedPeople, StoredPeople
from discreet.engines.duckdb._ranges import parts, slices
from discreet.engines.sql import Uncapped, cell_names, salts, uncapped, when_name
from discreet.query import BoundedAggregate, Cells, Distinct, Group, People
from discreet.release import check_cancelled

__all__ = ["find_people", "packed_groups"]

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_NUMBERED = {*_INTEGERS, "UBIGINT", "HUGEINT", "UHUGEINT", "VARCHAR", "UUID"}
"""Types of which equal values are one person and have one hash."""
_FEW = 2**16
"""Up to this many rows the plan in SQL is as fast."""

Row = tuple[Any, ...]
Flags = NDArray[np.bool_]


def packed_groups(
    connection: duckdb.DuckDBPyConnection, request: BoundedAggregate, source: str, salt: bytes
) -> list[Group] | None:
    """What `bounded_sql` finds, as groups; None if rows are few or do not fit.

    `source` is read several times. Distinct values of a column have no field.
    """
    if request.unit is None or any(isinstance(measure, Distinct) for measure in request.measures):
        return None
    rows = uncapped(DIALECT, request, source)
    values = tuple(field for part in rows.values if (field := value_field(part)) is not None)
    ((count,),) = connection.execute(f"{rows.chain}SELECT count(*) FROM source").fetchall()
    if not count or count <= _FEW:
        return None
    ((kind,),) = connection.execute(f"{rows.chain}SELECT typeof(u) FROM source LIMIT 1").fetchall()
    keys = NumberedKeys(connection, request, rows)
    people = None
    try:
        fields = keys.fields()
        if fields is None or not Layout(Field("u", 0, 0), fields, values).fits:
            return None
        people = find_people(connection, rows, kind, Layout(Field("u", 0, 0), fields, values))
        if people is None:
            return None
        layout = Layout(people.field, fields, values)
        names = [part.name for part in rows.values]
        cells = [layout.place(names.index(name)) for name in cell_names(request.histograms, rows.values)]
        if not layout.fits or not all(fits_counts(layout, place) for place in cells):
            return None
        run = _Run(connection, request, rows, layout, cells, people, salts(salt))
        return run.groups(f"{rows.chain}SELECT {layout.pack()} FROM rows{keys.joined}{people.joined}", count, keys)
    finally:
        keys.drop()
        if people is not None:
            people.drop()


def find_people(
    connection: duckdb.DuckDBPyConnection, rows: Uncapped, kind: str, layout: Layout
) -> StoredPeople | NumberedPeople | None:
    """People as they are stored if that fits, else numbered; None if their type has no numbers."""
    if kind in _INTEGERS:
        ((low, high),) = connection.execute(f"{rows.chain}SELECT min(u), max(u) FROM source").fetchall()
        if Layout(Field("u", low, high), layout.keys, layout.values).fits:
            return StoredPeople(connection, kind, low, high)
    return NumberedPeople(connection, rows) if kind in _NUMBERED else None


@dataclass(frozen=True, slots=True)
class _Run:
    """One query under way."""

    connection: duckdb.DuckDBPyConnection
    request: BoundedAggregate
    rows: Uncapped
    layout: Layout
    cell_places: list[Place]
    people: StoredPeople | NumberedPeople
    salts: tuple[int, int]

    def groups(self, packed: str, count: int, keys: NumberedKeys) -> list[Group]:
        """The groups, added up over the parts of the rows."""
        totals: dict[Row, list[int]] = {}
        cells = [CellCounts(self.layout, place) for place in self.cell_places]
        width = len(self.rows.keys)
        sums = bool(self.request.measures) or self.request.count_units
        for part in parts(self.connection, packed, count, self.layout.below_person):
            capped: list[tuple[Words, list[Flags]]] = []
            for rows, flags in self._capped(part):
                for counts in cells:
                    counts.add(rows)
                if sums:
                    capped.append((rows, flags))
            if not sums:
                continue
            for row in self._summed(capped):
                so_far = totals.setdefault(row[:width], [0] * (len(row) - width))
                for i, value in enumerate(row[width:]):
                    so_far[i] += int(value)
        by_places = [self._by_places(counts) for counts in cells]
        nothing, empty = [0] * (1 + len(self.request.measures)), (np.zeros(0, np.int64), np.zeros(0, np.int64))
        return [
            Group(
                keys.at(places),
                totals.get(places, nothing)[0],
                tuple(totals.get(places, nothing)[1:]),
                tuple(each.get(places, empty) for each in by_places),
            )
            for places in dict.fromkeys([*totals, *(places for each in by_places for places in each)])
        ]

    def _by_places(self, counts: CellCounts) -> dict[Row, Cells]:
        return {self.layout.places(group): cells for group, cells in counts.by_group().items()}

    def _summed(self, capped: list[tuple[Words, list[Flags]]]) -> list[Row]:
        """The places of the keys, units and sums of each group. Rows that nothing but their people count are left out.

        `first` says of a row whether it is the first of its person in its group, `f_i` whether it is the first that
        measure i, which counts people, counts.
        """
        if all(isinstance(measure, People) for measure in self.request.measures):
            capped = [_where(np.logical_or.reduce(flags), rows, flags) for rows, flags in capped]
        counting = [i for i, measure in enumerate(self.request.measures) if isinstance(measure, People)]
        flags = ["first", *(f"f{i}" for i in counting)]
        words = [f"r{i}" for i in range(len(self.layout.words))]
        columns = [pa.chunked_array([rows[i] for rows, _ in capped], pa.int64()) for i in range(len(words))]
        columns += [pa.chunked_array([f[j] for _, f in capped], pa.bool_()) for j in range(len(flags))]
        places, values = self.layout.unpack(words)
        names = [*self.rows.keys, *(part.name for part in self.rows.values)]
        unpacked = ", ".join([*flags, *(f"{c} AS {n}" for c, n in zip([*places, *values], names, strict=True))])
        units = "count(*) FILTER (first)" if self.request.count_units else "0"
        sums = [f"count(*) FILTER (f{i})" if i in counting else s for i, s in enumerate(self.rows.sums)]
        groups = f" GROUP BY {', '.join(self.rows.keys)}" if self.rows.keys else ""
        items = ", ".join([*self.rows.keys, units, *sums])
        sql = f'SELECT {items} FROM (SELECT {unpacked} FROM "kept rows"){groups}'
        self.connection.register("kept rows", pa.Table.from_arrays(columns, names=[*words, *flags]))
        try:
            return self.connection.execute(sql).fetchall()
        finally:
            self.connection.unregister("kept rows")

    def _capped(self, part: Words) -> Iterator[tuple[Words, list[Flags]]]:
        """Slices of the rows that count, with the flags that `_summed` needs."""
        below, group = self.layout.below_person, self.layout.below_group
        by_groups, by_rows = map(self.people.hashes, self.salts)
        caps = Caps(self.request.max_rows, self.request.max_groups, by_rows, by_groups)
        held = [self._held(measure) for measure in self.request.measures if isinstance(measure, People)]
        for every in slices(part, below):
            check_cancelled()  # DuckDB is not at work here, and has nothing to interrupt
            rows, first = capped(every, below, group, caps)
            groups = rows[0] >> group
            some = (first if place is None else firsts(groups, rows[place.word] & place.mask) for place in held)
            yield rows, [first, *some]

    def _held(self, measure: People) -> Place | None:
        """Where a row says whether a condition holds; None if there is none."""
        if measure.when is None:
            return None
        names = [part.name for part in self.rows.values]
        return self.layout.place(names.index(when_name(measure.when, self.rows.values)))


def _where(some: Flags, rows: Words, flags: list[Flags]) -> tuple[Words, list[Flags]]:
    return tuple(word[some] for word in rows), [each[some] for each in flags]
