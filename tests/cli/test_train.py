"""`discreet train` and `discreet predict`: paid once, verified, asked for nothing; refusals cost nothing."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import learn

pytestmark = pytest.mark.usefixtures("one_database")

QUERY = "SELECT cost, region, age >= 45 AS old FROM visits"
SOURCES = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger")


def trained(cli: Any, *options: str, out: str = "old.model") -> Any:
    return cli("train", "naive-bayes", QUERY, "--label", "old", *SOURCES, "--epsilon", "1", "-o", out, *options)


def left(cli: Any) -> str:
    return cli("budget", "--ledger", "visits.ledger", "--format", "json").json["remaining"]["epsilon"]


def test_help_teaches(cli: Any) -> None:
    for verb in ("train", "predict", "evaluate"):
        done = cli(verb, "--help")
        assert done.code == 0 and f"discreet {verb}" in done.out


def test_training_is_paid_once_and_is_the_file(cli: Any) -> None:
    done = trained(cli)
    assert done.code == 0 and "cost epsilon 1; left epsilon 2" in done.out
    assert "naive bayes of old from 2 inputs" in done.out
    again = trained(cli, "--format", "json", out="again.model")
    assert Path("again.model").read_bytes() == Path("old.model").read_bytes() and left(cli) == "2"
    assert list(again.json) == ["file", "algorithm", "inputs", "loss", "remaining", "certificate"]
    assert again.json["algorithm"] == {"name": "naive_bayes", "bins": 8}
    other = trained(cli, "--set", "bins=4", "--format", "json", out="four.model")
    assert other.json["algorithm"]["bins"] == 4 and left(cli) == "1"
    checked = cli("verify", "old.model", "--ledger", "visits.ledger")
    assert checked.code == 0 and "bad" not in checked.out


def test_predictions_are_those_of_the_model(cli: Any) -> None:
    trained(cli)
    model, rows = learn.load("old.model"), pq.read_table("visits.parquet")
    expected = [str(each).lower() for each in model.predict(rows)]
    printed = list(csv.DictReader(io.StringIO(cli("predict", "old.model", "--data", "visits.parquet").out)))
    assert [each["old"] for each in printed] == expected
    done = cli("predict", "old.model", "--data", "visits.parquet", "--probabilities", "-o", "out.parquet")
    assert done.code == 0
    table = pq.read_table("out.parquet")
    assert table.column_names == ["old", "old=False", "old=True"] and table.num_rows == rows.num_rows
    assert table["old=True"].to_pylist() == model.predict_proba(rows)[:, 1].tolist()
    Path("rows.csv").write_text("region,cost\nsouth,3\n,\n", encoding="utf-8")
    assert len(cli("predict", "old.model", "--data", "rows.csv", "--format", "json").json["predictions"]) == 2
    assert "2 rows" in cli("predict", "old.model", "--data", "rows.csv", "--format", "table").out
    assert left(cli) == "2"


def test_an_evaluation_is_bought(cli: Any) -> None:
    trained(cli)
    asked = ("evaluate", "old.model", QUERY, "--label", "old", *SOURCES, "--epsilon", "0.5")
    done = cli(*asked, "--save", "old.evaluation")
    assert done.code == 0 and "accuracy" in done.out and "±" in done.out and "left epsilon 1.5" in done.out
    again = cli(*asked, "--format", "json").json
    assert again["answers"]["accuracy"]["error"] < 0.2 and left(cli) == "3/2"
    assert cli("verify", "old.evaluation", "--ledger", "visits.ledger").code == 0
    other = cli("evaluate", "old.model", "SELECT cost, age >= 45 AS old FROM visits", *asked[3:])
    assert other.code == 2 and "trained on" in other.err and left(cli) == "3/2"


def test_a_csv_file_is_read_as_training_reads_one(cli: Any) -> None:
    """A text NA is a text; what is no number is null, and a truth value may be a 1."""
    policy = """
version = "1"
budget = { epsilon = 3 }

[tables.visits]
unit = "person"
max_rows = 1

[tables.visits.columns]
land = { type = "string", keys = ["NA", "DE", "null"] }
ward = { type = "int", keys = [1, 2] }
dear = { type = "bool" }
age = { type = "int", bounds = [0, 9] }
sick = { type = "bool" }
"""
    rows = 'person,land,ward,dear,age,sick\n1,NA,1,true,1,1\n2,DE,2,0,NA,true\n3,"",1,1,5,0\n4,null,,f,x,1\n'
    Path("visits.toml").write_text(policy, encoding="utf-8")
    Path("visits.csv").write_text(rows, encoding="utf-8")
    query = "SELECT land, ward, dear, age, sick FROM visits"
    sources = ("--data", "visits.csv", "--policy", "visits.toml", "--ledger", "csv.ledger")
    done = cli("train", "naive-bayes", query, "--label", "sick", *sources, "--epsilon", "1", "-o", "csv.model")
    assert done.code == 0, done.err
    done = cli("predict", "csv.model", "--data", "visits.csv", "--probabilities", "-o", "out.parquet")
    assert done.code == 0, done.err
    seen = {
        "land": ["NA", "DE", None, "null"],
        "ward": [1, 2, 1, None],
        "dear": [True, False, True, False],
        "age": [1, None, 5, None],
    }
    expected = learn.load("csv.model").predict_proba(pa.table(seen))
    assert pq.read_table("out.parquet")["sick=True"].to_pylist() == expected[:, 1].tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("train", "bayes", QUERY, "--label", "old"), "there are"),
        (("train", "naive-bayes", QUERY), "no label"),
        (("train", "naive-bayes", QUERY, "--label", "young"), "young"),
        (("train", "naive-bayes", QUERY, "--label", "cost"), "classes"),
        (("train", "naive-bayes", QUERY, "--label", "old", "--set", "depth=3"), "it has bins"),
        (("train", "naive-bayes", QUERY, "--label", "old", "--set", "bins=many"), "bins is a whole number"),
        (("train", "naive-bayes", QUERY, "--label", "old", "--set", "bins="), "no value"),
        (("train", "naive-bayes", QUERY, "--label", "old", "--set", "bins=3", "--set", "bins=4"), "twice"),
        (("train", "naive-bayes", "SELECT COUNT(*) AS n FROM visits", "--label", "n"), "no aggregates"),
        (("train", "naive-bayes", "SELECT free, age > 9 AS y FROM visits", "--label", "y"), "public values"),
    ],
)
def test_refusals_come_before_a_ledger_is_made(cli: Any, options: tuple[str, ...], words: str) -> None:
    done = cli(*options, *SOURCES, "--epsilon", "1", "-o", "x.model")
    assert done.code == 2 and words in done.err and done.err.count("\n") <= 2
    assert not Path("visits.ledger").exists() and not Path("x.model").exists()


def test_predict_refuses_in_words(cli: Any) -> None:
    trained(cli)
    Path("bad.csv").write_text("region\nsouth\n", encoding="utf-8")
    for arguments, words in (
        (("old.model", "--data", "none.csv"), "none.csv"),
        (("old.model", "--data", "bad.csv"), "no column cost"),
        (("visits.parquet", "--data", "visits.parquet"), "not a release"),
        (("old.model", "--data", "visits.parquet", "-o", "out.txt"), ".csv or .parquet"),
    ):
        done = cli("predict", *arguments)
        assert done.code in (2, 4) and words in done.err


def test_models_and_evaluations_are_drawn(cli: Any) -> None:
    assert trained(cli, "--plot", "old.svg").code == 0 and "what each input adds" in Path("old.svg").read_text()
    asked = ("evaluate", "old.model", QUERY, "--label", "old", *SOURCES, "--epsilon", "0.5")
    assert cli(*asked, "--plot", "right.json").code == 0 and "accuracy" in Path("right.json").read_text()
    spent = left(cli)
    for refused in (
        trained(cli, "--plot", "old.txt", "--set", "bins=5", out="other.model"),
        trained(cli, "--plot", "nowhere/old.svg", "--set", "bins=5", out="other.model"),
        cli(*asked, "--epsilon", "0.25", "--plot", "right.txt"),
    ):
        assert refused.code == 2 and not Path("other.model").exists()
    assert left(cli) == spent
