"""The names and declared types of a session's tables and views. No row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines._protocol import Declared
from discreet.engines.spark._dialect import DIALECT
from discreet.engines.spark._url import is_running, session_of
from discreet.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["declared_tables"]

_IN_POLICY = {
    "boolean": "bool",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    "decimal": "decimal",
    **dict.fromkeys(("string", "binary"), "string"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
}


def declared_tables(source: SparkSession | str) -> dict[str, Declared]:
    """From each table and view of a session, or of the session at a URL, to its columns.

    These are the temporary views, such as those that a URL names, and the tables of the current database. A session
    that is started for this is stopped. Raises `DataError` if there are none or Spark fails, `MissingExtra` without
    pyspark.
    """
    if not isinstance(source, str):
        return _declared(source)
    ran = is_running()
    session = session_of(source)
    try:
        return _declared(session)
    finally:
        if not ran:
            session.stop()


def _declared(session: SparkSession) -> dict[str, Declared]:
    tables: dict[str, Declared] | None
    try:
        names = [row.tableName for row in session.sql("SHOW TABLES").collect()]
        frames = {name: session.table(DIALECT.identifier(name)) for name in names}
        tables = {
            name: {field.name: _type(field.dataType.simpleString()) for field in frame.schema.fields}
            for name, frame in frames.items()
            if not frame.isStreaming
        }
    except Exception:  # noqa: BLE001 - what Spark says may hold anything
        tables = None
    if tables is None:
        raise DataError("Spark could not list its tables; check that the application runs, and ask again")
    if not tables:
        raise DataError(
            "the Spark session has no tables or views; name some in the URL, as in ?visits=/data/visits.parquet"
        )
    return tables


def _type(kind: str) -> str | None:
    plain = "string" if kind.startswith("string collate ") else kind.partition("(")[0]
    return _IN_POLICY.get(plain)
