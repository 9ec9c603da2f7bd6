"""Reports on Apache Spark: each partition is counted where it is, and only counts travel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.elapsed import elapsed
from discreet.errors import DataError, MissingExtra, ParameterError, printable
from discreet.local._files import add_batch
from discreet.local._server import Server

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["add_frame"]

E = TypeVar("E")


def add_frame(server: Server[E], frame: DataFrame) -> Server[E]:
    """Add the reports in a Spark DataFrame to a server: the same counts as `add_files`, bit for bit.

    The frame has the binary columns ``scheme`` and ``report``, as `to_arrow` makes them, for example
    ``session.read.parquet("reports/*.parquet")``. Each task counts its rows and sends back one state, as large as
    `bytes(server)`, whatever the number of rows; a task that is run twice is counted once. Executors need discreet.
    Either all reports are counted or, with an error, none. Raises `ParameterError` for what is no such frame,
    `DataError` if Spark fails, and `MissingExtra` without pyspark.
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
    scheme, found = server.scheme, server.scheme.server()
    mine = frame.where(col("scheme") == lit(bytearray(scheme.fingerprint))).select("report")
    states = mine.mapInArrow(_counter(scheme.to_json()), "state binary")
    with elapsed():
        try:
            for row in states.toLocalIterator(prefetchPartitions=True):
                found.merge(scheme.server(state=bytes(row["state"])))
        except (PySparkException, Py4JError) as refusal:
            said = str(refusal)
            if "No module named 'discreet'" in said:
                raise DataError(
                    "Spark could not count the reports: its executors have no discreet; install it on each, "
                    "where PYSPARK_PYTHON points to"
                ) from None
            raise DataError(f"Spark could not count the reports: {printable(said.partition(chr(10))[0])}") from None
    return server.merge(found)


def _counter(document: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with its batches. It is sent to executors with the document, not with the scheme's arrays."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from discreet.local._schema import from_json

        server = from_json(document).server()
        for batch in batches:
            add_batch(server, batch.column(0))
        yield pa.RecordBatch.from_pydict({"state": pa.array([bytes(server)], pa.binary())})

    return count
