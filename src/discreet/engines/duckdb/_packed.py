"""A bounded aggregate over people whose rows fit one whole number each: sorted as an array, many times faster.

DuckDB reads the rows and packs each, the packed rows are sorted and capped as arrays, and DuckDB sums what is left.
The rows that are kept are those that the plan in SQL keeps, so that the sums are the same to the last unit. So whether
rows fit, which depends on the range of the people and on the number of private keys, shows in nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.duckdb._bounding import Uncapped, salts, uncapped
from discreet.engines.duckdb._caps import Caps, Integers, capped
from discreet.engines.duckdb._layout import Field, Layout, value_field
from discreet.engines.duckdb._ranges import parts, slices
from discreet.query import BoundedAggregate, Count, Product, Sum

__all__ = ["packed_sums"]

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_FEW = 2**16
"""Up to this many rows the plan in SQL is as fast."""
_KEYS = 2**16
"""Up to this many keys of a column are given numbers."""

Row = tuple[Any, ...]


def packed_sums(
    connection: duckdb.DuckDBPyConnection, request: BoundedAggregate, source: str, salt: bytes
) -> list[Row] | None:
    """What `bounded_sql` returns, the keys, units and sums of each group; None if they are few or do not fit.

    `source` is read several times. People and distinct values are not sums over rows, and cells are not summed.
    """
    summed = all(type(measure) in (Count, Sum, Product) for measure in request.measures)
    if request.unit is None or not summed or request.histograms:
        return None
    rows = uncapped(request, source)
    values = [field for part in rows.values if (field := value_field(part)) is not None]
    if len(values) != len(rows.values):
        return None
    kind, low, high, count = connection.execute(
        f"{rows.chain}SELECT typeof(min(u)), min(u), max(u), count(*) FROM source"
    ).fetchall()[0]
    if kind not in _INTEGERS or count <= _FEW:
        return None
    person = Field("u", low or 0, high or 0)
    numbered = _Keys(connection, request, rows)
    try:
        keys = numbered.fields()
        if keys is None:
            return None
        layout = Layout(person, keys, tuple(values))
        if not layout.fits:
            return None
        run = _Run(connection, request, rows, layout, kind, salts(salt))
        totals = run.totals(f"{rows.chain}SELECT {layout.pack()} AS r FROM {numbered.joined()}", count)
        return [(*numbered.of(places), *sums) for places, sums in totals.items()]
    finally:
        numbered.drop()


class _Keys:
    """Every key as a number from 0, in the order of the keys: the place in an enumeration, or in a table made here."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, request: BoundedAggregate, rows: Uncapped) -> None:
        self._connection = connection
        self._request = request
        self._rows = rows
        self._values: list[list[Any]] = []

    def fields(self) -> tuple[Field, ...] | None:
        """A field for each key; None if one has too many values."""
        fields: list[Field] = []
        for i, key in enumerate(self._request.keys):
            if self._rows.enums[i]:
                self._values.append(list(key.values or ()))
                fields.append(Field(f"enum_code(k{i})", 0, len(self._values[i]) - 1))
                continue
            distinct = f"SELECT DISTINCT k{i} AS k FROM rows WHERE k{i} IS NOT NULL LIMIT {_KEYS + 1}"
            self._connection.execute(
                f'CREATE OR REPLACE TEMP TABLE "keys {i}" AS {self._rows.chain}'
                f"SELECT k, row_number() OVER (ORDER BY k) - 1 AS place FROM ({distinct})"
            )
            found = self._connection.execute(f'SELECT k FROM "keys {i}" ORDER BY place').fetchall()
            if len(found) > _KEYS:
                return None
            self._values.append([value for (value,) in found])
            fields.append(Field(f'"keys {i}".place', 0, max(len(found) - 1, 0)))
        return tuple(fields)

    def joined(self) -> str:
        """The rows beside the tables of their keys."""
        tables = [i for i, enum in enumerate(self._rows.enums) if not enum]
        return "rows" + "".join(f' LEFT JOIN "keys {i}" ON k{i} = "keys {i}".k' for i in tables)

    def of(self, places: Row) -> list[Any]:
        """The keys at places counted from 1, 0 for null."""
        return [values[place - 1] if place else None for values, place in zip(self._values, places, strict=True)]

    def drop(self) -> None:
        for i, enum in enumerate(self._rows.enums):
            if not enum:
                self._connection.execute(f'DROP TABLE IF EXISTS "keys {i}"')


@dataclass(frozen=True, slots=True)
class _Run:
    """One query under way."""

    connection: duckdb.DuckDBPyConnection
    request: BoundedAggregate
    rows: Uncapped
    layout: Layout
    unit_type: str
    salts: tuple[int, int]

    def totals(self, packed: str, count: int) -> dict[Row, list[int]]:
        """The units and sums by the places of the keys, added up over the parts."""
        totals: dict[Row, list[int]] = {}
        width = len(self.rows.keys)
        for part in parts(self.connection, packed, count, self.layout.below_person):
            for row in self._summed(part):
                so_far = totals.setdefault(row[:width], [0] * (len(row) - width))
                for i, value in enumerate(row[width:]):
                    so_far[i] += int(value)
        return totals

    def _summed(self, part: Integers) -> list[Row]:
        kept = list(self._capped(part))
        packed = pa.chunked_array([rows for rows, _ in kept], pa.int64())
        first = pa.chunked_array([first for _, first in kept], pa.bool_())
        table = pa.Table.from_arrays([packed, first], names=["r", "first"])
        places, values = self.layout.unpack("r")
        names = [*self.rows.keys, *(part.name for part in self.rows.values)]
        columns = ", ".join(["first", *(f"{c} AS {n}" for c, n in zip([*places, *values], names, strict=True))])
        units = "count(*) FILTER (first)" if self.request.count_units else "0"
        groups = f" GROUP BY {', '.join(self.rows.keys)}" if self.rows.keys else ""
        items = ", ".join([*self.rows.keys, units, *self.rows.sums])
        return self._over("kept rows", table, f'SELECT {items} FROM (SELECT {columns} FROM "kept rows"){groups}')

    def _capped(self, part: Integers) -> Iterator[tuple[Integers, NDArray[np.bool_]]]:
        below, group = self.layout.below_person, self.layout.below_group
        by_groups, by_rows = map(self._hash, self.salts)
        for rows in slices(part, below):
            yield capped(rows, below, group, Caps(self.request.max_rows, self.request.max_groups, by_rows, by_groups))

    def _hash(self, salt: int) -> Callable[[Integers], NDArray[np.uint64]]:
        """DuckDB's hash of a person as stored, as in the plan in SQL."""
        shift = self.layout.person.low - 1

        def hashes(people: Integers) -> NDArray[np.uint64]:
            table = pa.Table.from_arrays([pa.array(np.arange(people.size)), pa.array(people + shift)], names=["i", "u"])
            sql = f'SELECT i, hash({salt}, TRY_CAST(u AS {self.unit_type})) AS h FROM "some people"'
            self.connection.register("some people", table)
            try:
                found = self.connection.execute(sql).fetchnumpy()
            finally:
                self.connection.unregister("some people")
            result = np.zeros(people.size, np.uint64)
            result[found["i"]] = found["h"]
            return result

        return hashes

    def _over(self, name: str, table: pa.Table, sql: str) -> list[Row]:
        self.connection.register(name, table)
        try:
            return self.connection.execute(sql).fetchall()
        finally:
            self.connection.unregister(name)
