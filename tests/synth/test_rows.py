"""Rows leave with the types of the policy, and come back as a public table."""

from __future__ import annotations

import datetime as dt
import tomllib
from decimal import Decimal
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
from discreet import synth
from discreet.errors import DataError, ParameterError
from discreet.policy import load_policy

ROWS = 400
COLUMNS: dict[str, dict[str, Any]] = {
    "site name": {"type": "string", "keys": ["a", 'b "x", y', "null", ""]},
    "age": {"type": "int", "bounds": [-20, 60]},
    "cost": {"type": "float", "bounds": [0, 10], "nullable": False},
    "price": {"type": "decimal", "bounds": ["0", "99.5"]},
    "member": {"type": "bool"},
    "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
    "at": {"type": "timestamp", "bounds": ["2024-01-01", "2024-01-02"]},
    "month": {"type": "int", "keys": {"from": 1, "to": 12}, "nullable": False},
}
POLICY = {
    "version": "1",
    "budget": {"epsilon": 9_000},
    "tables": {"t": {"unit": "rows", "columns": COLUMNS}},
}


def column(name: str) -> list[Any]:
    some = {
        "site name": lambda i: ["a", 'b "x", y', "null", ""][i % 4],
        "age": lambda i: i % 81 - 20,
        "cost": lambda i: i % 11 * 1.0,
        "price": lambda i: Decimal(i % 99),
        "member": lambda i: i % 3 == 0,
        "day": lambda i: dt.date(2024, 1, 1) + dt.timedelta(days=i % 366),
        "at": lambda i: dt.datetime(2024, 1, 1) + dt.timedelta(minutes=i),  # noqa: DTZ001
        "month": lambda i: i % 12 + 1,
    }[name]
    nullable = COLUMNS[name].get("nullable", True)
    return [None if nullable and i % 10 == 7 else some(i) for i in range(ROWS)]


@pytest.fixture(scope="module")
def table() -> synth.SyntheticTable:
    rows = pa.table({name: column(name) for name in COLUMNS})
    with dp.connect({"t": rows}, POLICY) as session:
        return synth.fit(session, "t", dp.pure(50), tier="instant")


@pytest.fixture(scope="module")
def sampled(table: synth.SyntheticTable) -> pa.Table:
    return table.sample(500)


def test_rows_have_the_types_of_the_policy(sampled: pa.Table) -> None:
    kinds = {name: str(sampled.schema.field(name).type) for name in sampled.column_names}
    assert kinds.pop("price").startswith("decimal128(38, ")
    assert kinds == {
        "site name": "string", "age": "int64", "cost": "double", "member": "bool", "day": "date32[day]",
        "at": "timestamp[us]", "month": "int64",
    }  # fmt: skip
    assert all(sampled.column(name).null_count > 0 for name in ("site name", "age", "price", "member", "day", "at"))


def test_files_hold_the_same_rows(sampled: pa.Table, tmp_path: Path) -> None:
    for suffix in ("parquet", "csv", "duckdb"):
        synth.write_rows(sampled, tmp_path / f"rows.{suffix}", name='the "rows"')
    assert pq.read_table(tmp_path / "rows.parquet").equals(sampled)
    with duckdb.connect(str(tmp_path / "rows.duckdb"), read_only=True) as database:
        again = database.sql('SELECT * FROM "the ""rows"""').to_arrow_table()
    assert again.to_pylist() == sampled.to_pylist()
    assert [str(each.type) for each in again.schema] == [str(each.type) for each in sampled.schema]
    options = pc.ConvertOptions(
        column_types=sampled.schema, strings_can_be_null=True, null_values=[""], quoted_strings_can_be_null=False
    )
    assert pc.read_csv(tmp_path / "rows.csv", convert_options=options).to_pylist() == sampled.to_pylist()


def test_frames_hold_the_same_rows(sampled: pa.Table) -> None:
    frame = synth.rows_to_pandas(sampled)
    assert isinstance(frame, pd.DataFrame) and len(frame) == 500
    assert {name: str(frame[name].dtype) for name in ("age", "month", "member", "cost")} == {
        "age": "Int64", "month": "int64", "member": "boolean", "cost": "float64",
    }  # fmt: skip
    assert [None if pd.isna(each) else each for each in frame["age"]] == sampled.column("age").to_pylist()
    polars = synth.rows_to_polars(sampled)
    assert polars.to_dicts() == sampled.to_pylist()
    assert (polars.schema["day"], polars.schema["member"]) == (pl.Date, pl.Boolean)


def test_no_rows_are_a_table_too(table: synth.SyntheticTable, tmp_path: Path) -> None:
    none = table.sample(0)
    for suffix in ("parquet", "csv", "duckdb"):
        synth.write_rows(none, tmp_path / f"none.{suffix}")
    assert pq.read_table(tmp_path / "none.parquet").equals(none)
    assert len((tmp_path / "none.csv").read_text().splitlines()) == 1


def test_a_file_is_never_written_over_and_names_its_format(sampled: pa.Table, tmp_path: Path) -> None:
    there = tmp_path / "there.csv"
    there.write_text("mine")
    for path in (there, tmp_path / "rows.xlsx", tmp_path / "rows", tmp_path / "no" / "rows.csv", tmp_path):
        with pytest.raises(ParameterError):
            synth.check_rows_file(path)
        with pytest.raises(ParameterError):
            synth.write_rows(sampled, path)
    assert there.read_text() == "mine"
    assert sorted(tmp_path.iterdir()) == [there]


def test_a_file_that_cannot_be_finished_is_not_left_behind(
    sampled: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(rows: pa.Table, path: Path, *_: Any) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pc, "write_csv", full)
    with pytest.raises(DataError, match="No space left"):
        synth.write_rows(sampled, tmp_path / "rows.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_policy_is_that_of_a_public_table(table: synth.SyntheticTable) -> None:
    policy = table.policy("made up")
    loaded = load_policy(policy)
    assert tomllib.loads(table.policy_toml("made up"), parse_float=Decimal) == policy
    assert loaded.tables["made up"].public
    private = load_policy(POLICY).tables["t"].columns
    public = loaded.tables["made up"].columns
    assert list(public) == list(COLUMNS)
    for name, each in private.items():
        assert (public[name].type, public[name].nullable, public[name].keys) == (each.type, each.nullable, each.keys)
        assert public[name].bounds == (None if each.keys else each.bounds), name
    assert loaded.version.startswith("synthetic-") and list(table.policy()["tables"]) == ["t"]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "duckdb"])
def test_rows_are_joined_as_a_public_table(table: synth.SyntheticTable, tmp_path: Path, suffix: str) -> None:
    """At ε = 8,000 for five counts of 20 rows of a person, one is off with a probability below 1e-30."""
    sampled = table.sample(100)
    path = tmp_path / f"rows.{suffix}"
    synth.write_rows(sampled, path, "extra")
    policy = table.policy("extra")
    policy["budget"] = {"epsilon": 9_000}
    policy["tables"]["people"] = {"unit": "person", "max_rows": 20, "columns": {"month": COLUMNS["month"]}}
    people = pa.table({"person": list(range(1, 13)), "month": list(range(1, 13))})
    sql = (
        "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE member) AS members, COUNT(age) AS ages,"
        """ COUNT(*) FILTER (WHERE "site name" = 'b "x", y') AS quoted,"""
        """ COUNT(*) FILTER (WHERE "day" < '2024-07-01') AS days"""
        " FROM people JOIN extra ON people.month = extra.month"
    )
    with dp.connect({"people": people, "extra": str(path)}, policy) as session:
        (answer,) = session.sql(sql, dp.pure(8_000)).to_arrow().to_pylist()
    rows = sampled.to_pylist()
    assert answer == {
        "n": 100,
        "members": sum(row["member"] is True for row in rows),
        "ages": sum(row["age"] is not None for row in rows),
        "quoted": sum(row["site name"] == 'b "x", y' for row in rows),
        "days": sum(row["day"] is not None and row["day"] < dt.date(2024, 7, 1) for row in rows),
    }
    assert all(answer.values())
