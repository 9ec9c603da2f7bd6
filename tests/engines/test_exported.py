"""Sources that hand over their rows themselves, and those that would have to compute them first."""

from __future__ import annotations

import struct
import traceback
from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp

TABLE = pa.table({"u": [1, 2, 3, 4], "x": [1, 2, None, 90], "k": ["a", "b", "a", None], "more": [0] * 4})
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**9},
    "tables": {
        "t": {
            "unit": "u",
            "max_rows": 1,
            "columns": {"x": {"type": "int", "bounds": [0, 9]}, "k": {"type": "string", "keys": ["a", "b"]}},
        }
    },
}


class Stream:
    """An object with nothing but the PyCapsule interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Interchange:
    """An object with nothing but the interchange protocol."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.table.__dataframe__(nan_as_null, allow_copy)


class Bad:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError("the secret of Ada")


class BadInterchange:
    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        raise KeyError("the secret of Ada")


class BadFrame:
    def __narwhals_dataframe__(self) -> Any:
        raise ValueError("the secret of Ada")


def failing(schema: pa.Schema) -> Any:
    yield TABLE.to_batches()[0]
    raise ValueError("the secret of Ada")


SOURCES: dict[str, Callable[[], Any]] = {
    "a stream": lambda: Stream(TABLE),
    "interchange": lambda: Interchange(TABLE),
    "a reader, which is read once": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
    "a record batch": lambda: TABLE.to_batches()[0],
    "narwhals": lambda: nw.from_native(pl.from_arrow(TABLE)),
    "codes for texts": lambda: Stream(TABLE.set_column(2, "k", TABLE.column("k").dictionary_encode())),
    "other texts": lambda: Stream(TABLE.set_column(2, "k", TABLE.column("k").cast(pa.string_view()))),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_are_handed_over(kind: str) -> None:
    with dp.connect({"t": SOURCES[kind]()}, POLICY) as session:
        for _ in range(2):
            answer = session.sql("SELECT k, COUNT(x) AS n, SUM(x) AS s FROM t GROUP BY k ORDER BY k", dp.pure(10**6))
            assert answer.to_arrow().to_pydict() == {"k": ["a", "b"], "n": [1, 1], "s": [1, 2]}


def test_a_release_is_a_source_too() -> None:
    with dp.connect({"t": TABLE}, POLICY) as session:
        release = session.sql("SELECT k, COUNT(*) AS x FROM t GROUP BY k", dp.pure(10**6))
    columns = {"k": {"type": "string", "keys": ["a", "b"]}, "x": {"type": "int", "bounds": [0, 9]}}
    public = {"version": "1", "budget": {"epsilon": 1}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    with dp.connect({"t": release}, public) as session:
        session.sql("SELECT SUM(x) AS s FROM t", dp.pure(1))


@pytest.mark.parametrize("text", [b"\xff\xfe", b"\xed\xa0\x80", b"a\x00b"])
def test_hostile_bytes_in_a_stream_stop_nothing(text: bytes) -> None:
    raw = pa.array([text, b"a", b"b", b"a"], pa.binary())
    unchecked = pa.Array.from_buffers(pa.string(), 4, raw.buffers())
    with dp.connect({"t": Stream(TABLE.set_column(2, "k", unchecked))}, POLICY) as session:
        answer = session.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY k", dp.pure(10**6))
        assert answer.to_arrow().to_pydict() == {"k": ["a", "b"], "n": [2, 1]}


BAD: dict[str, Callable[[], Any]] = {
    "a stream that fails": Bad,
    "interchange that fails": BadInterchange,
    "a reader that fails": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, failing(TABLE.schema)),
    "a column alone": lambda: TABLE.column("x"),
    "a frame that fails": BadFrame,
    "codes of no text": lambda: with_texts(
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 7, 0], pa.int8()), pa.array(["a", "b"]), safe=False)
    ),
    "texts that end before they begin": lambda: with_texts(
        pa.Array.from_buffers(
            pa.string(), 4, [None, pa.py_buffer(struct.pack("<5i", 0, 5, 2, 3, 4)), pa.py_buffer(b"abcdef")]
        )
    ),
}
WORDS = r"does not hand over its rows as a table|is not a source|cannot be read as a frame|do not fit together"


def with_texts(column: pa.Array) -> Stream:
    return Stream(TABLE.set_column(2, "k", column))


@pytest.mark.parametrize("kind", BAD)
def test_what_a_source_says_is_not_repeated(kind: str) -> None:
    with pytest.raises(dp.DataError, match=WORDS) as caught:
        dp.connect({"t": BAD[kind]()}, POLICY)
    assert "Ada" not in "".join(traceback.format_exception(caught.value))


LAZY: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(TABLE).lazy(),
    "polars that would fail on one row": lambda: pl.DataFrame(TABLE).lazy().with_columns(pl.col("k").cast(pl.Int64)),
    "narwhals": lambda: nw.from_native(pl.DataFrame(TABLE).lazy()),
    "DuckDB": lambda: duckdb.sql("SELECT 1 AS u, 2 AS x, 'a' AS k"),
}


@pytest.mark.parametrize("kind", LAZY)
def test_lazy_frames_are_refused(kind: str) -> None:
    with pytest.raises(dp.DataError, match="collect the columns that the policy names first"):
        dp.connect({"t": LAZY[kind]()}, POLICY)
