"""No row, however odd, makes a query fail, escapes a cap or gets its own spelling released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp

EXACT = dp.approx(10**6, 0.4)
NOT_UTF8 = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff\xfe"], pa.binary()).buffers())


def _policy(kind: str, unit: str = "u", **caps: int) -> dict[str, Any]:
    caps = {} if unit == "rows" else {"max_rows": 1, **caps}
    table = {"unit": unit, **caps, "columns": {"k": {"type": kind}}}
    return {"version": "1", "budget": {"epsilon": 10**9, "delta": 0.9}, "tables": {"t": table}}


def _ask(source: object, policy: dict[str, Any], query: str) -> list[dict[str, Any]]:
    with dp.connect({"t": source}, policy) as session:
        return session.sql(query, EXACT).to_arrow().to_pylist()


@pytest.mark.parametrize("unit", ["u", "k", "rows"])
@pytest.mark.parametrize("source", ["arrow", "large", "dictionary", "parquet"])
def test_text_that_is_not_unicode_stops_nothing(tmp_path: Path, source: str, unit: str) -> None:
    column = {"large": NOT_UTF8.cast(pa.large_string()), "dictionary": NOT_UTF8.dictionary_encode()}.get(
        source, NOT_UTF8
    )
    table: Any = pa.table({"u": [1, 2], "k": column})
    if source == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        table = tmp_path / "t.parquet"
    key = "LOWER(k)" if unit == "k" else "k"  # what names people makes no groups
    for query in (
        f"SELECT {key} AS key, COUNT(*) AS n FROM t GROUP BY {key}",
        "SELECT COUNT(*) AS n FROM t WHERE NOT k = 'no'",
    ):
        rows = _ask(table, _policy("string", unit), query)
        assert "GROUP" in query or rows == [{"n": 2}]


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_beyond_all_calendars_is_null(unit: str, zone: str | None) -> None:
    table = pa.table({"u": [1, 2], "k": pa.array([0, 2**62], pa.timestamp(unit, zone))})
    kept = 2 if unit == "ns" else 1  # 2**62 nanoseconds after 1970 is in 2116
    assert _ask(table, _policy("timestamp"), "SELECT COUNT(k) AS k, COUNT(*) AS n FROM t") == [{"k": kept, "n": 2}]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_parquet_times_in_milliseconds_are_refused_whatever_they_say(tmp_path: Path, zone: str | None) -> None:
    pq.write_table(pa.table({"u": [1], "k": pa.array([0], pa.timestamp("ms", zone))}), tmp_path / "t.parquet")
    with pytest.raises(dp.DataError, match="microseconds"):
        dp.connect({"t": tmp_path / "t.parquet"}, _policy("timestamp"))


@pytest.mark.parametrize(
    "kind", ["UNION(a INT, b VARCHAR)", "STRUCT(a INT)", "INT[]", "MAP(INT, INT)", "TIME", "INTERVAL", "BIT"]
)
def test_types_without_a_defined_reading_are_refused(tmp_path: Path, kind: str) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t (u {kind}, k {kind}, i INT)")
    for unit in ("u", "rows"):
        with pytest.raises(dp.DataError, match="not supported"):
            dp.connect(tmp_path / "t.duckdb", _policy("string", unit))


def test_a_collation_neither_merges_keys_nor_shows_one_persons_spelling(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (u VARCHAR COLLATE NOCASE, k VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('a', 'pArIs'), ('A', 'Paris')")
        connection.execute("INSERT INTO t SELECT i, 'paris' FROM range(500) r(i)")
    query = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
    with dp.connect(tmp_path / "t.duckdb", _policy("string")) as session:
        tight = session.sql(query, dp.approx(1000, 1e-9)).to_arrow().to_pylist()
    assert tight == [{"k": "paris", "n": 500}]
    policy = _policy("string", "rows")
    policy["tables"]["t"]["columns"]["k"]["keys"] = ["paris", "pArIs", "Paris"]
    with dp.connect(tmp_path / "t.duckdb", policy) as session:
        assert [row["n"] for row in session.sql(query, dp.pure(1000)).to_arrow().to_pylist()] == [500, 1, 1]


def test_what_the_engine_said_is_not_even_the_context_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.connect({"t": pa.table({"u": [1], "k": ["canary"]})}, _policy("string")) as session:

        class Broken:
            def execute(self, _: str) -> None:
                raise duckdb.InvalidInputException("canary")

            def close(self) -> None:
                return None

        monkeypatch.setattr(session._engine, "_connection", Broken())
        with pytest.raises(dp.DataError) as caught:
            session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(1))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_errors_of_an_answer_times_a_key_are_row_by_row() -> None:
    policy = _policy("string", "rows")
    policy["tables"]["t"]["columns"] = {"k": {"type": "int", "keys": [0, 25, 50]}}
    with dp.connect({"t": pa.table({"k": [0, 25]})}, policy) as session:
        query = "SELECT k, COUNT(*) * k AS m, COUNT(*) AS n FROM t GROUP BY k"
        release = session.sql(query, dp.pure(0.1))
        one = release.error("n")[0]
        assert list(release.error("m")) == [0, 25 * one, 50 * one]
        assert session.plan(query, dp.pure(0.1)).error("m") == 50 * one


def test_count_of_a_condition_counts_where_it_is_not_null() -> None:
    policy = _policy("string", "rows")
    policy["tables"]["t"]["columns"] = {"x": {"type": "int"}, "y": {"type": "int"}}
    table = pa.table({"x": [1, None, 3, None], "y": [5, 5, 0, 0]})
    counts = "COUNT(x IS NULL) AS a, COUNT(x > 1 OR y > 1) AS b, COUNT(x > 1 AND y > 1) AS c, COUNT(1 / y) AS d"
    assert _ask(table, policy, f"SELECT {counts} FROM t") == [{"a": 4, "b": 3, "c": 3, "d": 2}]


def _raw_time(unit: str, zone: str | None, value: int) -> pa.Array:
    return pa.array([0, value], pa.int64()).view(pa.timestamp(unit, zone))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["string", "timestamp", "date"])
@pytest.mark.parametrize("value", [-(2**63), -(2**63) + 2, 2**63 - 2])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_no_stored_time_stops_a_query(unit: str, value: int, kind: str) -> None:
    table = pa.table({"u": [1, 2], "k": _raw_time(unit, None, value)})
    (row,) = _ask(table, _policy(kind), "SELECT COUNT(DISTINCT k) AS k, COUNT(*) AS n FROM t")
    assert row["n"] == 2


@pytest.mark.parametrize("value", [-(2**63), -(2**63) + 2])
def test_nor_does_one_in_parquet(tmp_path: Path, value: int) -> None:
    pq.write_table(pa.table({"u": [1, 2], "k": _raw_time("us", None, value)}), tmp_path / "t.parquet")
    (row,) = _ask(tmp_path / "t.parquet", _policy("string"), "SELECT COUNT(DISTINCT k) AS k, COUNT(*) AS n FROM t")
    assert row["n"] == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "unit"), [("string", "u"), ("decimal", "u"), ("string", "k")])
@pytest.mark.parametrize("stored", ["arrow", "parquet"])
@pytest.mark.parametrize(("precision", "scale"), [(38, 38), (38, 2), (30, 2), (19, 0), (18, 18)])
def test_no_decimal_beyond_its_precision_stops_a_query(
    tmp_path: Path, precision: int, scale: int, stored: str, kind: str, unit: str
) -> None:
    """What is beyond is read as the largest number there is."""
    most = 10**precision - 1
    beyond = [-(2**127), 2**127 - 1, 10**38, -(10**38)] if precision > 18 else [-(2**63), 2**63 - 1, 10**18]
    raw = b"".join(value.to_bytes(16, "little", signed=True) for value in (0, most, -most, *beyond))
    column = pa.Array.from_buffers(pa.decimal128(precision, scale), len(raw) // 16, [None, pa.py_buffer(raw)])
    source: object = pa.table({"u": range(len(column)), "k": column})
    if stored == "parquet" and precision == 38:  # what holds fewer digits cannot be written
        pq.write_table(source, tmp_path / "t.parquet")
        source = tmp_path / "t.parquet"
    rows = "k <> 0" if kind == "decimal" else "k IS NOT NULL"
    policy = _policy(kind, unit)
    policy["tables"]["t"]["columns"]["k"] |= {"bounds": [-1, 1]} if kind == "decimal" else {}
    (row,) = _ask(source, policy, f"SELECT COUNT(k) AS k, COUNT(*) FILTER (WHERE {rows}) AS n FROM t")
    assert row == {"k": len(column) if unit == "u" else 3, "n": len(column) - (kind == "decimal") if unit == "u" else 3}


def test_what_a_frame_holds_as_arrow_stops_nothing() -> None:
    for column in (NOT_UTF8, _raw_time("ms", None, 2**63 - 2)):
        frame = pd.DataFrame({"u": [1, 2], "k": pd.Series(pd.arrays.ArrowExtensionArray(column))})
        rows = _ask(frame, _policy("string"), "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
        assert sum(row["n"] for row in rows) <= 2


def test_the_two_zeros_are_one_person_whatever_tables_are_read() -> None:
    """One person of two rows in each table, of which one counts: two in all."""
    table = {"unit": "u", "max_rows": 1, "columns": {}}
    policy = {"version": "1", "budget": {"epsilon": 10**9}, "tables": {"a": table, "b": table}}
    kinds = {"a": pa.float64(), "b": pa.float32()}
    zeros = {name: pa.table({"u": pa.array([0.0, -0.0], kind)}) for name, kind in kinds.items()}
    with dp.connect(zeros, policy) as session:
        query = "SELECT COUNT(*) AS n FROM (SELECT u FROM a UNION ALL SELECT u FROM b) AS s"
        assert session.sql(query, dp.pure(10**6)).to_arrow().to_pylist() == [{"n": 2}]


@pytest.mark.parametrize("written", ["1", "abc", "9" * 30])
def test_columns_whose_names_differ_in_case_are_different_columns(written: str) -> None:
    columns = {"a": {"X": {"type": "string"}}, "b": {"x": {"type": "int", "bounds": [0, 100]}}}
    tables = {name: {"unit": "u", "max_rows": 3, "columns": each} for name, each in columns.items()}
    sources = {"a": pa.table({"u": [1, 2], "X": ["1", written]}), "b": pa.table({"u": [1, 2], "x": [10, 20]})}
    with dp.connect(sources, {"version": "1", "budget": {"epsilon": 10**9}, "tables": tables}) as session:
        for query in (
            "SELECT SUM(b.x + 0) AS s FROM a JOIN b ON a.u = b.u WHERE a.X IS NOT NULL",
            "SELECT SUM(b.x) AS s FROM b JOIN a ON a.u = b.u AND b.x < LENGTH(a.X) + 100",
        ):
            assert session.sql(query, dp.pure(10**6)).to_arrow().to_pylist() == [{"s": 30}]


@pytest.mark.parametrize(
    ("kind", "nullable", "query"),
    [
        ("string", True, "SELECT COUNT(DISTINCT k) AS k, COUNT(*) AS n FROM t WHERE k IS NOT NULL"),
        ("string", False, "SELECT k, COUNT(*) AS n FROM t GROUP BY k"),
        ("timestamp", True, "SELECT COUNT(CAST(k AS VARCHAR)) AS n FROM t WHERE k IS NOT NULL"),
        ("timestamp", False, "SELECT COUNT(DISTINCT CAST(k AS VARCHAR)) AS k, COUNT(*) AS n FROM t"),
    ],
)
def test_nor_does_one_in_a_dictionary_of_which_no_row_is_left(
    tmp_path: Path, kind: str, nullable: bool, query: str
) -> None:
    """A CASE that is true of all rows hands on their dictionary as it is, and a cast reads all of that."""
    times = pa.array([-9223372022400000001, *[0] * 20], pa.int64()).view(pa.timestamp("us"))
    pq.write_table(pa.table({"u": range(21), "k": times}), tmp_path / "t.parquet")
    policy = _policy(kind)
    policy["tables"]["t"]["columns"]["k"]["nullable"] = nullable
    (row,) = _ask(tmp_path / "t.parquet", policy, query)
    assert row["n"] == 20


@pytest.mark.parametrize("values", [[], [None, None], [float("nan"), None]])
def test_a_frame_of_objects_is_read_whether_or_not_anybody_has_a_value(values: list[object]) -> None:
    frame = pd.DataFrame({"u": pd.Series(range(len(values)), dtype="int64"), "k": pd.Series(values, dtype=object)})
    assert _ask(frame, _policy("string"), "SELECT COUNT(k) AS k, COUNT(*) AS n FROM t") == [{"k": 0, "n": len(values)}]


class _Own(pa.ExtensionType):
    """What another library may call its texts or times."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "tests.own")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, _: bytes) -> _Own:
        return cls(storage)


@pytest.mark.parametrize("how", ["arrow", "chunked", "dictionary", "pandas"])
@pytest.mark.parametrize(("of", "kind"), [("text", "string"), ("time", "timestamp"), ("time", "string")])
def test_no_value_of_an_extension_type_stops_a_query(of: str, kind: str, how: str) -> None:
    stored = NOT_UTF8 if of == "text" else _raw_time("ms", "UTC", 2**63 - 2)
    column: Any = pa.ExtensionArray.from_storage(_Own(stored.type), stored)
    if how == "dictionary":
        column = pa.DictionaryArray.from_arrays(pa.array(range(len(stored))), column)
    if how == "chunked":
        column = pa.chunked_array([column[:1], column[1:]])
    table: Any = pa.table({"u": range(len(stored)), "k": column})
    if how == "pandas":
        table = pd.DataFrame({"u": range(len(stored)), "k": pd.Series(pd.arrays.ArrowExtensionArray(column))})
    (row,) = _ask(table, _policy(kind), "SELECT COUNT(DISTINCT k) AS k, COUNT(*) AS n FROM t")
    assert row["n"] == len(stored)
