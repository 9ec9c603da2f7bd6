"""Sources that DuckDB can read: Parquet and CSV files, DuckDB databases, Arrow tables and data frames.

Only names and declared types are looked at. A CSV file is read as text, whatever it holds: no type is sniffed.
"""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa

from discreet.engines.duckdb._expressions import identifier, text
from discreet.errors import DataError

if TYPE_CHECKING:
    Values = pa.Array[Any] | pa.ChunkedArray[Any]

__all__ = ["is_database", "relation_sql"]

_PARQUET = (".parquet", ".pq")
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_DATABASE = (".duckdb", ".ddb", ".db")


def is_database(path: str | os.PathLike[str]) -> bool:
    """Whether a path is named like a DuckDB database."""
    return os.fspath(path).lower().endswith(_DATABASE)


def relation_sql(connection: duckdb.DuckDBPyConnection, table: str, source: object, columns: list[str]) -> str:
    """What FROM reads for a table; frames are registered on the connection. `columns` are those the policy names.

    Raises `DataError` for a missing file or a kind of source that is not supported.
    """
    if not isinstance(source, str | os.PathLike):
        name = f"frame:{table}"
        connection.register(name, _arrow(table, source, columns))
        return identifier(name)
    path = os.fspath(source)
    lowered = path.lower()
    if is_database(path):
        return f"{_attach(connection, path)}.{identifier(table)}"
    if lowered.endswith(_PARQUET):
        _must_exist(path)
        return f"read_parquet({text(path)})"
    if lowered.endswith(_CSV):
        _must_exist(path)
        return _csv_sql(path)
    raise DataError(
        f"{path}: this kind of file is not supported; give Parquet (.parquet), CSV (.csv, .tsv, also .gz), "
        "a DuckDB database (.duckdb, .db), an Arrow table or a data frame"
    )


def _attach(connection: duckdb.DuckDBPyConnection, path: str) -> str:
    """Attach a DuckDB database read-only, once; returns its quoted name. Raises `DataError` if that fails."""
    _must_exist(path)
    name = identifier(f"file:{Path(path).resolve()}")
    try:
        connection.execute(f"ATTACH IF NOT EXISTS {text(path)} AS {name} (READ_ONLY)")
    except duckdb.Error:
        raise DataError(
            f"{path} cannot be opened as a DuckDB database; check that it is one, "
            "and that no other process has it open for writing"
        ) from None
    return name


def _must_exist(path: str) -> None:
    if any(mark in path for mark in "*?[") and not Path(path).exists():
        return
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file")


def _csv_sql(path: str) -> str:
    tabbed = path.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "\t" if tabbed else ","
    try:
        with _open_text(path) as file:
            header = next(csv.reader(file, delimiter=delimiter), [])
    except (OSError, UnicodeDecodeError, csv.Error, EOFError):
        raise DataError(f"{path} cannot be read as CSV in UTF-8 with a header line") from None
    if not header or len({name.casefold() for name in header}) != len(header) or "" in header:
        raise DataError(f"{path}: the header line must name every column, each name once")
    types = ", ".join(f"{text(name)}: 'VARCHAR'" for name in header)
    return (
        f"read_csv({text(path)}, auto_detect = false, header = true, delim = {text(delimiter)}, quote = '\"', "
        f"escape = '\"', columns = {{{types}}}, null_padding = true, ignore_errors = true, strict_mode = false, "
        "parallel = false)"
    )


def _open_text(path: str) -> TextIO:
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return Path(path).open(encoding="utf-8-sig", newline="")


def _arrow(table: str, source: object, columns: list[str]) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    try:
        frame = nw.from_native(source, eager_only=True)  # pyright: ignore[reportArgumentType,reportCallIssue]
    except TypeError:
        raise DataError(
            f"{table}: a {type(source).__name__} is not a source; give a path, an Arrow table, "
            "or a pandas or polars frame"
        ) from None
    wanted = {name.casefold() for name in columns}
    arrays: dict[str, Values] = {}
    for name in frame.columns:
        if name.casefold() in wanted:
            arrays[name] = _column(frame[name])
    return pa.Table.from_arrays(list(arrays.values()), names=list(arrays))


def _column(series: nw.Series[Any]) -> Values:
    """A column as Arrow, total on any content: Python objects become their text."""
    if isinstance(series.dtype, nw.Object | nw.Unknown):
        return pa.array([None if _missing(value) else str(value) for value in series.to_list()], pa.string())
    return series.to_arrow()


def _missing(value: object) -> bool:
    return value is None or value != value  # noqa: PLR0124
