"""`discreet policy init`: names and types, never values; a skeleton is refused until its owner decides."""

from __future__ import annotations

import datetime as dt
import gzip
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import PolicyError
from discreet.policy import load_policy


def one_row(variant: int) -> pa.Table:
    """Two tables of one schema, and nothing else in common."""
    return pa.table(
        {
            "id": pa.array([variant], pa.int32()),
            "flag": [bool(variant)],
            "price": [float(variant) + 0.5],
            "exact": pa.array([variant], pa.decimal128(9, 2)),
            "name": [f"secret-{variant}"],
            "kind": pa.array([f"kind-{variant}"]).dictionary_encode(),
            "day": [dt.date(2000 + variant, 1, 1)],
            "at": pa.array([variant], pa.timestamp("us")),
            "tags": [[f"tag-{variant}"]],
            'odd "name"\n': [variant],
        }
    )


TYPES = {
    "id": "int",
    "flag": "bool",
    "price": "float",
    "exact": "decimal",
    "name": "string",
    "kind": "string",
    "day": "date",
    "at": "timestamp",
    'odd "name"\n': "int",
}


def skeletons(cli: Any, write: Any, suffix: str) -> list[str]:
    texts: list[str] = []
    for variant in (1, 7):
        home = Path(f"v{variant}")
        home.mkdir()
        write(home / f"t{suffix}", variant)
        done = cli("policy", "init", str(home / f"t{suffix}"))
        assert done.code == 0
        texts.append(done.out)
    return texts


def write_parquet(path: Path, variant: int) -> None:
    pq.write_table(one_row(variant), path)


def write_database(path: Path, variant: int) -> None:
    source = one_row(variant)
    with duckdb.connect(str(path)) as connection:
        connection.register("source", source)
        connection.execute("CREATE TABLE t AS SELECT * REPLACE (kind::VARCHAR AS kind) FROM source")


def write_csv(path: Path, variant: int) -> None:
    path.write_text(f"id,price,name\n{variant},{variant}.5,secret-{variant}\n" * 1 + "x,y,z\n" * variant)


@pytest.mark.parametrize(("write", "suffix"), [(write_parquet, ".parquet"), (write_database, ".duckdb")])
def test_types_come_from_the_declaration_and_values_from_nowhere(cli: Any, write: Any, suffix: str) -> None:
    one, other = skeletons(cli, write, suffix)
    assert one == other
    assert "secret" not in one
    assert "kind-" not in one
    data = tomllib.loads(one)
    assert {name: column["type"] for name, column in data["tables"]["t"]["columns"].items()} == TYPES
    assert "# tags is of a type that policies do not have" in one
    for word in ("version", "unit", "max_rows", "max_groups", "bounds", "keys", "epsilon"):
        assert f"# {word} = " in one
    assert data["budget"] == {"delta": 1e-6}


def test_an_enum_keeps_its_values_to_itself(cli: Any) -> None:
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TYPE illness AS ENUM ('gout', 'lupus')")
        connection.execute("CREATE TABLE a (x illness, y STRUCT(gout INTEGER), z INTEGER[])")
        connection.execute("CREATE TABLE b (w UBIGINT)")
    done = cli("policy", "init", "shop.duckdb")
    assert done.code == 0
    assert "gout" not in done.out
    assert tomllib.loads(done.out)["tables"] == {
        "a": {"columns": {"x": {"type": "string"}}},
        "b": {"columns": {"w": {"type": "int"}}},
    }


@pytest.mark.parametrize("suffix", [".csv", ".CSV"])
def test_a_csv_has_names_only(cli: Any, suffix: str) -> None:
    one, other = skeletons(cli, write_csv, suffix)
    assert one == other
    assert "secret" not in one
    columns = tomllib.loads(one)["tables"]["t"]["columns"]
    assert columns == {name: {"type": "string"} for name in ("id", "price", "name")}
    assert "declares no types" in one


def test_tabs_and_gzip(cli: Any) -> None:
    with gzip.open("t.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("a\tb, c\n1\t2\n")
    assert list(tomllib.loads(cli("policy", "init", "t.tsv.gz").out)["tables"]["t"]["columns"]) == ["a", "b, c"]


def test_an_unedited_skeleton_is_refused_and_says_what_is_open(cli: Any) -> None:
    assert cli("policy", "init", "visits.parquet", "--output", "new.toml").code == 0
    with pytest.raises(PolicyError, match=r"version.*budget.*unit"):
        load_policy("new.toml")
    done = cli("query", "SELECT COUNT(*) FROM visits", *["--data", "visits.parquet", "--policy", "new.toml"],
               *["--ledger", "l", "--epsilon", "1"])  # fmt: skip
    assert done.code == 4
    assert not Path("l").exists()


def test_a_finished_skeleton_works(cli: Any) -> None:
    text = cli("policy", "init", "visits.parquet").out
    for line, said in (
        ('# version = "2026-11"', 'version = "1"'),
        ("# epsilon = 1.0", "epsilon = 1.0"),
        ('# unit = "..."', 'unit = "person"'),
        ("# max_rows = ...", "max_rows = 2"),
    ):
        assert line in text
        text = text.replace(line, said)
    Path("visits.toml").write_text(text)
    assert cli.ask("SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.5").code == 0


def test_a_file_is_never_overwritten(cli: Any) -> None:
    before = Path("visits.toml").read_text()
    done = cli("policy", "init", "visits.parquet", "--output", "visits.toml")
    assert done.code == 2
    assert "left as it is" in done.err
    assert Path("visits.toml").read_text() == before
    assert cli("policy", "init", "visits.parquet", "--output", "no/where.toml").code == 2


def test_bad_sources(cli: Any) -> None:
    Path("bad.parquet").write_text("PAR1")
    Path("bad.duckdb").write_text("no")
    Path("bad.csv").write_bytes(b"\xff\xfe\x00")
    Path("twice.csv").write_text("a,A\n")
    duckdb.connect("empty.duckdb").close()
    for name in (
        "nowhere.csv",
        ".",
        "visits.toml",
        "bad.parquet",
        "bad.duckdb",
        "bad.csv",
        "twice.csv",
        "empty.duckdb",
    ):
        done = cli("policy", "init", name)
        assert done.code == 4, name
        assert done.err.startswith("error: ")
        assert done.out == ""
