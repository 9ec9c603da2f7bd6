"""`discreet attack`: each attack on files, as the library has it, with its control; refusals are one line."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet import attack
from discreet.anonymize import KAnonymity, LDiversity

QUASI = ["age", "town"]
QUASI_OPTION = ("--quasi", "age,town")


def people(rows: int = 300) -> pa.Table:
    draws = np.random.default_rng(27)
    return pa.table(
        {
            "age": draws.integers(20, 80, rows),
            "town": [f"town {i}" for i in draws.integers(6, size=rows)],
            "illness": [["flu", "gout", "none"][i] for i in draws.integers(3, size=rows)],
        }
    )


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    monkeypatch.chdir(tmp_path)
    table = people()
    pyarrow.csv.write_csv(table, "people.csv")
    pq.write_table(KAnonymity(3, QUASI, ["illness"]).fit_transform(table).table, "one.parquet")
    pq.write_table(KAnonymity(3, QUASI, ["illness"], method="fast").fit_transform(table).table, "two.parquet")
    pq.write_table(table.slice(0, 150), "inside.parquet")
    pq.write_table(table.slice(150), "outside.parquet")
    return table


def test_every_attack_teaches(cli: Any) -> None:
    for name in (
        "linkage", "histories", "homogeneity", "intersection", "downcoding", "minimality", "singling-out",
        "linkability", "inference", "closeness",
    ):  # fmt: skip
        done = cli("attack", name, "--help")
        assert done.code == 0 and f"discreet attack {name}" in done.out
    assert "proves nothing" in " ".join(cli("attack", "--help").out.split())


def test_linkage_is_that_of_the_library(cli: Any, files: pa.Table) -> None:
    done = cli("attack", "linkage", "people.csv", "people.csv", "--on", "age,town", "-o", "found.csv")
    assert done.code == 0
    assert done.out.splitlines() == attack.linkage(files, files, QUASI).explain().splitlines()
    with Path("found.csv").open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    assert sum(row["right"] == "true" for row in rows) == attack.linkage(files, files, QUASI).right
    again = cli("attack", "linkage", "people.csv", "people.csv", "--on", "age,town", "-o", "found.csv")
    assert again.code == 2 and "is there already" in again.err


def test_rows_say_who_is_who(cli: Any, files: pa.Table) -> None:
    known = files.take([7, 3]).append_column("row", pa.array([7, 3])).append_column("name", pa.array(["A", "B"]))
    pyarrow.csv.write_csv(known, "known.csv")
    asked = ("attack", "linkage", "people.csv", "known.csv", "--on", "age,town,illness")
    assert cli(*asked, "--row", "row", "--format", "json").json["targets"] == 2
    assert "say by --row which row is whose" in cli(*asked).err
    assert "whole number" in cli(*asked, "--row", "name").err and cli(*asked, "--row", "none").code == 2


def test_attacks_on_classes(cli: Any, files: pa.Table) -> None:
    one, two = (pq.read_table(f"{name}.parquet") for name in ("one", "two"))
    guess = ("--sensitive", "illness", "--format", "json")
    done = cli("attack", "homogeneity", "one.parquet", *QUASI_OPTION, *guess)
    assert done.json == attack.homogeneity(one, QUASI, "illness").to_json()
    done = cli("attack", "intersection", "one.parquet", "two.parquet", *QUASI_OPTION, *guess)
    assert done.json == attack.intersection(one, two, QUASI, "illness").to_json()
    done = cli("attack", "downcoding", "one.parquet", "people.csv", *QUASI_OPTION, "--format", "json")
    assert done.json == attack.downcoding(one, files, QUASI).to_json()


def test_minimality(cli: Any, files: pa.Table) -> None:
    diverse = KAnonymity(3, QUASI, ["illness"], l=3).fit_transform(files)
    pq.write_table(diverse.table, "diverse.parquet")
    asked = (
        "attack",
        "minimality",
        "diverse.parquet",
        "people.csv",
        *QUASI_OPTION,
        "--sensitive",
        "illness",
        "--k",
        "3",
    )
    done = cli(*asked, "--l", "3", "--format", "json")
    expected = attack.minimality(diverse.table, files, QUASI, LDiversity("illness", 3), k=3)
    assert (done.json["attack"], done.json["targets"]) == ("minimality", expected.targets)
    for more in ((), ("--l", "3", "--t", "0.1")):
        refused = cli(*asked, *more)
        assert refused.code == 2 and "--l or --t" in refused.err
    assert cli(*asked, "--l", "9").code == 2


def test_hierarchies_are_read(cli: Any, files: pa.Table) -> None:
    Path("trees.toml").write_text("[age]\nwidths = [10, 20]\nstart = 0\n")
    model = KAnonymity(3, ["age"], ["illness"], hierarchies="trees.toml", method="full-domain", suppression=1)
    out = model.fit_transform(files)
    pq.write_table(out.table, "levels.parquet")
    pq.write_table(files.take(out.rows), "left.parquet")
    asked = ("attack", "linkage", "levels.parquet", "left.parquet", "--on", "age", "--hierarchies")
    assert cli(*asked, "trees.toml", "--format", "json").json["claims"] == 0
    assert cli(*asked, "none.toml").code == 2


def test_histories(cli: Any, files: pa.Table) -> None:
    events = pa.table({"who": [1, 1, 2, 2], "film": ["a", "b", "a", "c"], "stars": [5.0, 1.0, 3.0, 4.0]})
    pyarrow.csv.write_csv(events, "events.csv")
    asked = ("attack", "histories", "events.csv", "events.csv", "--person", "who", "--item", "film")
    assert cli(*asked, "--scale", "stars=1.5", "--format", "json").json["right"] == 2
    for scale in ("stars", "stars=0", "stars=x"):
        assert cli(*asked, "--scale", scale).code == 2


def test_attacks_on_synthetic_tables(cli: Any, files: pa.Table) -> None:
    tables = ("inside.parquet", "inside.parquet", "outside.parquet")
    copied = cli("attack", "inference", *tables, "--secret", "illness", "--format", "json").json
    assert copied["success"] > copied["baseline"] + 0.3
    linked = cli("attack", "linkability", *tables, "--first", "age", "--second", "town,illness", "--format", "json")
    assert linked.json["attack"] == "linkability"
    assert cli("attack", "singling-out", *tables, "--columns", "3", "--format", "json").json["advantage"] > 0
    assert cli("attack", "closeness", *tables, "--format", "json").json["auc"] > 0.6
    assert cli("attack", "closeness", *tables, "--accept", "0.05").code == 1


def test_an_advantage_that_is_too_large_is_an_exit_code(cli: Any, files: pa.Table) -> None:
    asked = ("attack", "linkage", "people.csv", "people.csv", "--on", "age,town")
    done = cli(*asked, "--accept", "0.1")
    assert done.code == 1 and "may be more than 0.1" in done.out
    assert cli(*asked, "--accept", "0.999").code == 0
    assert cli(*asked, "--accept", "0.1", "--format", "json").code == 1


def test_bad_files_are_refused(cli: Any, files: pa.Table) -> None:
    assert "No such file" in cli("attack", "homogeneity", "none.csv", *QUASI_OPTION, "--sensitive", "illness").err
    Path("bad.parquet").write_bytes(b"no table")
    assert cli("attack", "homogeneity", "bad.parquet", *QUASI_OPTION, "--sensitive", "illness").code == 4
    assert "no column salary" in cli("attack", "homogeneity", "one.parquet", *QUASI_OPTION, "--sensitive", "salary").err
    done = cli("attack", "homogeneity", "one.parquet", *QUASI_OPTION, "--sensitive", "illness", "-o", "out.txt")
    assert done.code == 2 and ".csv or .parquet" in done.err
