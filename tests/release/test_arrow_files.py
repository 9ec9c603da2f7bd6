"""A stranger's Arrow stream is read at a cost that follows from its size, or is refused."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.combined import Statement
from discreet.errors import LedgerError
from discreet.release import parse_release_file, read_table

ROWS = 10**6
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10},
    "tables": {"t": {"unit": "who", "max_rows": 1, "columns": {"k": {"type": "string", "keys": ["a", "b"]}}}},
}


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def without_bytes(kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(b"")])


FREE: dict[str, Callable[[], pa.Array]] = {
    "null": lambda: pa.nulls(ROWS),
    "run ends": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array([7])),
    "binary of no bytes": lambda: without_bytes(pa.binary(0)),
    "struct of no fields": lambda: pa.Array.from_buffers(pa.struct([]), ROWS, [None]),
    "struct of null": lambda: pa.StructArray.from_arrays([pa.nulls(ROWS)], ["a"]),
    "lists of no size": lambda: pa.Array.from_buffers(
        pa.list_(pa.int64(), 0), ROWS, [None], children=[pa.nulls(0, pa.int64())]
    ),
    "lists of null": lambda: pa.ListArray.from_arrays(pa.array([0, ROWS], pa.int32()), pa.nulls(ROWS)),
    "union": lambda: pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    "dictionary": lambda: pa.array(["a"] * 9).dictionary_encode(),
    "views": lambda: pa.array(["a" * 20] * 9, pa.string_view()),
    "views of lists": lambda: pa.array([[1]] * 9, pa.list_view(pa.int64())),
    "map": lambda: pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "lists of lists": lambda: pa.array([[[1]]]),
}


@pytest.mark.parametrize("name", FREE)
def test_columns_that_stand_for_more_than_their_bytes_are_refused(name: str) -> None:
    with dp.connect({"t": pa.table({"who": range(9), "k": ["a"] * 9})}, POLICY) as session:
        metadata = pa.ipc.open_stream(
            session.answer(Statement("SELECT COUNT(*) AS n FROM t", dp.pure(1))).to_bytes()
        ).schema.metadata
    payload = stream(pa.table({"c0": FREE[name]()}).replace_schema_metadata(metadata))
    with pytest.raises(ValueError, match=r"column of a release|field of a release|more rows"):
        read_table(payload)
    for read in (parse_release_file, dp.Release.from_bytes):
        with pytest.raises(LedgerError):
            read(payload)


def test_what_releases_have_is_read() -> None:
    table = pa.table(
        {
            "a": pa.array([1, None, 3]),
            "b": pa.array([1.5, 2.5, None]),
            "c": pa.array([True, None, False]),
            "d": pa.array(["x", None, "z"]),
            "e": pa.array([0, 1, None], pa.date32()),
            "f": pa.array([0, 1, None], pa.timestamp("us", tz="Europe/Zurich")),
            "g": pa.array([[1.5], [], [2.5, 3.5]]),
            "h": pa.array([1, 2, None], pa.decimal128(38, 2)),
        }
    )
    assert read_table(stream(table)).equals(table)
    assert read_table(stream(table.slice(0, 0))).num_rows == 0
    batched = pa.concat_tables([table, table.slice(1)])
    assert read_table(stream(batched)).equals(batched)


def test_more_rows_than_the_bytes_hold_are_refused() -> None:
    payload = stream(pa.table({"c0": pa.array([77_777] * 9)}))
    for rows in (10, 10**6, 2**40):  # the length of the batch, and that of its column
        longer = payload.replace(struct.pack("<q", 9), struct.pack("<q", rows))
        assert longer != payload
        with pytest.raises((ValueError, pa.ArrowException)):
            read_table(longer)


def test_bytes_that_many_columns_share_are_refused() -> None:
    payload = stream(pa.table({"c0": np.arange(8), "c1": np.arange(8)}))
    last = struct.pack("<qqq", 0, 64, 64)  # no validity; where the values are, and their size
    before, _, after = payload.rpartition(last)
    with pytest.raises(ValueError, match="shared"):
        read_table(before + struct.pack("<qqq", 0, 0, 128) + after)


@pytest.mark.parametrize("place", ["schema", "field", "name", "zone"])
def test_long_metadata_is_refused(place: str) -> None:
    long = "x" * 1000
    kind = pa.timestamp("s", tz=long) if place == "zone" else pa.int64()
    field = pa.field(long if place == "name" else "c0", kind, metadata={"a": "b"} if place == "field" else None)
    metadata = {"discreet": "{}", "more": "1"} if place == "schema" else None
    with pytest.raises(ValueError, match=r"metadata|field|zone"):
        read_table(stream(pa.schema([field], metadata=metadata).empty_table()))


def test_damaged_bytes_end_in_an_error_at_once() -> None:
    random = np.random.default_rng(7)
    genuine = stream(pa.table({"c0": np.arange(30), "c1": ["a", "b", "c"] * 10, "c2": [[1.5], [], [2.5]] * 10}))
    tracemalloc.start()
    began = time.process_time()
    for _ in range(2_000):
        damaged = bytearray(genuine)
        for place in random.integers(0, len(genuine), random.integers(1, 6)):
            damaged[place] = random.integers(0, 256)
        payload = bytes(damaged[: random.integers(0, 2 * len(genuine))])
        try:
            table = read_table(payload)
        except (ValueError, OSError, pa.ArrowException):
            continue
        assert table.num_rows * table.num_columns <= 8 * len(payload)
        table.to_pylist()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (time.process_time() - began < 10, peak < 10_000_000) == (True, True)
