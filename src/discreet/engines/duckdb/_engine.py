"""The embedded engine."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from discreet.engines._marginals import Counts
from discreet.engines._protocol import EdgeQueries
from discreet.engines._records import records_in_shards
from discreet.engines._shards import ALL, Shard, counts_in_shards, in_shards
from discreet.engines._worker import Worker
from discreet.engines.duckdb._dialect import DIALECT, declared_as, identifier, link_family
from discreet.engines.duckdb._marginals import count_marginals
from discreet.engines.duckdb._packed import packed_groups
from discreet.engines.duckdb._records import read_records, records_query
from discreet.engines.duckdb._sources import is_database, relation_sql
from discreet.engines.sql import (
    Relation,
    StoredColumn,
    bounded_sql,
    check_links,
    check_people,
    counted_rows_sql,
    is_deep,
    read_groups,
    records_sql,
    rows_sql,
    stored_edges,
    values_sql,
)
from discreet.errors import DataError, DiscreetError
from discreet.policy import Policy
from discreet.query import BoundedAggregate, EdgeRows, Filtered, Group, Marginals, RecordRows, Scan

__all__ = ["DuckDB"]

_T = TypeVar("_T")

_DISABLED = (
    "top_n_window_elimination",  # a heap for each partition is 3 times slower here than ranking
    "type_pushdown",  # these two cast inside the reader of CSV, which then drops the row where TRY_CAST gives null
    "scalar_fn_pushdown",
)
_DISABLED_DEEP = "common_subexpressions"
"""The time in which DuckDB looks for equal expressions grows with the cube of the depth: where that is much, they are
cheaper computed anew."""

_READABLE = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "ENUM", "UUID", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP_S",
    "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS",
}  # fmt: skip
"""Stored types whose values all have a defined reading: nested ones, unions, times and intervals do not."""


class DuckDB:
    """Runs bounded aggregates in this process. Safe to share between threads.

    Parameters
    ----------
    source
        A DuckDB database that holds every table, or a mapping from a table's name to a path or a frame.
    policy
        Says which tables and columns exist; a source column that it does not name is invisible.
    """

    def __init__(self, source: str | os.PathLike[str] | Mapping[str, object], policy: Policy) -> None:
        self._policy = policy
        self._sources = _by_table(source, policy)
        self._relations: dict[str, Relation] = {}
        self._scratch = tempfile.mkdtemp(prefix="discreet-")
        weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        settings: dict[str, Any] = {
            "temp_directory": self._scratch,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "preserve_insertion_order": False,
        }
        self._connection = duckdb.connect(":memory:", config=settings)
        self._worker = Worker(self._connection.interrupt)
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute("SET TimeZone = 'UTC'")
        self._disable_optimizers()

    def check(self, table: str) -> None:
        """Raise `DataError` unless the table has a source, with the unit and every column that the policy names."""
        self._worker.run(lambda: check_links(table, self._policy, self._sources, self._relation, link_family))
        self._worker.run(lambda: check_people(table, self._policy, self._relation, declared_as))

    def accept(self, request: BoundedAggregate) -> None:
        """Write the query, as `run` will."""
        bounded_sql(DIALECT, request, self._rows(request), bytes(16))

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        """The exact sums of every group that is not empty; see `discreet.engines.Engine`."""
        groups = self._worker.run(
            lambda: in_shards(
                request,
                lambda shard: self._groups(request, self._rows(request, shard), salt),
                lambda shard, place: self._values(request, self._rows(request, shard), salt, place),
            )
        )
        if groups is None:
            raise _unfinished(request)
        return groups

    def count_marginals(self, request: Marginals, salt: bytes) -> Counts:
        """The exact counts of each marginal; see `discreet.engines.Engine`."""
        counts = self._worker.run(
            lambda: counts_in_shards(
                request, lambda shard: self._counts(request, self._rows(request.bounded, shard), salt)
            )
        )
        if counts is None:
            raise _unfinished(request.bounded)
        return counts

    def read_records(self, request: RecordRows, salt: bytes) -> pa.Table:
        """The rows that count; see `discreet.engines.Engine`."""
        records = self._worker.run(
            lambda: records_in_shards(
                request, lambda shard: self._records(request, self._rows(request.bounded, shard), salt)
            )
        )
        if records is None:
            raise _unfinished(request.bounded)
        return records

    def query_edges(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> _T:
        """What `search` returns of a graph; see `discreet.engines.Engine`."""
        results = self._worker.run(lambda: self._searched(request, search))
        if results is None:
            raise _unfinished(request.rows.bounded)
        return results[0]

    def close(self) -> None:
        """Close the connection and remove what it spilled to disk."""
        self._worker.close(self._close)

    def _close(self) -> None:
        self._connection.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _rows(self, request: BoundedAggregate, shard: Shard = ALL) -> str:
        return rows_sql(DIALECT, request, self._policy, self._relation, shard)

    def _values(self, request: BoundedAggregate, source: str, salt: bytes, place: int) -> list[tuple[Any, ...]] | None:
        """The distinct values that a measure counts, or None if the engine failed."""
        try:
            return self._connection.execute(values_sql(DIALECT, request, source, salt, place)).fetchall()
        except Exception:  # noqa: BLE001
            return None

    def _disable_optimizers(self, *more: str) -> None:
        self._connection.execute(f"SET disabled_optimizers = '{','.join([*_DISABLED, *more])}'")

    def _groups(self, request: BoundedAggregate, source: str, salt: bytes) -> list[Group] | None:
        """The groups, or None if the engine failed. Its message, which may contain data, is dropped here."""
        try:
            sql = bounded_sql(DIALECT, request, source, salt)
            self._disable_optimizers(*[_DISABLED_DEEP] * is_deep(sql))
            packed = packed_groups(self._connection, request, source, salt) if self._is_one_table(request) else None
            if packed is not None:
                return packed
            if request.histograms:
                return read_groups(self._connection.sql(sql).to_arrow_table(), request)
            rows, width = self._connection.execute(sql).fetchall(), len(request.keys)
            return [Group(tuple(row[:width]), int(row[width]), tuple(map(int, row[width + 1 :]))) for row in rows]
        except Exception:  # noqa: BLE001
            return None

    def _counts(self, request: Marginals, source: str, salt: bytes) -> Counts | None:
        """The marginals, or None if the engine failed."""
        try:
            sql, _ = counted_rows_sql(DIALECT, request.bounded, source, salt)
            self._disable_optimizers(*[_DISABLED_DEEP] * is_deep(sql))
            one = self._is_one_table(request.bounded)
            return count_marginals(self._connection, request, source, salt, packs=one)
        except Exception:  # noqa: BLE001
            return None

    def _records(self, request: RecordRows, source: str, salt: bytes) -> pa.Table | None:
        """The records, or None if the engine failed."""
        try:
            sql = records_query(request, source, salt)
            self._disable_optimizers(*[_DISABLED_DEEP] * is_deep(sql))
            return read_records(self._connection, request, sql)
        except Exception:  # noqa: BLE001
            return None

    def _searched(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> tuple[_T] | None:
        """What a search returns, or None if the engine failed. The scratch tables are the connection's own."""
        try:
            self._disable_optimizers()
            bounded = request.rows.bounded
            chain, rows = records_sql(DIALECT, bounded, self._rows(bounded), bytes(16))
            with stored_edges(_Scratch(self._connection), DIALECT, request, chain, rows) as edges:
                return (search(edges),)
        except DiscreetError:
            raise
        except Exception:  # noqa: BLE001
            return None

    def _is_one_table(self, request: BoundedAggregate) -> bool:
        """Whether the rows are those of one table that names the person, which can be read several times over."""
        relation = request.relation
        while isinstance(relation, Filtered):
            relation = relation.input
        return isinstance(relation, Scan) and self._policy.tables[relation.table].path is None

    def _relation(self, name: str) -> Relation:
        if name not in self._relations:
            self._relations[name] = self._describe(name)
        return self._relations[name]

    def _describe(self, name: str) -> Relation:
        if name not in self._sources:
            raise DataError(f"the policy's table {name} has no source; give connect() one under that name")
        table = self._policy.tables[name]
        unit = [*table.hidden, *self._policy.linked_by(name)]
        wanted = list(dict.fromkeys([*table.columns, *unit]))
        sql = relation_sql(self._connection, name, self._sources[name], wanted)
        try:
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()
        except duckdb.Error:
            raise DataError(
                f"the source of {name} cannot be read; check that the file is whole and holds {name}"
            ) from None
        collated = isinstance(source := self._sources[name], str | os.PathLike) and is_database(source)
        stored = {row[0].casefold(): _stored(row[0], row[1], collated=collated) for row in described}
        names = [row[0].casefold() for row in described]
        if any(names.count(column.casefold()) > 1 for column in wanted):
            raise DataError(f"two columns of {name} differ by case alone; rename one")
        missing = [column for column in wanted if column.casefold() not in stored]
        if missing:
            raise DataError(f"the source of {name} lacks what the policy names: {', '.join(missing)}")
        for column in wanted:
            kind = stored[column.casefold()].type
            if kind.partition("(")[0] not in _READABLE or kind.endswith("]"):
                raise DataError(f"{column} of {name} is stored as {kind}, which is not supported; cast it first")
        return Relation(sql, {column: stored[column.casefold()] for column in wanted})


@dataclass(frozen=True, slots=True)
class _Scratch:
    """Temporary tables of a connection."""

    connection: duckdb.DuckDBPyConnection

    def create(self, name: str, sql: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def drop(self, name: str) -> None:
        with suppress(duckdb.Error):  # a connection that is closed has no tables
            self.connection.execute(f"DROP TABLE IF EXISTS temp.{name}")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()


def _unfinished(request: BoundedAggregate) -> DataError:
    """What is raised outside of `except`, so that the engine's message is not its context."""
    return DataError(
        f"DuckDB could not finish reading {', '.join(request.tables)}: "
        "the file may be damaged, or memory or disk ran out. What was reserved for this query stays spent."
    )


def _stored(name: str, kind: str, *, collated: bool) -> StoredColumn:
    """A column; a database may compare its texts by a collation.

    Arrow and Parquet can hold decimals beyond their precision, and the text of some stops DuckDB for good: they are
    read as the largest there are. They are computed away and not avoided: DuckDB may cast what a CASE leaves out.
    """
    sql = identifier(name)
    if collated and kind == "VARCHAR":
        sql = f'({sql} COLLATE "binary")'
    elif kind.startswith("DECIMAL("):
        low, high = (f"CAST('{sign}{_largest(kind)}' AS {kind})" for sign in ("-", ""))
        sql = f"(CASE WHEN {sql} IS NOT NULL THEN greatest(least({sql}, {high}), {low}) END)"
    return StoredColumn(name, kind, sql)


def _largest(kind: str) -> str:
    """The largest number of a decimal type.

    >>> _largest("DECIMAL(5,2)"), _largest("DECIMAL(2,2)")
    ('999.99', '0.99')
    """
    precision, scale = map(int, kind.removeprefix("DECIMAL(").removesuffix(")").split(","))
    return f"{'9' * (precision - scale) or '0'}.{'9' * scale}".rstrip(".")


def _by_table(source: object, policy: Policy) -> dict[str, object]:
    if isinstance(source, str | os.PathLike):
        if not is_database(source) and len(policy.tables) > 1:
            raise DataError(
                'the policy has several tables; give their sources by name: {"visits": "visits.parquet", …}'
            )
        return dict.fromkeys(policy.tables, source)
    if not isinstance(source, Mapping):
        if len(policy.tables) == 1:
            return dict.fromkeys(policy.tables, source)
        raise DataError('give sources by name: {"visits": path_or_frame}')
    known = {name.casefold(): name for name in policy.tables}
    unknown = [str(name) for name in source if str(name).casefold() not in known]
    if unknown:
        raise DataError(f"the policy has no table {', '.join(unknown)}; it has {', '.join(policy.tables)}")
    return {known[str(name).casefold()]: value for name, value in source.items()}
