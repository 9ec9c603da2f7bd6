"""Reports in Parquet and Arrow files, read through DuckDB, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.elapsed import elapsed
from discreet.errors import DataError, ParameterError, printable
from discreet.local._codec import Decoder
from discreet.local._reports import Bytes, Reports
from discreet.local._server import Server

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["add_batch", "add_files", "to_arrow"]

E = TypeVar("E")

_ROWS_AT_ONCE = 1 << 17
_ARROW = {".arrow", ".feather", ".ipc"}

_SELECT = "SELECT report::BLOB FROM {source} WHERE scheme = ?"


def to_arrow(reports: Reports) -> pa.Table:
    """Reports as a table: ``scheme``, the fingerprint, and ``report``, both binary. Write it with any Parquet writer.

    >>> from discreet.local import KaryRandomizedResponse
    >>> to_arrow(KaryRandomizedResponse(domain=5, epsilon=1).client().encode([0, 1])).column_names
    ['scheme', 'report']
    """
    import pyarrow as pa

    body = pa.py_buffer(np.ascontiguousarray(reports.rows).tobytes())
    kind = pa.binary(max(reports.width, 1))
    rows = pa.FixedSizeBinaryArray.from_buffers(kind, len(reports), [None, body])
    schemes = pa.repeat(pa.scalar(reports.fingerprint), len(reports))
    return pa.table({"scheme": schemes, "report": rows.cast(pa.binary())})


def add_files(server: Server[E], files: str | Path | Sequence[str | Path]) -> Server[E]:
    """Add the reports in Parquet files (``.parquet``) and Arrow files (``.arrow``, ``.feather``) to a server.

    Files have the columns of `to_arrow`; a path may have wildcards, as ``"day=*/*.parquet"``. Rows of other schemes are
    skipped; invalid rows of this scheme are counted in `server.rejected`. Files are read a batch at a
    time, in no particular order, so they may be larger than memory. Either all of a call's reports are counted or, with
    an error, none. Raises `DataError` for files that are missing, damaged or without these columns.

    >>> import tempfile, pyarrow.parquet
    >>> from discreet.local import KaryRandomizedResponse
    >>> scheme = KaryRandomizedResponse(domain=5, epsilon=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.parquet.write_table(to_arrow(scheme.client().encode([0, 1, 2])), f"{folder}/day.parquet")
    ...     add_files(scheme.server(), f"{folder}/*.parquet").reports
    3
    """
    paths = [files] if isinstance(files, str | Path) else list(files)
    if not paths:
        raise ParameterError("files must be a path or a list of paths")
    with elapsed():
        counted = _read(server.scheme, [path for path in paths if Path(path).suffix not in _ARROW], "")
        for path in paths:
            if Path(path).suffix in _ARROW:
                for each in _named(str(path)):
                    counted.merge(_read(server.scheme, [], each))
    return server.merge(counted)


def _named(path: str) -> list[str]:
    """The files that a path with wildcards names, or the path."""
    pattern = Path(path)
    if pattern.exists() or not set("*?[") & set(path):
        return [path]
    start = Path(pattern.anchor)
    return sorted(map(str, start.glob(str(pattern.relative_to(start))))) or [path]


def _read(scheme: Decoder[E], parquet: list[str | Path], arrow: str) -> Server[E]:
    import duckdb
    import pyarrow as pa

    server = Server(scheme)
    if not parquet and not arrow:
        return server
    settings: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    try:
        with duckdb.connect(":memory:", config=settings) as connection:
            if arrow:
                from pyarrow import dataset

                connection.register("arrow", dataset.dataset(arrow, format="ipc"))
                source, given = "arrow", [scheme.fingerprint]
            else:
                source, given = "read_parquet(?)", [[str(path) for path in parquet], scheme.fingerprint]
            result = connection.sql(_SELECT.format(source=source), params=given)
            for batch in result.to_arrow_reader(_ROWS_AT_ONCE):
                add_batch(server, batch.column(0))
    except (duckdb.Error, pa.ArrowException, OSError) as refusal:
        first = printable(str(refusal).splitlines()[0])
        raise DataError(
            f"the files of reports cannot be read: {first}; they must be Parquet or Arrow files with the binary "
            "columns 'scheme' and 'report', as discreet.local.to_arrow makes them"
        ) from None
    return server


def add_batch(server: Server[Any], column: Any) -> None:
    """Add an Arrow array of binary reports to a server; what is missing or of another width is rejected."""
    width, present = server.scheme.layout.width, column.drop_null()
    rows: Bytes = np.zeros((0, width), dtype=np.uint8)
    if len(present):
        _, offsets, body = present.buffers()
        kind = np.int64 if str(present.type).startswith("large") else np.int32
        ends = np.frombuffer(offsets, dtype=kind)[present.offset : present.offset + len(present) + 1].astype(np.int64)
        starts = ends[:-1][np.diff(ends) == width]
        every = np.frombuffer(body or b"", dtype=np.uint8)
        if starts.size == len(present):
            rows = every[ends[0] : ends[-1]].reshape(-1, width)
        else:
            rows = every[starts[:, None] + np.arange(width)]
    server.add(Reports(server.scheme.fingerprint, rows))
    server.reject(len(column) - len(rows))
