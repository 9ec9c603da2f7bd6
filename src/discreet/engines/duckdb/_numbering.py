"""Keys and people as whole numbers, one to one: by tables made here, never by a hash alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.duckdb._caps import Integers
from discreet.engines.duckdb._layout import Field
from discreet.engines.sql import Uncapped
from discreet.query import BoundedAggregate

__all__ = ["Hashes", "NumberedKeys", "NumberedPeople", "StoredPeople"]

Hashes = Callable[[Integers], "NDArray[np.uint64]"]
Row = tuple[Any, ...]

_KEYS = 2**16
"""Up to this many keys of a column are given numbers."""


class NumberedKeys:
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
            rows = self._connection.execute(f'SELECT k FROM "keys {i}" ORDER BY place').fetchall()
            if len(rows) > _KEYS:
                return None
            self._values.append([value for (value,) in rows])
            fields.append(Field(f'"keys {i}".place', 0, max(len(rows) - 1, 0)))
        return tuple(fields)

    @property
    def joined(self) -> str:
        """The joins that add the places to the rows."""
        tables = [i for i, enum in enumerate(self._rows.enums) if not enum]
        return "".join(f' LEFT JOIN "keys {i}" ON k{i} = "keys {i}".k' for i in tables)

    def at(self, places: Row) -> Row:
        """The keys at places counted from 1, 0 for null."""
        return tuple(values[place - 1] if place else None for values, place in zip(self._values, places, strict=True))

    def drop(self) -> None:
        """Let go of the tables."""
        for i, enum in enumerate(self._rows.enums):
            if not enum:
                self._connection.execute(f'DROP TABLE IF EXISTS "keys {i}"')


class StoredPeople:
    """People who are whole numbers of at most 64 bits, between two of them, as themselves."""

    joined = ""

    def __init__(self, connection: duckdb.DuckDBPyConnection, kind: str, low: int, high: int) -> None:
        self._connection = connection
        self._kind = kind
        self.field = Field("u", low, high)

    def hashes(self, salt: int) -> Hashes:
        """DuckDB's hash of a person as stored, as in the plan in SQL, by the person's number from 1."""
        shift = self.field.low - 1

        def hashes(people: Integers) -> NDArray[np.uint64]:
            table = pa.Table.from_arrays([pa.array(np.arange(people.size)), pa.array(people + shift)], names=["i", "u"])
            sql = f'SELECT i, hash({salt}, TRY_CAST(u AS {self._kind})) AS h FROM "some people"'
            self._connection.register("some people", table)
            try:
                columns = self._connection.execute(sql).fetchnumpy()
            finally:
                self._connection.unregister("some people")
            result = np.zeros(people.size, np.uint64)
            result[columns["i"]] = columns["h"]
            return result

        return hashes

    def drop(self) -> None:
        """Nothing to let go of."""


class NumberedPeople:
    """People who are text, or numbers far apart, by their places in a table of all of them."""

    joined = ' JOIN "people" ON u = "people".who'

    def __init__(self, connection: duckdb.DuckDBPyConnection, rows: Uncapped) -> None:
        self._connection = connection
        connection.execute(f'CREATE OR REPLACE TEMP TABLE "people" AS {rows.chain}SELECT DISTINCT u AS who FROM source')
        ((count,),) = connection.execute('SELECT count(*) FROM "people"').fetchall()
        self.field = Field('"people".rowid', 0, max(count - 1, 0))

    def hashes(self, salt: int) -> Hashes:
        """DuckDB's hash of a person as stored, as in the plan in SQL, by the person's number from 1."""

        def hashes(people: Integers) -> NDArray[np.uint64]:
            low, high = int(people[0]) - 1, int(people[-1]) - 1
            sql = f'SELECT rowid AS i, hash({salt}, who) AS h FROM "people" WHERE rowid BETWEEN {low} AND {high}'
            columns = self._connection.execute(sql).fetchnumpy()
            result = np.zeros(high - low + 1, np.uint64)
            result[np.asarray(columns["i"]) - low] = columns["h"]
            return result[people - (low + 1)]

        return hashes

    def drop(self) -> None:
        """Let go of the table."""
        self._connection.execute('DROP TABLE IF EXISTS "people"')
