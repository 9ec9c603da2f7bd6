"""Sources that DuckDB can read: Parquet and CSV files, DuckDB databases, Arrow tables and data frames.

Only names and declared types are looked at. A CSV file is read as text, whatever it holds: no type is sniffed.
"""

from __future__ import annotations

import csv
import gzip
import os
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.interchange as pi
from narwhals.exceptions import NarwhalsError

from discreet.engines.duckdb._dialect import identifier, text
from discreet.errors import DataError

if TYPE_CHECKING:
    Values = pa.Array[Any] | pa.ChunkedArray[Any]

__all__ = [
    "CSV",
    "DATABASE",
    "PARQUET",
    "csv_header",
    "exported",
    "is_database",
    "is_lazy",
    "relation_sql",
    "unsupported",
]


PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
DATABASE = (".duckdb", ".ddb", ".db")


def is_database(path: str | os.PathLike[str]) -> bool:
    """Whether a path is named like a DuckDB database."""
    return os.fspath(path).lower().endswith(DATABASE)


def unsupported(path: str | os.PathLike[str]) -> DataError:
    """The error for a file of another kind."""
    return DataError(
        f"{os.fspath(path)}: this kind of file is not supported; give Parquet (.parquet), CSV (.csv, .tsv, also .gz), "
        "a DuckDB database (.duckdb, .db), an Arrow table or a data frame"
    )


def csv_header(path: str) -> tuple[list[str], str]:
    """The names in a CSV file's first line, and the delimiter that its name implies. No other line is looked at.

    Raises `DataError` if there is no such line in UTF-8, or a name is missing or repeated.
    """
    delimiter = "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
    try:
        with _open_text(path) as file:
            header = next(csv.reader(file, delimiter=delimiter), [])
        "".join(header).encode()
    except (OSError, UnicodeEncodeError, csv.Error, EOFError, zlib.error):
        raise DataError(f"{path} cannot be read as CSV in UTF-8 with a header line") from None
    if not header:
        raise DataError(f"{path}: the header line is empty; it must name the columns")
    wrong = [*_unnamed(header), *_repeated(header)]
    if wrong:
        raise DataError(f"{path}: in the header line, {'; '.join(wrong)}")
    return header, delimiter


def _unnamed(header: list[str]) -> Iterator[str]:
    places = [str(i) for i, name in enumerate(header, 1) if not name]
    if places:
        verb = "column {} has" if len(places) == 1 else "columns {} have"
        yield f"{verb.format(', '.join(places))} no name: write one into the file"


def _repeated(header: list[str]) -> Iterator[str]:
    """Of each name that several columns have, where they are and which to rename."""
    places: dict[str, list[int]] = {}
    for i, name in enumerate(header):
        if name:
            places.setdefault(name.casefold(), []).append(i)
    for same in places.values():
        if len(same) == 1:
            continue
        first, *others = (header[i] for i in same)
        alike = "have one name" if set(others) == {first} else "have names that differ by case alone, which SQL ignores"
        where = f"{', '.join(str(i + 1) for i in same[:-1])} and {same[-1] + 1}"
        renamed = " and ".join(f"column {i + 1} to, say, {header[i]}_{n}" for n, i in enumerate(same[1:], 2))
        yield f"columns {where} ({', '.join(dict.fromkeys([first, *others]))}) {alike}: rename {renamed}"


def _open_text(path: str) -> TextIO:
    """A file as text, in which bytes that are not UTF-8 are surrogates.

    So only those of the header are refused, and none in the rows that are read ahead of need.
    """
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def is_lazy(source: object) -> bool:
    """Whether a source is a query that is yet to run: a lazy frame, or a relation of a database."""
    try:
        return isinstance(nw.from_native(source, pass_through=True), nw.LazyFrame)  # pyright: ignore[reportArgumentType]
    except Exception:  # noqa: BLE001 - an object of the caller's may raise anything
        return False


def exported(table: str, source: object) -> pa.Table | None:
    """The rows of an object with ``__arrow_c_stream__`` or ``__dataframe__``; None if it has neither.

    A stream is read once, and whole. Raises `DataError` if that fails, without the object's own message.
    """
    try:
        if hasattr(source, "__arrow_c_stream__"):
            with pa.RecordBatchReader.from_stream(source) as reader:  # pyright: ignore[reportArgumentType]
                return reader.read_all()
        if hasattr(source, "__dataframe__"):
            with warnings.catch_warnings(action="ignore"):  # the protocol is old, and libraries say so
                return pi.from_dataframe(source)  # pyright: ignore[reportAttributeAccessIssue]
    except Exception:  # noqa: BLE001 - what it says may be of a row
        raise DataError(
            f"{table}: the {type(source).__name__} does not hand over its rows as a table; give an Arrow table"
        ) from None
    return None


def relation_sql(connection: duckdb.DuckDBPyConnection, table: str, source: object, columns: list[str]) -> str:
    """What FROM reads for a table; frames are registered on the connection. `columns` are those the policy names.

    Raises `DataError` for a missing file or a kind of source that is not supported.
    """
    if not isinstance(source, str | os.PathLike):
        name = f"frame:{table}"
        frame = _arrow(table, source, columns)
        try:
            connection.register(name, frame)
        except duckdb.Error:
            types = ", ".join(f"{field.name} {field.type}" for field in frame.schema)
            raise DataError(
                f"{table}: DuckDB cannot read one of these Arrow types: {types}; cast the column first"
            ) from None
        return identifier(name)
    path = os.fspath(source)
    lowered = path.lower()
    if is_database(path):
        database = _attach(connection, path)
        _check_stored(connection, database, table, columns)
        return f"{identifier(database)}.main.{identifier(table)}"
    if lowered.endswith(PARQUET):
        _must_exist(path)
        _refuse_milliseconds(connection, path, columns)
        return f"read_parquet({text(path)}, utf8_validation = 'replace')"
    if lowered.endswith(CSV):
        _must_exist(path)
        return _csv_sql(path)
    raise unsupported(path)


def _attach(connection: duckdb.DuckDBPyConnection, path: str) -> str:
    """Attach a DuckDB database read-only, once; returns its name. Raises `DataError` if that fails."""
    _must_exist(path)
    name = f"file:{Path(path).resolve()}"
    try:
        connection.execute(f"ATTACH IF NOT EXISTS {text(path)} AS {identifier(name)} (READ_ONLY)")
    except duckdb.Error:
        raise DataError(
            f"{path} cannot be opened as a DuckDB database; check that it is one, "
            "and that no other process has it open for writing"
        ) from None
    return name


def _check_stored(connection: duckdb.DuckDBPyConnection, database: str, table: str, columns: list[str]) -> None:
    """Raise `DataError` unless a table of the main schema stores what is read of it.

    What a view or a generated column computes may fail on one row, or mix the rows of several people, and its names may
    mean something else on this connection.
    """
    where = [database, table]
    views = connection.execute(
        "SELECT view_name FROM duckdb_views() "
        "WHERE database_name = ? AND schema_name = 'main' AND lower(view_name) = lower(?)",
        where,
    ).fetchall()
    if views:
        raise DataError(
            f"{table} is a view: it could fail on one row, or mix the rows of several people; make a table of it, "
            f"CREATE TABLE … AS FROM {table}, and name that in the policy"
        )
    computed = connection.execute(
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_catalog = ? AND table_schema = 'main' AND lower(table_name) = lower(?) "
        "AND is_generated <> 'NEVER'",
        where,
    ).fetchall()
    wanted = {name.casefold() for name in columns}
    generated = [name for (name,) in computed if name.casefold() in wanted]
    if generated:
        raise DataError(
            f"{', '.join(generated)} of {table} is a generated column, which could fail on one row; store its values "
            "in a column, or leave it out of the policy"
        )


def _refuse_milliseconds(connection: duckdb.DuckDBPyConnection, path: str, columns: list[str]) -> None:
    """Raise `DataError` for timestamps in milliseconds: DuckDB fails on one that does not fit microseconds."""
    try:
        stored = connection.execute(
            f"SELECT DISTINCT name FROM parquet_schema({text(path)}) WHERE converted_type = 'TIMESTAMP_MILLIS' "
            "OR CAST(logical_type AS VARCHAR) LIKE '%MILLIS=MilliSeconds%'"
        ).fetchall()
    except duckdb.Error:
        raise DataError(f"{path} cannot be read as Parquet; check that the file is whole") from None
    wanted = {name.casefold() for name in columns}
    refused = [name for (name,) in stored if name.casefold() in wanted]
    if refused:
        raise DataError(
            f"{path}: {', '.join(refused)} is stored in milliseconds, which DuckDB does not read for every value; "
            "store it in microseconds, or leave it out of the policy"
        )


def _must_exist(path: str) -> None:
    if any(mark in path for mark in "*?[") and not Path(path).exists():
        return
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file")


def _csv_sql(path: str) -> str:
    header, delimiter = csv_header(path)
    types = ", ".join(f"{text(name)}: 'VARCHAR'" for name in header)
    return (
        f"read_csv({text(path)}, auto_detect = false, header = true, delim = {text(delimiter)}, quote = '\"', "
        f"escape = '\"', columns = {{{types}}}, null_padding = true, ignore_errors = true, strict_mode = false, "
        "parallel = false)"
    )


def _arrow(table: str, source: object, columns: list[str]) -> pa.Table:
    """The columns that the policy names, as Arrow; what it does not name is not looked at."""
    frame = _frame(table, source)
    names: list[object] = list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)
    wanted = {name.casefold() for name in columns}
    chosen = {i: name for i, name in enumerate(names) if isinstance(name, str) and name.casefold() in wanted}
    if len({name.casefold() for name in chosen.values()}) < len(chosen):
        raise DataError(f"{table}: two columns of the source have one name, or differ by case alone; rename one")
    if not columns:  # rows alone: DuckDB knows no table without columns
        return pa.Table.from_arrays([pa.nulls(len(frame), pa.bool_())], names=["nothing"])
    arrays: list[Values] = []
    for i, name in chosen.items():
        try:
            arrays.append(_total(frame.column(i)) if isinstance(frame, pa.Table) else _column(frame[name]))
        except pa.ArrowNotImplementedError:
            raise DataError(f"{table}: {name} has an Arrow type that cannot be read; cast the column first") from None
        except pa.ArrowException:
            raise DataError(f"{table}: the Arrow buffers of {name} do not fit together; make the column anew") from None
    return pa.Table.from_arrays(arrays, names=list(chosen.values()))


def _frame(table: str, source: object) -> pa.Table | nw.DataFrame[Any]:
    if isinstance(source, pa.Table):
        return source
    if is_lazy(source):
        raise DataError(
            f"{table}: a {type(source).__name__} is a query that is yet to run, and may fail on one row; collect the "
            "columns that the policy names first, and give the frame"
        )
    try:
        return nw.from_native(source, eager_only=True)  # pyright: ignore[reportArgumentType,reportCallIssue]
    except TypeError:
        rows = exported(table, source)
    except NarwhalsError:
        raise DataError(f"{table}: this frame cannot be read; every column needs a name, each name once") from None
    except Exception:  # noqa: BLE001 - an object of the caller's may raise anything
        raise DataError(
            f"{table}: the {type(source).__name__} cannot be read as a frame; give an Arrow table"
        ) from None
    if rows is None:
        raise DataError(
            f"{table}: a {type(source).__name__} is not a source; give a path, an Arrow table, a pandas or polars "
            "frame, or an object with __arrow_c_stream__ or __dataframe__"
        )
    return rows


def _column(series: nw.Series[Any]) -> Values:
    """A column as Arrow, total on any content: Python objects become their text."""
    if not isinstance(series.dtype, nw.Object):
        try:
            array = series.to_arrow()
        except Exception:  # noqa: BLE001 - a value that Arrow cannot hold must not speak
            array = None
        if array is not None and not _is_written(array.type):
            return _total(array)
    return pa.array([_text(value) for value in series.to_list()], pa.string())


def _is_written(kind: pa.DataType) -> bool:
    """Whether values of a type of pandas mean more than what is stored of them."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name in ("pandas.period", "pandas.interval")


def _total(column: Values) -> Values:
    """An Arrow column that DuckDB reads whatever its values: text is Unicode, times fit microseconds, else null."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _total(column.cast(kind.value_type))
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name not in ("arrow.uuid", "arrow.bool8"):
        return _total(column.cast(kind.storage_type))
    if pa.types.is_null(kind):  # what type the values would have had must not tell whether there are any
        return pa.nulls(len(column), pa.string())
    if pa.types.is_run_end_encoded(kind):
        return _total(pc.run_end_decode(column))  # pyright: ignore[reportAttributeAccessIssue]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raw = column.cast(pa.large_string()).cast(pa.large_binary())
            raw.validate(full=True)  # of where texts begin and end
            texts = (None if item is None else item.decode("utf-8", "replace") for item in raw.to_pylist())
            return pa.array(texts, pa.string())
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        most = 2**62 // (10**6 if kind.unit == "s" else 10**3)
        count = column.cast(pa.int64())
        inside = pc.and_(pc.greater_equal(count, pa.scalar(-most)), pc.less_equal(count, pa.scalar(most)))
        return pc.if_else(inside, column, pa.scalar(None, kind)).cast(pa.timestamp("us", kind.tz))
    return column


def _text(value: object) -> str | None:
    """The text of a value; None if it is missing, or if it has none that is Unicode."""
    try:
        if value is None or value != value:  # noqa: PLR0124
            return None
        written = str(value)
        written.encode()
    except Exception:  # noqa: BLE001 - an object of the caller's may raise anything
        return None
    return written
