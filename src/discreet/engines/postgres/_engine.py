"""The engine for tables in a PostgreSQL server."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache as cached
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.engines._marginals import Counts
from discreet.engines._protocol import EdgeQueries
from discreet.engines._records import records_in_shards
from discreet.engines._shards import Shard, counts_in_shards, in_shards
from discreet.engines._worker import Worker
from discreet.engines.postgres._dialect import PostgresDialect, holds
from discreet.engines.postgres._marginals import HASHED, marginals_sql, read_marginals
from discreet.engines.postgres._records import Scratch, read_records, records_query
from discreet.engines.postgres._tables import describe, groups_of
from discreet.engines.postgres._types import declared_as, link_family
from discreet.engines.postgres._url import Server, settle
from discreet.engines.sql import (
    Relation,
    bounded_sql,
    check_links,
    check_people,
    records_sql,
    rows_sql,
    stored_edges,
    values_sql,
)
from discreet.errors import DataError, DiscreetError, QueryError
from discreet.policy import Policy
from discreet.query import BoundedAggregate, EdgeRows, Filtered, Group, GroupKey, Marginals, RecordRows, Scan

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

__all__ = ["PostgreSQL"]

_CASING = ("pg_c_utf8", "und-x-icu", "C")
"""Collations that know the case of letters, the best first: the last knows ASCII's alone."""
_COLLATIONS = """
SELECT collname FROM pg_collation WHERE collname = ANY(%s) AND collnamespace = CAST('pg_catalog' AS regnamespace)
"""
_MOST_BITS = 28
_MOST_COLUMNS = 1_600
"""Of what a query reads, or asks for: PostgreSQL's limit is 1,664, of which a step takes a few for itself."""
_OFFSET = """
SELECT s FROM generate_series(0, 4095) AS s WHERE (
    SELECT count(*) = count(DISTINCT hashtextextended(k COLLATE "C", s) & 63) FROM unnest(CAST(%s AS text[])) AS k
) LIMIT 1
"""
_CANCEL = 5.0
"""Seconds for one request to cancel."""
_CANCELLED = "memory or disk may have run out there, or somebody cancelled the query"
_EXHAUSTED = ("53", "54", "XX")
"""Classes of errors when memory, disk or another limit is exceeded."""
_SPENT = "What was reserved for this query stays spent."
_T = TypeVar("_T")


class PostgreSQL:
    """Runs bounded aggregates in a PostgreSQL server, 16 or later. Safe to share between threads.

    Every run is one read-only transaction that sees one moment of the database. Only sums and counts leave the server.
    A graph that is counted there takes temporary tables, and so a transaction that may write: it writes nothing else.

    Parameters
    ----------
    source
        A URL, `postgresql://user:password@host:5432/database`.
    policy
        Says which tables and columns exist; a column that it does not name is invisible.
    tables
        The policy's tables that are there, by default all. They are found under their own names where the role looks
        for tables, or in a mapping under names that may be `schema.table`.

    Raises `DataError` for a URL that is none or a server that cannot be reached, and `MissingExtra` without psycopg.
    """

    def __init__(self, source: str, policy: Policy, tables: Iterable[str] | None = None) -> None:
        self._policy = policy
        named = policy.tables if tables is None else tables
        self._names = {name: name if "." not in name else f'"{name}"' for name in named}
        if isinstance(tables, Mapping):
            self._names |= tables
        unknown = [name for name in self._names if name not in policy.tables]
        if unknown:
            raise DataError(f"the policy has no table {', '.join(unknown)}; it has {', '.join(policy.tables)}")
        self._server = Server(source)
        me = weakref.proxy(self)
        self._worker = Worker(lambda: me._interrupt())  # noqa: PLW0108, SLF001 - bound, it would keep the engine
        self._relations: dict[str, Relation] = {}
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._process = os.getpid()
        self._schemas: tuple[str, ...] = ()
        self._casing = _CASING[-1]
        self._closed = False
        self._open()

    def __repr__(self) -> str:
        return f"PostgreSQL({self._server.place})"

    def check(self, table: str) -> None:
        """Raise `DataError` unless the table is there, with the unit and every column that the policy names."""
        for checked in (
            lambda: check_links(table, self._policy, self._names, self._relation, link_family),
            lambda: check_people(table, self._policy, self._relation, declared_as),
        ):
            self._worker.run(partial(self._read, checked, f"looking up {table}"))

    def accept(self, request: BoundedAggregate) -> None:
        """Write the query, as `run` will. Raises `QueryError` for texts and columns that PostgreSQL cannot hold."""
        columns = max(len(request.used), len(request.keys) + len(request.measures))
        if columns > _MOST_COLUMNS:
            raise QueryError(f"this takes {columns:,} columns, and PostgreSQL holds {_MOST_COLUMNS:,}; ask for fewer")
        asked, dialect = replace(request, keys=tuple(map(_storable, request.keys))), PostgresDialect(self._casing)
        bounded_sql(dialect, asked, rows_sql(dialect, asked, self._policy, self._described), bytes(16))

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        """The exact sums of every group that is not empty; see `discreet.engines.Engine`."""
        doing = f"reading {', '.join(request.tables)}"
        groups = self._worker.run(lambda: self._read(lambda: self._groups(request, salt), doing, spends=True))
        if groups is None:
            raise _unfinished(doing, spends=True)
        return groups

    def count_marginals(self, request: Marginals, salt: bytes) -> Counts:
        """The exact counts of each marginal; see `discreet.engines.Engine`."""
        doing = f"reading {', '.join(request.bounded.tables)}"
        counts = self._worker.run(lambda: self._read(lambda: self._counts(request, salt), doing, spends=True))
        if counts is None:
            raise _unfinished(doing, spends=True)
        return counts

    def read_records(self, request: RecordRows, salt: bytes) -> pa.Table:
        """The rows that count; see `discreet.engines.Engine`."""
        doing = f"reading {', '.join(request.bounded.tables)}"
        records = self._worker.run(lambda: self._read(lambda: self._records(request, salt), doing, spends=True))
        if records is None:
            raise _unfinished(doing, spends=True)
        return records

    def query_edges(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> _T:
        """What `search` returns of a graph; see `discreet.engines.Engine`. The role needs temporary tables."""
        doing = f"reading {', '.join(request.rows.bounded.tables)}"

        def work() -> _T:
            return self._read(lambda: self._searched(request, search), doing, spends=True, writes=True)

        return self._worker.run(work)

    def close(self) -> None:
        """Close the connection."""
        self._worker.close(self._close)

    def _close(self) -> None:
        self._closed = True
        if self._connection is not None:
            _end(self._connection, self._process)

    def _interrupt(self) -> None:
        if self._connection is not None:
            self._connection.cancel_safe(timeout=_CANCEL)

    def _open(self, *, spends: bool = False) -> psycopg.Connection[tuple[Any, ...]]:
        """The connection, made anew if it was lost."""
        if self._closed:
            raise DataError("the connection to PostgreSQL was closed; open the session again")
        ours = self._process == os.getpid()  # a fork has its parent's connection, and must not speak on it
        if self._connection is not None and ours and self._is_alive(self._connection):
            return self._connection
        reached: tuple[psycopg.Connection[tuple[Any, ...]], tuple[str, ...]] | None = None
        refusal = ""
        try:
            reached = self._server.connect()
        except DataError as error:
            refusal = str(error)
        if reached is None:
            raise DataError(f"{refusal}. {_SPENT}" if spends else refusal)
        self._connection, self._schemas = reached
        self._process = os.getpid()
        weakref.finalize(self, _end, self._connection, self._process)
        collations = self._connection.execute(_COLLATIONS, (list(_CASING),)).fetchall()
        self._casing = next(name for name in _CASING if (name,) in collations)
        return self._connection

    def _is_alive(self, connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
        import psycopg

        try:
            connection.execute("SELECT 1")
        except psycopg.Error:
            connection.close()
        return not connection.closed

    def _read(self, work: Callable[[], _T], doing: str, *, spends: bool = False, writes: bool = False) -> _T:
        """What is read in one transaction. PostgreSQL's messages, which may contain data, are dropped here."""
        connection = self._open(spends=spends)
        try:
            connection.read_only = not writes
            with connection.transaction():
                settle(connection)
                return work()
        except DiscreetError:
            raise
        except Exception:  # noqa: BLE001
            lost = connection.closed
        why = (
            "the connection was lost: the server may have stopped, or somebody ended the session; the next query will "
            "connect anew"
            if lost
            else _CANCELLED
        )
        raise _unfinished(
            doing, why, spends=spends
        )  # raised outside of `except`, so that the server's message is not its context

    def _groups(self, request: BoundedAggregate, salt: bytes) -> list[Group] | None:
        """The groups, or None if memory or disk run out even for a few units."""
        asked = replace(request, keys=tuple(map(_storable, request.keys)))
        dialect = PostgresDialect(self._casing, self._offset(request), keeps_rows=not self._is_one_table(request))
        stored = cached(self._relation)

        def source(shard: Shard) -> str:
            return rows_sql(dialect, asked, self._policy, stored, shard)

        def answered(shard: Shard) -> list[Group] | None:
            rows = self._rows(bounded_sql(dialect, asked, source(shard), salt))
            return None if rows is None else groups_of(rows, request)

        def values(shard: Shard, place: int) -> list[tuple[Any, ...]] | None:
            return self._rows(values_sql(dialect, asked, source(shard), salt, place))

        return in_shards(asked, answered, values)

    def _counts(self, request: Marginals, salt: bytes) -> Counts | None:
        """The marginals, or None if memory or disk run out even for a few units."""
        asked = replace(request.bounded, keys=tuple(map(_storable, request.bounded.keys)))
        dialect = PostgresDialect(self._casing, keeps_rows=not self._is_one_table(asked))
        stored = cached(self._relation)

        def counted(shard: Shard) -> Counts | None:
            source = rows_sql(dialect, asked, self._policy, stored, shard)
            return self._copied(marginals_sql(dialect, request, asked, source, salt), request)

        return counts_in_shards(request, counted)

    def _records(self, request: RecordRows, salt: bytes) -> pa.Table | None:
        """The records, or None if memory or disk run out even for a few units."""
        asked = replace(request.bounded, keys=tuple(map(_storable, request.bounded.keys)))
        dialect = PostgresDialect(self._casing, keeps_rows=not self._is_one_table(asked))
        stored = cached(self._relation)

        def read(shard: Shard) -> pa.Table | None:
            source = rows_sql(dialect, asked, self._policy, stored, shard)
            sql = records_query(dialect, request, asked, source, salt)

            def copied(connection: psycopg.Connection[tuple[Any, ...]]) -> pa.Table:
                connection.execute(HASHED.encode())
                return read_records(connection, request, sql)

            return self._within_memory(copied)

        return records_in_shards(request, read)

    def _searched(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> _T:
        assert self._connection is not None
        scratch, bounded = Scratch(self._connection), request.rows.bounded
        if not scratch.is_allowed():
            raise DataError(
                "to count a graph in PostgreSQL this role needs temporary tables there, and a standby has none: GRANT "
                f"TEMPORARY ON DATABASE to it, or count the graph in memory. {_SPENT}"
            )
        dialect = PostgresDialect(self._casing)
        chain, rows = records_sql(dialect, bounded, rows_sql(dialect, bounded, self._policy, self._relation), bytes(16))
        self._connection.execute(HASHED.encode())
        with stored_edges(scratch, dialect, request, chain, rows) as edges:
            return search(edges)

    def _rows(self, sql: str) -> list[tuple[Any, ...]] | None:
        """The rows of a query, or None if it needs more memory or disk than there is."""
        return self._within_memory(lambda connection: connection.execute(sql.encode()).fetchall())

    def _copied(self, sql: str, request: Marginals) -> Counts | None:
        """The marginals, or None if they need more memory or disk than there is."""

        def copied(connection: psycopg.Connection[tuple[Any, ...]]) -> Counts:
            connection.execute(HASHED.encode())
            with connection.cursor() as cursor, cursor.copy(sql.encode()) as pieces:
                return read_marginals(request, pieces)

        return self._within_memory(copied)

    def _within_memory(self, work: Callable[[psycopg.Connection[tuple[Any, ...]]], _T]) -> _T | None:
        """What is done in a transaction of its own, so that the one around it goes on; None without memory or disk."""
        import psycopg

        assert self._connection is not None
        try:
            with self._connection.transaction():
                return work(self._connection)
        except psycopg.Error as error:
            if (error.sqlstate or "")[:2] not in _EXHAUSTED:
                raise
        return None

    def _described(self, table: str) -> Relation:
        """A table as it was when it was last looked up."""
        if table not in self._relations:
            self.check(table)
        return self._relations[table]

    def _offset(self, request: BoundedAggregate) -> int | None:
        """See `PostgresDialect`: for few texts, one of the first numbers will do."""
        assert self._connection is not None
        if len(request.keys) != 1 or request.keys[0].type != "string" or request.max_groups is None:
            return None
        known = request.keys[0].values
        if known is None or None in known or not 0 < len(known) <= _MOST_BITS:
            return None
        row = self._connection.execute(_OFFSET, ([str(value) for value in known if holds(str(value))],)).fetchone()
        return None if row is None else int(row[0])

    def _is_one_table(self, request: BoundedAggregate) -> bool:
        """Whether the rows are those of one table that names the person, which are cheap to read again."""
        relation = request.relation
        while isinstance(relation, Filtered):
            relation = relation.input
        return isinstance(relation, Scan) and self._policy.tables[relation.table].path is None

    def _relation(self, table: str) -> Relation:
        """A table as it is now: somebody may have changed it since it was checked."""
        if table not in self._names:
            raise DataError(f"the policy's table {table} has no source in PostgreSQL; name one")
        assert self._connection is not None
        declared = self._policy.tables[table]
        wanted = list(dict.fromkeys([*declared.columns, *declared.hidden, *self._policy.linked_by(table)]))
        relation = describe(self._connection, table, self._names[table], wanted, self._schemas)
        self._relations[table] = relation
        return relation


def _unfinished(doing: str, why: str = _CANCELLED, *, spends: bool) -> DataError:
    return DataError(f"PostgreSQL could not finish {doing}: {why}. {_SPENT if spends else ''}".rstrip())


def _end(connection: psycopg.Connection[tuple[Any, ...]], process: int) -> None:
    """Close a connection, unless it is another process's."""
    if os.getpid() == process:
        connection.close()


def _storable(key: GroupKey) -> GroupKey:
    """A key without the public texts that PostgreSQL cannot hold, which no row has."""
    if key.values is None:
        return key
    return replace(key, values=tuple(v for v in key.values if not isinstance(v, str) or holds(v)))
