"""The rows that count, read from PostgreSQL through a cursor of the server's, or put in temporary tables there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines._records import RecordBatches, record_items
from discreet.engines.postgres._dialect import PostgresDialect
from discreet.engines.sql import records_sql
from discreet.policy import ColumnType
from discreet.query import BoundedAggregate, RecordRows

if TYPE_CHECKING:
    import psycopg

__all__ = ["Scratch", "read_records", "records_query"]

_BATCH = 2**19
"""Values that are fetched at once: each is an object of Python's, some 40 bytes, until it is in Arrow."""
_KEYS: Mapping[ColumnType, str] = {
    "bool": "CAST({} AS integer)",
    "int": "{}",
    "date": "({} - CAST('1970-01-01' AS date))",
    "timestamp": "CAST(extract(epoch FROM {}) * 1000000 AS bigint)",
    "string": "CAST({} AS text)",
}


def records_query(
    dialect: PostgresDialect, request: RecordRows, asked: BoundedAggregate, source: str, salt: bytes
) -> str:
    """The query for the records of a source. `asked` has the keys that PostgreSQL can hold."""
    chain, rows = records_sql(dialect, asked, source, salt)
    return f"{chain}SELECT {', '.join(record_items(request, _KEYS, 'bigint'))} FROM {rows}"


def read_records(connection: psycopg.Connection[tuple[Any, ...]], request: RecordRows, sql: str) -> pa.Table:
    """The records that a query of `records_query` has."""
    collected, texts = RecordBatches(request), _texts(request)
    most = max(1, _BATCH // len(texts))
    with connection.cursor("records", binary=True) as cursor:
        cursor.execute(sql.encode())
        while rows := cursor.fetchmany(most):
            columns = [
                pa.array(column, pa.string() if is_text else pa.int64())
                for column, is_text in zip(zip(*rows, strict=True), texts, strict=False)
            ]
            collected.add(columns, len(rows))
    return collected.table()


def _texts(request: RecordRows) -> list[bool]:
    """Which columns are texts."""
    bounded = request.bounded
    keys = [key.type == "string" for key in bounded.keys]
    return [*([False] if bounded.unit is not None else []), *keys, *([False] * len(bounded.measures))]


_ALLOWED = """
SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMP') AND NOT pg_catalog.pg_is_in_recovery()
"""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Temporary tables of a transaction, gone with it however it ends."""

    connection: psycopg.Connection[tuple[Any, ...]]

    def is_allowed(self) -> bool:
        """Whether this role may make them here."""
        return self.connection.execute(_ALLOWED.encode()).fetchone() == (True,)

    def create(self, name: str, sql: str) -> None:
        """Make a table of what a query returns, and count its rows, for the plans of queries that read it."""
        self.connection.execute(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {sql}".encode())
        self.connection.execute(f"ANALYZE pg_temp.{name}".encode())

    def drop(self, name: str) -> None:
        """Remove a table, if it is there and the transaction has not failed."""
        if self.connection.info.transaction_status == _IN_TRANSACTION:
            self.connection.execute(f"DROP TABLE IF EXISTS pg_temp.{name}".encode())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.connection.execute(sql.encode()).fetchall()


_IN_TRANSACTION = 2
"""As psycopg numbers it: in a transaction that has not failed."""
