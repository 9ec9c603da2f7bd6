"""Reports on Apache Spark: each partition is counted where it is, and only counts travel.

A task's counts leave it in pieces, and the pieces of all tasks are added up by number, so that no machine ever holds
more than a part of them, and the driver is sent one state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.elapsed import elapsed
from discreet.errors import DataError, MissingExtra, ParameterError, printable
from discreet.local._files import add_batch
from discreet.local._reports import Integers
from discreet.local._server import Server

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["add_frame"]

E = TypeVar("E")

_PIECE = 1024
"""Counts that travel together: 8 KiB, of which Spark may put 10,000 into one batch."""

_SCHEMA = "piece int, counts binary"

_Batches = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def add_frame(server: Server[E], frame: DataFrame) -> Server[E]:
    """Add the reports in a Spark DataFrame to a server: the same counts as `add_files`, bit for bit.

    The frame has the binary columns ``scheme`` and ``report``, as `to_arrow` makes them, for example
    ``session.read.parquet("reports/*.parquet")``. Each task counts its rows; what is shuffled is at most one state of
    each, as large as `bytes(server)`, whatever the number of rows, and the driver is sent one in all. A task that is
    run twice is counted once. Executors need discreet. Either all reports are counted or, with an error, none. Raises
    `ParameterError` for what is no such frame, `DataError` if Spark fails, and `MissingExtra` without pyspark.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql.functions import col, lit
    except ImportError:
        raise MissingExtra('Spark needs pyspark: pip install "discreet[spark]"') from None
    kinds = dict(getattr(frame, "dtypes", ()))
    if kinds.get("scheme") != "binary" or kinds.get("report") != "binary":
        raise ParameterError("frame must be a Spark DataFrame with the binary columns 'scheme' and 'report'")
    scheme = server.scheme
    total = np.zeros(2 + scheme.cells, dtype=np.int64)
    mine = frame.where(col("scheme") == lit(bytearray(scheme.fingerprint))).select("report")
    pieces = mine.mapInArrow(_counter(scheme.to_json()), _SCHEMA).repartition("piece").mapInArrow(_add_up, _SCHEMA)
    with elapsed():
        try:
            for number, counts in pieces.collect():
                some = np.frombuffer(counts, dtype="<i8")
                total[number * _PIECE : number * _PIECE + some.size] += some
        except (PySparkException, Py4JError) as refusal:
            message = str(refusal)
            if "No module named 'discreet'" in message:
                raise DataError(
                    "Spark could not count the reports: its executors have no discreet; install it on each, "
                    "where PYSPARK_PYTHON points to"
                ) from None
            raise DataError(f"Spark could not count the reports: {printable(message.partition(chr(10))[0])}") from None
    return server.merge(Server.of_vector(scheme, total))


def _counter(document: str) -> _Batches:
    """What a task does with its batches. It is sent to executors with the document, not with the scheme's arrays."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        from discreet.local._schema import from_json

        server = from_json(document).server()
        for batch in batches:
            add_batch(server, batch.column(0))
        vector = server.vector
        pieces = {start // _PIECE: vector[start : start + _PIECE] for start in range(0, vector.size, _PIECE)}
        yield _batch({number: piece for number, piece in pieces.items() if piece.any()})

    return count


def _add_up(batches: Iterator[Any]) -> Iterator[Any]:
    """What a task does with pieces: one of each number is left."""
    total: dict[int, Integers] = {}
    for batch in batches:
        for number, counts in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            some = np.frombuffer(counts.as_buffer(), dtype="<i8")
            total[number] = total[number] + some if number in total else some.astype(np.int64)
    yield _batch(total)


def _batch(pieces: dict[int, Integers]) -> pa.RecordBatch:
    import pyarrow as pa

    counts = pa.array([piece.astype("<i8").tobytes() for piece in pieces.values()], pa.binary())
    return pa.RecordBatch.from_pydict({"piece": pa.array(list(pieces), pa.int32()), "counts": counts})
