"""The names and declared types of a file's columns. No value is read, not even a file's own statistics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines._protocol import Declared
from discreet.engines.duckdb._sources import CSV, PARQUET, csv_header, is_database, unsupported
from discreet.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["declared_tables"]

_DUCKDB = {
    "BOOLEAN": "bool",
    "FLOAT": "float",
    "DOUBLE": "float",
    "DECIMAL": "decimal",
    "VARCHAR": "string",
    "ENUM": "string",
    "UUID": "string",
    "DATE": "date",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "int"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "int"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}


def declared_tables(path: Path) -> dict[str, Declared]:
    """From each table's name to its columns; a Parquet or CSV file is one table, called like the file.

    Views of a database are left out, for no query reads them.

    Raises `DataError` if the file is missing, damaged or of another kind.
    """
    lowered = path.name.lower()
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    for suffixes, read in ((PARQUET, _parquet), (CSV, _csv)):
        if lowered.endswith(suffixes):
            suffix = max((s for s in suffixes if lowered.endswith(s)), key=len)
            return {path.name[: -len(suffix)] or "data": read(path)}
    if is_database(path):
        return _database(path)
    raise unsupported(path)


def _parquet(path: Path) -> Declared:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError):
        raise DataError(f"{path} cannot be read as Parquet; check that the file is whole") from None
    return {field.name: _arrow_type(field.type) for field in schema}


def _arrow_type(kind: pa.DataType) -> str | None:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _arrow_type(kind.value_type)
    tests = (
        (types.is_boolean, "bool"),
        (types.is_integer, "int"),
        (types.is_floating, "float"),
        (types.is_decimal, "decimal"),
        (types.is_string, "string"),
        (types.is_large_string, "string"),
        (types.is_date, "date"),
        (types.is_timestamp, "timestamp"),
    )
    return next((name for test, name in tests if test(kind)), None)


def _csv(path: Path) -> Declared:
    header, _ = csv_header(str(path))
    return dict.fromkeys(header, "string")


def _database(path: Path) -> dict[str, Declared]:
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        with duckdb.connect(str(path), read_only=True, config=settings) as connection:
            rows = connection.execute(
                "SELECT table_name, column_name, data_type FROM information_schema.columns "
                "JOIN information_schema.tables USING (table_catalog, table_schema, table_name) "
                "WHERE table_schema = 'main' AND table_catalog = current_database() AND table_type = 'BASE TABLE' "
                "ORDER BY table_name, ordinal_position"
            ).fetchall()
    except duckdb.Error:
        raise DataError(
            f"{path} cannot be opened as a DuckDB database; check that it is one, and that no other process has it "
            "open for writing"
        ) from None
    if not rows:
        raise DataError(f"{path} has no tables in its main schema")
    tables: dict[str, dict[str, str | None]] = {}
    for table, column, kind in rows:
        array = str(kind).endswith("]")
        tables.setdefault(table, {})[column] = None if array else _DUCKDB.get(str(kind).partition("(")[0].strip())
    return dict(tables)
