"""One table, kept in every way there is, gives one answer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import discreet as dp

ROWS = 40
TABLE = pa.table(
    {
        "who": pa.array([None if i == 0 else f"p{i // 2}" for i in range(ROWS)]),
        "n": pa.array([None if i % 5 == 0 else i for i in range(ROWS)], pa.int64()),
        "f": pa.array([None if i % 7 == 0 else i / 4 for i in range(ROWS)]),
        "s": pa.array([None if i % 9 == 0 else ["a,b", 'say "x"', "Łódź"][i % 3] for i in range(ROWS)]),
        "b": pa.array([[True, False, None][i % 3] for i in range(ROWS)]),
        "d": pa.array([None if i % 6 == 0 else dt.date(2024, 1, 1 + i % 4) for i in range(ROWS)]),
        "t": pa.array([dt.datetime.combine(dt.date(2024, 1, 1 + i % 2), dt.time(12, 30)) for i in range(ROWS)]),
        "hidden": pa.array([b"\xff"] * ROWS),
    }
)
POLICY = {
    "version": "1",
    "budget": {"epsilon": 10**12, "delta": "0.5"},
    "tables": {
        "T": {
            "unit": "WHO",
            "max_rows": 2,
            "columns": {
                "N": {"type": "int", "bounds": [0, 30]},
                "f": {"type": "float", "bounds": [0, 5]},
                "s": {"type": "string"},
                "b": {"type": "bool"},
                "d": {"type": "date"},
                "t": {"type": "timestamp"},
            },
        }
    },
}
NEARLY_EXACT = dp.approx(10**9, 1e-6)
QUERIES = (
    f"SELECT COUNT(*) AS c, {', '.join(f'COUNT({name}) AS {name}' for name in 'nfsbdt')} FROM T",
    "SELECT SUM(n) AS n FROM T WHERE b OR d > '2024-01-02'",
    "SELECT s, COUNT(*) AS c FROM T GROUP BY s ORDER BY s",
    "SELECT d, COUNT(*) AS c FROM T WHERE t < '2024-01-02' GROUP BY d ORDER BY d",
    "SELECT t, b, COUNT(*) AS c FROM T GROUP BY t, b ORDER BY t, b",
)


def csv(folder: Path, name: str, delimiter: str = ",") -> Path:
    path = folder / name
    table = TABLE.drop_columns(["hidden"])
    options = pc.WriteOptions(delimiter=delimiter)
    with pa.CompressedOutputStream(path, "gzip") if name.endswith(".gz") else path.open("wb") as sink:
        pc.write_csv(table, sink, options)
    return path


def parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "t.parquet", coerce_timestamps="us")
    return folder / "t.parquet"


def parquet_parts(folder: Path) -> Path:
    for i in range(4):
        pq.write_table(TABLE.slice(10 * i, 10), folder / f"part-{i}.parquet", coerce_timestamps="us")
    return folder / "part-*.parquet"


def database(folder: Path) -> Path:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("frame", TABLE)
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    return folder / "t.duckdb"


def objects(_: Path) -> pd.DataFrame:
    rows = TABLE.to_pylist()
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in TABLE.column_names})


def texts(_: Path) -> pa.Table:
    columns = {
        name: pa.array([None if value is None else str(value) for value in TABLE[name].to_pylist()])
        for name in TABLE.column_names
    }
    return pa.table(columns)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "Parquet": parquet,
    "Parquet in parts": parquet_parts,
    "CSV": lambda folder: csv(folder, "t.csv"),
    "CSV, gzip": lambda folder: csv(folder, "t.csv.gz"),
    "TSV": lambda folder: csv(folder, "T.TSV", "\t"),
    "TSV, gzip": lambda folder: csv(folder, "t.tsv.gz", "\t"),
    "DuckDB": database,
    "Arrow": lambda _: TABLE,
    "Arrow, text alone": texts,
    "Arrow, dictionaries": lambda _: TABLE.set_column(3, "s", TABLE["s"].combine_chunks().dictionary_encode()),
    "pandas": lambda _: TABLE.to_pandas(),
    "pandas on Arrow": lambda _: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, objects": objects,
    "pandas, categories": lambda _: TABLE.to_pandas().astype({"s": "category"}),
    "polars": lambda _: pl.from_arrow(TABLE),
}


@pytest.fixture(scope="module")
def expected() -> list[list[dict[str, Any]]]:
    """From Python, by hand."""
    rows = [row for row in TABLE.to_pylist() if row["who"] is not None]
    counts = {"c": len(rows)} | {name: sum(row[name] is not None for row in rows) for name in "nfsbdt"}
    chosen = [row for row in rows if row["b"] or (row["d"] and row["d"] > dt.date(2024, 1, 2))]
    total = sum(min(row["n"], 30) for row in chosen if row["n"] is not None)
    early = [row for row in rows if row["t"] < dt.datetime.combine(dt.date(2024, 1, 2), dt.time())]
    return [[counts], [{"n": total}], groups(rows, "s"), groups(early, "d"), groups(rows, "t", "b")]


def groups(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        counts[key] = counts.get(key, 0) + 1
    order = sorted(counts, key=lambda key: [(value is None, str(value).encode()) for value in key])
    return [dict(zip(names, key, strict=True)) | {"c": counts[key]} for key in order]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_gives_the_same_answers(
    kind: str, tmp_path: Path, expected: list[list[dict[str, Any]]]
) -> None:
    with dp.connect({"t": SOURCES[kind](tmp_path)}, POLICY) as session:
        answers = [session.sql(query, NEARLY_EXACT).to_arrow().to_pylist() for query in QUERIES]
    assert answers == expected


@pytest.mark.parametrize("kind", ["DuckDB", "Parquet", "Arrow"])
def test_a_single_source_needs_no_name(kind: str, tmp_path: Path, expected: list[list[dict[str, Any]]]) -> None:
    with dp.connect(SOURCES[kind](tmp_path), POLICY) as session:
        assert session.sql(QUERIES[0], NEARLY_EXACT).to_arrow().to_pylist() == expected[0]


def test_sources_are_only_read(tmp_path: Path) -> None:
    paths = [make(tmp_path) for make in (parquet, database, lambda folder: csv(folder, "t.csv"))]
    before = [path.read_bytes() for path in paths]
    for path in paths:
        with dp.connect({"t": path}, POLICY) as session:
            session.sql(QUERIES[0], NEARLY_EXACT)
    assert [path.read_bytes() for path in paths] == before
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet", ".duckdb", ".csv"}


CELLS = {
    "int": {"3": 3, " 4 ": 4, "-0": 0, "x": None, "": None, "99999999999999999999": None, "inf": None, "nan": None},
    "float": {
        "0.5": 0.5,
        "1e-400": 0.0,
        "x": None,
        "1,5": None,
        "": None,
        "nan": None,
        "NaN": None,
        "1e999": 5.0,
        "-inf": 0.0,
    },
    "decimal": {"2.50": 2.5, "1e400": 5.0, "x": None, "": None},
}


@pytest.mark.parametrize(("kind", "cell", "value"), [(k, c, v) for k, cells in CELLS.items() for c, v in cells.items()])
def test_a_cell_of_csv_is_read_as_the_policy_says_or_null(
    kind: str, cell: str, value: float | None, tmp_path: Path
) -> None:
    """And its row counts, whatever the cell holds."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + f'"{cell}",1\n' * 10, encoding="utf-8")
    columns = {"x": {"type": kind, "bounds": [0, 5]}}
    policy = {"version": "1", "budget": {"epsilon": 10**12}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    with dp.connect({"t": path}, policy) as session:
        release = session.sql("SELECT COUNT(*) AS c, COUNT(x) AS n, SUM(x) AS s FROM t", dp.pure(10**9))
    (row,) = release.to_arrow().to_pylist()
    assert (row["c"], row["n"]) == (10, 0 if value is None else 10)
    assert row["s"] == pytest.approx(10 * (value or 0), abs=1e-3)


@pytest.mark.parametrize(
    ("text", "rows", "xs", "ys"),
    [
        ("x,y\n1,2\n3,4\n", 2, 2, 2),
        ("x,y\r\n1,2\r\n3,4\r\n", 2, 2, 2),
        ("\ufeffx,y\n1,2\n", 1, 1, 1),
        ("x,y\n1\n,2\n,\n", 3, 1, 1),
        ("x,y", 0, 0, 0),
        ("x,y\n", 0, 0, 0),
        ('"x","y"\n"1","2"\n"1\n2",3\n', 2, 1, 2),
        ("z,y,x\n,2,1\n", 1, 1, 1),
    ],
)
def test_shapes_of_csv(text: str, rows: int, xs: int, ys: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    columns = {"x": {"type": "int"}, "y": {"type": "int"}}
    policy = {"version": "1", "budget": {"epsilon": 10**12}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    with dp.connect({"t": path}, policy) as session:
        release = session.sql("SELECT COUNT(*) AS c, COUNT(x) AS x, COUNT(y) AS y FROM t", dp.pure(10**9))
    assert release.to_arrow().to_pylist() == [{"c": rows, "x": xs, "y": ys}]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_time_zones_are_told_in_utc(unit: str) -> None:
    moments = pa.array([1_704_110_400] * 20).cast(pa.timestamp("s", tz="America/New_York"))  # 12:00 UTC
    table = pa.table({"t": moments.cast(pa.timestamp(unit, tz="America/New_York"))})
    policy = {
        "version": "1",
        "budget": {"epsilon": 10**12, "delta": "0.5"},
        "tables": {"t": {"unit": "rows", "columns": {"t": {"type": "timestamp"}}}},
    }
    for source in (table, table.to_pandas(), pl.from_arrow(table)):
        with dp.connect({"t": source}, policy) as session:
            release = session.sql("SELECT t, COUNT(*) AS n FROM t GROUP BY t", NEARLY_EXACT)
        assert release.to_arrow().to_pylist() == [{"t": dt.datetime.combine(dt.date(2024, 1, 1), dt.time(12)), "n": 20}]
