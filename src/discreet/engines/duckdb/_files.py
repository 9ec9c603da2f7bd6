"""Kinds of files, by name, and the header of a CSV file."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from pathlib import Path
from typing import TextIO

from discreet.errors import DataError

__all__ = ["CSV", "DATABASE", "PARQUET", "csv_header", "is_database", "unsupported"]

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
    if not header or len({name.casefold() for name in header}) != len(header) or "" in header:
        raise DataError(f"{path}: the header line must name every column, each name once")
    return header, delimiter


def _open_text(path: str) -> TextIO:
    """A file as text, in which bytes that are not UTF-8 are surrogates.

    So only those of the header are refused, and none in the rows that are read ahead of need.
    """
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="")
