"""`discreet synth`: plan, fit, sample and show; refusals are one line and cost nothing."""

from __future__ import annotations

import csv
import io
import tomllib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet import synth
from discreet.policy import load_policy

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = ("--columns", "region,cost,age,day")
SOURCES = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger")


def fitted(cli: Any, *options: str, out: str = "visits.synth") -> Any:
    return cli("synth", "fit", "visits", *SOURCES, *COLUMNS, "--epsilon", "1", "-o", out, *options)


def left(cli: Any) -> str:
    return cli("budget", "--ledger", "visits.ledger", "--format", "json").json["remaining"]["epsilon"]


def test_help_teaches(cli: Any) -> None:
    for verb in ("plan", "fit", "sample", "check", "show"):
        done = cli("synth", verb, "--help")
        assert done.code == 0 and "discreet synth" in done.out
    assert "what holds is the loss" in " ".join(cli("synth", "--help").out.split())


def test_a_plan_spends_nothing_and_makes_no_ledger(cli: Any) -> None:
    options = ("synth", "plan", "visits", "--policy", "visits.toml", "--rho", "0.01", *COLUMNS)
    done = cli(*options, "--cells", "age=16", "--cells", "cost=10|25.5", "--target", "region", "--workload", "age,cost")
    assert done.code == 0 and "cost rho 0.01" in done.out
    words = cli(*options, "--explain", "--level", "0.9").out
    assert "a person is a value of person" in words and "at 90 %" in words and "dp." not in words
    plan = cli(*options, "--cells", "age=16", "--cells", "cost=10|25.5", "--format", "json").json
    assert {each["name"]: each["cells"] for each in plan["columns"]} == {"region": 3, "cost": 4, "age": 18, "day": 3}
    assert plan["loss"] == {"kind": "rho", "rho": "1/100", "delta": "0"}
    assert not Path("visits.ledger").exists()


def test_a_fit_is_paid_once_and_is_the_file(cli: Any) -> None:
    done = fitted(cli, "--tier", "instant")
    assert done.code == 0 and "cost epsilon 1; left epsilon 2" in done.out
    table = synth.load("visits.synth")
    assert [column.name for column in table.columns] == ["region", "cost", "age", "day"]
    again = fitted(cli, "--tier", "instant", "--format", "json", out="again.synth")
    assert Path("again.synth").read_bytes() == Path("visits.synth").read_bytes()
    assert list(again.json) == [
        "file", "table", "total", "marginals", "steps", "pairs", "pairs_measured", "loss", "remaining", "certificate",
    ]  # fmt: skip
    assert again.json["certificate"] == table.certificate and left(cli) == "2"
    checked = cli("verify", "visits.synth", "--ledger", "visits.ledger", "--format", "json")
    assert checked.code == 0 and {each["result"] for each in checked.json["checks"]} == {"good"}


def test_options_say_what_is_fitted(cli: Any) -> None:
    fitted(cli, "--target", "region", "--workload", "age,cost", "--cells", "age=16", "--cells", "cost=25")
    table = synth.load("visits.synth")
    assert {column.name: column.size for column in table.columns} == {"region": 3, "cost": 27, "age": 18, "day": 3}
    assert table.certificate["tier"] == "best"
    third = Path("third.toml")
    third.write_text(Path("visits.toml").read_text().replace("epsilon = 3", "epsilon = 9"))
    parquet = ("--data", "visits.parquet", "--policy", "third.toml", "--ledger", "third.ledger")
    done = cli("synth", "fit", "visits", *parquet, *COLUMNS, "--epsilon", "1", "--cells", "day=3", "-o", "x.synth")
    assert done.code == 2 and "public keys" in done.err and not Path("third.ledger").exists()


def test_samples_go_where_they_are_asked_to(cli: Any) -> None:
    fitted(cli, "--tier", "instant")
    assert "250 rows of synthetic visits in rows.parquet" in cli(
        "synth", "sample", "visits.synth", "-n", "250", "-o", "rows.parquet", "--label", "a", "--policy", "rows.toml"
    ).out  # fmt: skip
    rows = pq.read_table("rows.parquet")
    assert rows.equals(synth.load("visits.synth").sample(250, label="a"))
    assert load_policy("rows.toml").tables["visits"].public
    printed = cli("synth", "sample", "visits.synth", "-n", "250", "--label", "a").out
    read = list(csv.DictReader(io.StringIO(printed)))
    assert [row["region"] or None for row in read] == rows.column("region").to_pylist()
    cli("synth", "sample", "visits.synth", "-n", "9", "-o", "rows.duckdb", "--name", "made", "--policy", "made.toml")
    assert list(tomllib.loads(Path("made.toml").read_text())["tables"]) == ["made"]
    some = cli("synth", "sample", "visits.synth", "-n", "9", "--given", "region=south", "--given", "Age=41").out
    assert {(row["region"], row["age"]) for row in csv.DictReader(io.StringIO(some))} == {("south", "41")}
    nulls = cli("synth", "sample", "visits.synth", "-n", "9", "--given", "day=2026-01-31", "--given", "cost=7.5").out
    assert {(row["day"], row["cost"]) for row in csv.DictReader(io.StringIO(nulls))} == {("2026-01-31", "7.5")}
    empty = cli("synth", "sample", "visits.synth", "-n", "0").out
    assert empty == '"region","cost","age","day"\n'


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--given", "region"], "NAME=VALUE"),
        (["--given", "price=1"], "columns are region"),
        (["--given", "age=old"], "of type int"),
        (["--given", "age=900"], "cannot be 900"),
        (["--given", "region=west"], "cannot be 'west'"),
        (["--given", "age=1", "--given", "AGE=2"], "twice"),
        (["--given", "day=yesterday"], "of type date"),
        (["-o", "rows.xlsx"], ".parquet, .csv, .duckdb"),
        (["-o", "visits.parquet"], "there already"),
        (["-o", "a.csv", "--policy", "visits.toml"], "there already"),
        (["-o", "a.csv", "--policy", "a.csv"], "name different ones"),
    ],
)
def test_samples_that_cannot_be_are_refused(cli: Any, options: list[str], words: str) -> None:
    fitted(cli, "--tier", "instant")
    done = cli("synth", "sample", "visits.synth", "-n", "5", *options)
    assert (done.code, done.out) == (2, "") and words in done.err and len(done.err.splitlines()) == 1
    assert not Path("a.csv").exists()


def test_fits_that_cannot_be_are_refused_before_a_ledger_is_made(cli: Any) -> None:
    start = ("synth", "fit", "visits", *SOURCES)
    refused: list[tuple[list[str], int, str]] = [
        (["-o", "v.synth", *COLUMNS], 2, "say what the fit may cost: --epsilon E"),
        (["-o", "v.synth", "--epsilon", "1"], 2, "visits.city is text without public keys"),
        (["-o", "visits.parquet", "--epsilon", "1", *COLUMNS], 2, "there already"),
        (["-o", "v.synth", "--epsilon", "1", "--columns", "price"], 2, "no column price"),
        (["-o", "v.synth", "--epsilon", "1", *COLUMNS, "--cells", "age"], 2, "--cells takes"),
        (["-o", "v.synth", "--epsilon", "1", *COLUMNS, "--cells", "age="], 2, "--cells takes"),
        (["-o", "v.synth", "--epsilon", "1", *COLUMNS, "--cells", "age=4", "--cells", "age=5"], 2, "twice"),
        (["-o", "v.synth", "--epsilon", "1", *COLUMNS, "--cells", "age=0"], 2, "a number of cells is from 1"),
        (["-o", "v.synth", "--epsilon", "1", *COLUMNS, "--cells", "age=x|y"], 2, "ends between cells are"),
        (["-o", "v.synth", "--epsilon", "1", *COLUMNS, "--target", "city"], 2, "city"),
        (["-o", "v.synth", "--epsilon", "1", *COLUMNS, "--workload", ","], 2, "--workload takes"),
        (["-o", "v.synth", "--epsilon", "1e-40", *COLUMNS], 2, "too small to measure"),
    ]
    for options, code, words in refused:
        done = cli(*start, *options)
        assert (done.code, done.out) == (code, ""), options
        assert words in done.err and len(done.err.splitlines()) == 1, done.err
    assert not Path("visits.ledger").exists() and not Path("v.synth").exists()
    over = cli(*start, "-o", "v.synth", "--epsilon", "4", *COLUMNS)
    assert over.code == 3 and not Path("v.synth").exists()


def test_show_has_columns_report_steps_and_pictures(cli: Any) -> None:
    fitted(cli)
    done = cli("synth", "show", "visits.synth", "--steps", "--plot", "errors.svg", "--draw", "errors")
    assert done.code == 0
    assert all(word in done.out for word in ("noise alone", "budget: columns 25.0%", "measured", "100.00%"))
    assert Path("errors.svg").read_text().startswith("<svg")
    assert cli("synth", "show", "visits.synth", "--plot", "ages.json", "--columns", "age").code == 0
    shown = cli("synth", "show", "visits.synth", "--format", "json").json
    assert shown["steps"][0]["stage"] == "columns" and shown["certificate"]["kind"] == "synthetic_table"
    for options, code in (
        (["--plot", "a.xlsx"], 2),
        (["--plot", "a.svg", "--columns", "price"], 2),
        (["--level", "2"], 2),
    ):
        assert cli("synth", "show", "visits.synth", *options).code == code
    assert not Path("a.svg").exists()


def test_other_files_are_no_synthetic_tables(cli: Any) -> None:
    Path("other.synth").write_bytes(b"{}")
    for verb in ("show", "sample"):
        for name in ("other.synth", "visits.parquet", "nowhere.synth"):
            done = cli("synth", verb, name)
            assert (done.code, done.out) == (4, "") and len(done.err.splitlines()) == 1


def test_a_check_is_bought_and_says_yes_or_no(cli: Any) -> None:
    fitted(cli, "--tier", "instant", "--columns", "region,age,day")
    ask = ("synth", "check", "visits.synth", *SOURCES, "--epsilon", "1")
    limits = ("--accept", "tv1=1", "--accept", "auc=0")
    done = cli(*ask, "--target", "region=south", *limits, "--save", "check.release")
    assert done.code == 0 and "all limits are met" in done.out.splitlines()
    assert "cost epsilon 1; left epsilon 1" in done.out and "AUC on private rows" in done.out
    strict = cli(*ask, "--target", "region", *limits[:2], "--accept", "auc=1", "--format", "json")
    assert strict.code == 1 and strict.json["accepted"] is False
    assert set(strict.json["answers"]) == {"tv1", "tv2", "tv3", "accuracy", "auc"}
    checked = cli("verify", "check.release", "--ledger", "visits.ledger", "--format", "json")
    assert checked.code == 0 and checked.json["good"]


def test_a_check_that_cannot_be_is_refused_before_a_ledger_is_made(cli: Any) -> None:
    fitted(cli, "--tier", "instant")
    sources = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "other.ledger")
    ask = ("synth", "check", "visits.synth", *sources)
    refused: list[tuple[list[str], str]] = [
        ([], "say what the check may cost"),
        (["--epsilon", "1", "--accept", "tv2"], "--accept takes"),
        (["--epsilon", "1", "--accept", "tv9=0.1"], "not estimated"),
        (["--epsilon", "1", "--accept", "auc=0.8"], "need a target"),
        (["--epsilon", "1", "--accept", "tv1=2"], "from 0 to 1"),
        (["--epsilon", "1", "--accept", "tv1=nan"], "from 0 to 1"),
        (["--epsilon", "1", "--accept", "tv1=1", "--accept", "tv1=1"], "twice"),
        (["--epsilon", "1", "--target", "city"], "city"),
        (["--epsilon", "1", "--target", "age"], "which of them is to be recognised"),
        (["--epsilon", "1", "--target", "region=west"], "west"),
        (["--epsilon", "1", "--save", "visits.parquet"], "there already"),
    ]
    for options, words in refused:
        done = cli(*ask, *options)
        assert (done.code, done.out) == (2, ""), options
        assert words in done.err and len(done.err.splitlines()) == 1, done.err
    assert not Path("other.ledger").exists()
