"""Tables in files that a user names on the command line, outside of any policy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["table_in"]

_PARQUET = (".parquet", ".pq")


def table_in(path: Path, types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """The table of a Parquet or CSV file.

    A CSV file is UTF-8 with a line of names, and has commas or semicolons. An empty cell is null and nothing else is:
    ``NA`` may be a country, a name or a code. Columns of a CSV file named in `types` are of those, others as they look.

    Raises `ParameterError` for a file of another kind, and `DataError` for one that cannot be read.
    """
    import pyarrow as pa

    suffix = path.suffix.casefold()
    if suffix not in {".csv", *_PARQUET}:
        raise ParameterError(f"a table is a .parquet or .csv file, not {path.name}")
    try:
        if suffix in _PARQUET:
            from pyarrow import parquet

            return parquet.read_table(path, partitioning=None)
        return _csv_table(path, types or {})
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "it is damaged"
        raise DataError(f"{path} cannot be read: {reason}") from None
    except (pa.ArrowException, ValueError):
        kind = "Parquet" if suffix in _PARQUET else "CSV"
        raise DataError(f"{path} cannot be read: it is no {kind} file of a table") from None


def _csv_table(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    with path.open(encoding="utf-8-sig") as opened:
        names = opened.readline(1 << 20)
    delimiter = ";" if names.count(";") > names.count(",") else ","
    table = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=dict(types), strings_can_be_null=True, null_values=[""]),
    )
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise ValueError("a column is no text in UTF-8")
    return table
