"""`discreet anonymize` and `discreet risk`: files, words and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from discreet.anonymize import verify

TABLE = pa.table(
    {
        "name": [f"p{i}" for i in range(60)],
        "age": [20 + i % 30 for i in range(60)],
        "town": ["Bern" if i % 4 else "Ulm" for i in range(60)],
        "illness": ["flu", "gout", "flu", "cold", "flu"] * 12,
    }
)
QUASI = ("--quasi", "age,town", "--sensitive", "illness")


@pytest.fixture
def files(cli: Any) -> Any:
    pq.write_table(TABLE, "patients.parquet")
    pacsv.write_csv(TABLE, "patients.csv")
    return cli


def test_help_teaches(cli: Any) -> None:
    for verb in ("anonymize", "risk"):
        done = cli(verb, "--help")
        assert done.code == 0 and f"discreet {verb}" in done.out
    assert "no ledger counts the table" in " ".join(cli("anonymize", "--help").out.split())
    assert "[[facts]]" in cli("risk", "--help").out


@pytest.mark.parametrize("source", ["patients.csv", "patients.parquet"])
def test_a_table_and_its_certificate(files: Any, source: str) -> None:
    done = files("anonymize", source, "--k", "5", "--l", "2", *QUASI, "-o", "coarse.parquet")
    assert done.code == 0 and "not promised:" in done.out and "classes of" in done.out
    assert "anonymous" not in done.out and " safe" not in done.out
    out = pq.read_table("coarse.parquet")
    assert out.column_names == ["age", "town", "illness"]
    verdict = verify(out, ["age", "town"], ["illness"])
    certificate = json.loads(Path("coarse.parquet.certificate.json").read_text())
    assert verdict.k >= 5 and verdict.spreads["illness"].distinct >= 2
    assert certificate["found"] == verdict.to_json() and certificate["left out"] == ["name"]


def test_options_say_how(files: Any) -> None:
    Path("trees.toml").write_text('[age]\nwidths = [10, 20]\nstart = 0\n[town.tree]\nsouth = ["Bern", "Ulm"]\n')
    options = ("--hierarchies", "trees.toml", "--method", "full-domain", "--t", "0.4", "--other", "name")
    done = files(
        "anonymize", "patients.csv", "--k", "4", *QUASI, *options,
        "-o", "coarse.csv", "--certificate", "c.json", "--format", "json",
    )  # fmt: skip
    assert done.code == 0 and done.json["certificate"] == json.loads(Path("c.json").read_text())
    assert done.json["certificate"]["method"] == "full-domain" and done.json["certificate"]["left out"] == []
    assert verify(pacsv.read_csv("coarse.csv"), ["age", "town"]).k >= 4


def test_risks_in_words_and_json(files: Any) -> None:
    done = files("risk", "patients.csv", *QUASI, "--population", "6000")
    assert done.code == 0 and "prosecutor" in done.out and "is an estimate" in done.out and "skewness" in done.out
    content = files("risk", "patients.csv", *QUASI, "--format", "json").json
    assert content["rows"] == 60 and content["journalist"] is None and set(content["sensitive"]) == {"illness"}
    files("anonymize", "patients.csv", "--k", "5", *QUASI, "-o", "coarse.csv")
    after = files("risk", "coarse.csv", *QUASI, "--format", "json").json
    assert after["unique"] == 0 and after["prosecutor"] <= 1 / 5 and after["sets"] == []


def test_a_population_and_people_in_files(files: Any) -> None:
    pq.write_table(TABLE.slice(0, 20), "few.parquet")
    done = files("risk", "few.parquet", *QUASI, "--population", "patients.parquet", "--people", "who.parquet")
    assert done.code == 0 and "estimate" not in done.out
    assert pq.read_table("who.parquet").num_rows == 20
    assert files("risk", "few.parquet", *QUASI, "--people", "who.parquet").code == 2


def test_facts_narrow(files: Any) -> None:
    Path("known.toml").write_text(
        "[[facts]]\ncolumn = 'illness'\nexcluded = ['flu', 'gout']\nwhere = { town = 'Bern' }\n"
    )
    options = ("risk", "patients.csv", "--quasi", "town", "--sensitive", "illness", "--format", "json")
    before, after = (files(*options, *more).json["sensitive"]["illness"] for more in ((), ("--facts", "known.toml")))
    assert after["learnt"] > before["learnt"] and after["contradicted"] > 0 == before["contradicted"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("anonymize", "patients.csv", "--k", "99", *QUASI, "-o", "a.csv"), 2, "lower k"),
        (("anonymize", "patients.csv", "--k", "5", "--quasi", "agee", "-o", "a.csv"), 2, "no column agee"),
        (("anonymize", "patients.csv", "--k", "5", *QUASI, "-o", "patients.csv"), 2, "patients.csv"),
        (("anonymize", "patients.csv", "--k", "5", *QUASI, "-o", "a.txt"), 2, ".parquet"),
        (("anonymize", "patients.csv", "--k", "5", *QUASI, "-o", "a.csv", "--certificate", "a.csv"), 2, "different"),
        (("anonymize", "patients.csv", "--k", "5", *QUASI, "-o", "a.csv", "--hierarchies", "t.csv"), 2, "TOML"),
        (("anonymize", "none.csv", "--k", "5", *QUASI, "-o", "a.csv"), 4, "cannot be read"),
        (("risk", "visits.toml", *QUASI), 2, ".parquet or .csv"),
        (("risk", "patients.csv", *QUASI, "--facts", "none.toml"), 4, "cannot be read"),
        (("risk", "patients.csv", *QUASI, "--facts", "visits.toml"), 2, "[[facts]]"),
        (("risk", "patients.csv", *QUASI, "--population", "7"), 2, "holds the table's people"),
        (("risk", "patients.csv", "--quasi", "age", "--sensitive", "age"), 2, "choose one"),
    ],
)
def test_refusals_are_one_line_and_leave_no_file(files: Any, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = files(*arguments)
    assert done.code == code and words in done.err and len(done.err.splitlines()) == 1
    assert not Path("a.csv").exists() and not Path("a.csv.certificate.json").exists()
