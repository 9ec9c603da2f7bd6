"""The rows that count, read by DuckDB in batches of Arrow."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from discreet.engines._records import RecordBatches, record_items
from discreet.engines.duckdb._dialect import DIALECT
from discreet.engines.sql import records_sql
from discreet.policy import ColumnType
from discreet.query import RecordRows

__all__ = ["read_records", "records_query"]

_BATCH = 2**16
_KEYS: Mapping[ColumnType, str] = {
    "bool": "CAST({} AS INTEGER)",
    "int": "{}",
    "date": "({} - CAST('1970-01-01' AS DATE))",
    "timestamp": "epoch_us({})",
    "string": "CAST({} AS VARCHAR)",
}


def records_query(request: RecordRows, source: str, salt: bytes) -> str:
    """The query for the records of a source."""
    chain, rows = records_sql(DIALECT, request.bounded, source, salt)
    return f"{chain}SELECT {', '.join(record_items(request, _KEYS, 'BIGINT'))} FROM {rows}"


def read_records(connection: duckdb.DuckDBPyConnection, request: RecordRows, sql: str) -> pa.Table:
    """The records that a query of `records_query` has."""
    collected = RecordBatches(request)
    for batch in connection.sql(sql).to_arrow_reader(_BATCH):
        collected.add(list(batch.columns), batch.num_rows)
    return collected.table()
