"""What both commands take: a table in a file, and names of its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["QuasiOption", "SensitiveOption", "TableArgument", "table_in"]

TableArgument = Annotated[
    Path,
    typer.Argument(metavar="TABLE", show_default=False, help="A .parquet or .csv file with a row for each person."),
]
QuasiOption = Annotated[
    str,
    typer.Option(
        "--quasi",
        metavar="A,B,C",
        show_default=False,
        help="The columns by which a person may be recognised: what a neighbour or a register knows.",
    ),
]
SensitiveOption = Annotated[
    str | None,
    typer.Option("--sensitive", metavar="A,B", show_default=False, help="Columns that nobody is to learn of a person."),
]


def table_in(path: Path) -> pa.Table:
    """Read a file of rows; a CSV may have commas or semicolons. Raises `ParameterError`, and `DataError` of rows."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    kind = path.suffix.lower()
    if kind not in {".parquet", ".csv"}:
        raise ParameterError(f"a table is a .parquet or .csv file, not {path.name}")
    try:
        if kind == ".parquet":
            return parquet.ParquetFile(path).read()
        with path.open(encoding="utf-8-sig") as opened:
            first = opened.readline()
        by = ";" if first.count(";") > first.count(",") else ","
        return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=by))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or 'it is no such file'}") from None
    except (pa.ArrowException, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read: it is no {kind[1:]} file of a table") from None
