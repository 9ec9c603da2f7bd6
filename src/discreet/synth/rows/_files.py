"""Synthetic rows as files and frames, with the types of the policy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import DataError, MissingExtra, ParameterError
from discreet.release import check_new_file

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = [
    "check_rows_file",
    "check_tables_place",
    "rows_to_pandas",
    "rows_to_polars",
    "write_rows",
    "write_tables",
]


def check_rows_file(path: str | os.PathLike[str]) -> None:
    """Raise `ParameterError` for a file that `write_rows` refuses: another suffix, or one that is there already."""
    if Path(path).suffix.lower() not in _WRITERS:
        raise ParameterError(f"rows go into a file that ends in {', '.join(_WRITERS)}, got {Path(path).name}")
    check_new_file(path)


def write_rows(rows: pa.Table, path: str | os.PathLike[str], name: str = "rows") -> None:
    r"""Write rows to a new file: .parquet, .csv or .duckdb, in which the table has this `name`.

    Types stay as they are, but in CSV, which has none: there NULL is an empty field and texts stand in quotes. Costs
    nothing. Raises `ParameterError` for another suffix or a file that is there already, `DataError` if it cannot be
    written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(pa.table({"n": [1, None]}), f"{folder}/rows.csv")
    ...     Path(folder, "rows.csv").read_text()
    '"n"\n1\n\n'
    """
    check_rows_file(path)
    place = Path(path)
    try:
        _WRITERS[place.suffix.lower()](rows, place, name)
    except (OSError, pa.ArrowException) as error:
        place.unlink(missing_ok=True)
        raise _unwritten(path, error) from None


def _unwritten(path: str | os.PathLike[str], error: Exception) -> DataError:
    reason = getattr(error, "strerror", None) or "the disk may be full"
    return DataError(f"{os.fspath(path)!r} cannot be written: {reason}")


def check_tables_place(path: str | os.PathLike[str]) -> None:
    """Raise `ParameterError` for a place that `write_tables` refuses: a file but .duckdb, or what is there already."""
    place = Path(path)
    if place.suffix.lower() == ".duckdb":
        check_new_file(place)
    elif place.suffix:
        raise ParameterError(f"tables go into a new folder, or a file that ends in .duckdb; got {place.name}")
    elif os.path.lexists(place):
        raise ParameterError(f"there is {os.fspath(path)!r} already; name a new folder")


def write_tables(tables: Mapping[str, pa.Table], path: str | os.PathLike[str]) -> None:
    """Write several tables: into a new .duckdb file, or as NAME.parquet into a new folder.

    Costs nothing. Raises `ParameterError` for another suffix, what is there already, or a name that is no name of a
    file, `DataError` if they cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tables({"a": pa.table({"n": [1]}), "b": pa.table({"n": [2]})}, f"{folder}/rows")
    ...     sorted(each.name for each in Path(folder, "rows").iterdir())
    ['a.parquet', 'b.parquet']
    """
    check_tables_place(path)
    place = Path(path)
    in_database = place.suffix.lower() == ".duckdb"
    odd = next((name for name in tables if not in_database and (Path(name).name != name or name in _NO_NAMES)), None)
    if odd is not None:
        raise ParameterError(f"{odd!r} is no name of a file; write the tables into a .duckdb file")
    try:
        if in_database:
            for name, rows in tables.items():
                _write_duckdb(rows, place, name)
            return
        place.mkdir(parents=True)
        try:
            for name, rows in tables.items():
                _write_parquet(rows, place / f"{name}.parquet", name)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
    except (OSError, pa.ArrowException) as error:
        if in_database:
            place.unlink(missing_ok=True)
        raise _unwritten(path, error) from None


_NO_NAMES = ("", ".", "..")


def _write_parquet(rows: pa.Table, path: Path, name: str) -> None:  # noqa: ARG001 - the file is the table
    import pyarrow.parquet as pq

    pq.write_table(rows, path)


def _write_csv(rows: pa.Table, path: Path, name: str) -> None:  # noqa: ARG001 - the file is the table
    from pyarrow import csv

    csv.write_csv(rows, path)


def _write_duckdb(rows: pa.Table, path: Path, name: str) -> None:
    import duckdb

    quoted = '"' + name.replace('"', '""') + '"'
    try:
        with duckdb.connect(os.fspath(path)) as database:
            database.register("sampled rows", rows)
            database.execute(f'CREATE TABLE {quoted} AS SELECT * FROM "sampled rows"')  # noqa: S608 - it is quoted
    except duckdb.Error as error:
        raise OSError(0, str(error).splitlines()[0]) from None


_WRITERS: dict[str, Callable[[pa.Table, Path, str], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".duckdb": _write_duckdb,
}


def rows_to_pandas(rows: pa.Table) -> pd.DataFrame:
    """Rows as a pandas frame, in which whole numbers and truth values stay what they are where some are null.

    Raises `MissingExtra` without pandas.

    >>> rows_to_pandas(pa.table({"n": [1, None], "m": [2, 3]})).dtypes.astype(str).tolist()
    ['Int64', 'int64']
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("rows_to_pandas() needs pandas: pip install pandas") from None

    def with_nulls(kind: pa.DataType) -> Any:
        return {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get(kind)  # pyright: ignore[reportArgumentType]

    columns: dict[str, Any] = {}
    for name in rows.column_names:
        column = rows.column(name)
        columns[name] = column.to_pandas(types_mapper=with_nulls if column.null_count else None)
    return pd.DataFrame(columns)


def rows_to_polars(rows: pa.Table) -> pl.DataFrame:
    """Rows as a polars frame. Raises `MissingExtra` without polars."""
    try:
        import polars
    except ImportError:
        raise MissingExtra("rows_to_polars() needs polars: pip install polars") from None
    frame = polars.from_arrow(rows)
    assert isinstance(frame, polars.DataFrame)
    return frame
