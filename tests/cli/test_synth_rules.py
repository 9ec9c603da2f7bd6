"""`discreet synth` with rules: from options and files, refused in one line before any charge."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth
from discreet.cli.synth._rules import rules_of
from discreet.errors import ParameterError
from discreet.policy import load_policy

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = ("--columns", "region,cost,age,day")
SOURCES = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger")
FILE = """
hard = ["age >= 30 OR age IS NULL"]
[[soft]]
condition = "age < 60"
weight = 3
[[totals]]
rows = 500
"""


def test_rows_keep_the_rules_of_options_and_of_a_file(cli: Any) -> None:
    Path("rules.toml").write_text(FILE)
    words = ("--epsilon", "1", "--tier", "instant", "--rule", "age < 70", "--rules", "rules.toml")
    workload = ("--workload", "SELECT age, AVG(cost) FROM visits GROUP BY age")
    planned = cli("synth", "plan", "visits", "--policy", "visits.toml", *COLUMNS, *words, *workload, "--explain")
    assert planned.code == 0 and "500 rows" in planned.out and "age < 70" in planned.out
    done = cli("synth", "fit", "visits", *SOURCES, *COLUMNS, *words, *workload, "-o", "v.synth")
    assert done.code == 0
    table = synth.load("v.synth")
    assert table.total == 500 and table.rules.hard == ("age < 70", "age >= 30 OR age IS NULL")
    rows = list(csv.DictReader(io.StringIO(cli("synth", "sample", "v.synth").out)))
    assert len(rows) == 500
    assert all(row["age"] == "" or 30 <= int(row["age"]) < 70 for row in rows)
    assert "rule: age < 70" in cli("synth", "show", "v.synth").out


def test_rare_rows_are_dropped_and_what_that_bends_is_on_stderr(cli: Any) -> None:
    options = ("--columns", "region", "--epsilon", "1", "-o", "v.synth")
    assert cli("synth", "fit", "visits", *SOURCES, *options).code == 0
    done = cli("synth", "sample", "v.synth", "-n", "100", "--min-repeats", "101")
    assert done.code == 0 and "100 of 100 rows occurred fewer than 101 times" in done.err
    assert len(done.out.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hard = 3", "hard is a list"),
        ("other = 3", "no other among rules"),
        ("hard = [", "is no TOML"),
        ("soft = 3", "as a section"),
        ('[[soft]]\ncondition = "age > 3"\nheavy = 3', "and no heavy"),
        ('[[follows]]\ncolumn = "age"', "given is missing"),
        ('[[follows]]\ncolumn = "age"\ngiven = "region"', "either values"),
        ('[[follows]]\ncolumn = "age"\ngiven = 3\nvalues = { a = 1 }', "another one or a list"),
        ('[[follows]]\ncolumn = "age"\ngiven = "region"\nvalues = { a = 1, b = "x" }', "of one type"),
        ('[[follows]]\ncolumn = "age"\ngiven = ["region", "day"]\nvalues = { a = 1 }', "use a file for several"),
        ("[[totals]]\nwhere = 'age > 3'", "rows is missing"),
        ("[[soft]]\nweight = 3", "condition is missing"),
        ('[[follows]]\ncolumn = "age"\ngiven = "region"\nfile = "nowhere.csv"', "no such file"),
        ('[[follows]]\ncolumn = "age"\ngiven = "region"\nfile = "other.csv"', "has no column region"),
        ('hard = ["age > 3 AND age < 2"]', "nothing satisfies"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_a_line(cli: Any, text: str, words: str) -> None:
    Path("rules.toml").write_text(text)
    Path("other.csv").write_text("age\n1\n")
    done = cli(
        "synth", "plan", "visits", "--policy", "visits.toml", *COLUMNS, "--epsilon", "1", "--rules", "rules.toml"
    )
    assert done.code == 2 and words in " ".join(done.err.split()) and "Traceback" not in done.err


def test_what_follows_from_a_file(tmp_path: Path) -> None:
    """Values are text there, and in the fit of the types of the policy: a code that looks like a number is a text."""
    (tmp_path / "zips.csv").write_text('zip,level,odd\n02139,1,"a\nb"\n10001,,\n')
    (tmp_path / "rules.toml").write_text('[[follows]]\ncolumn = "level"\ngiven = "zip"\nfile = "zips.csv"\n')
    (rule,) = rules_of([], tmp_path / "rules.toml")
    assert isinstance(rule, synth.Follows) and isinstance(rule.values, pa.Table)
    assert rule.values.to_pydict() == {"zip": ["02139", "10001"], "level": ["1", None]}
    columns = {"zip": {"type": "string", "keys": ["02139", "10001"]}, "level": {"type": "int"}}
    policy = {"version": "1", "budget": {"rho": 1}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    question = synth.Synthesize("t", dp.rho("0.1"), rules=[rule])
    assert synth.plan_question(question, load_policy(policy)).rules.followers[0].values == (1, None, None)
    (tmp_path / "zips.csv").write_text("zip,level\n02139,high\n10001,low\n")
    with pytest.raises(dp.ParameterError, match="values that are not of type int"):
        synth.plan_question(replace(question, rules=rules_of([], tmp_path / "rules.toml")), load_policy(policy))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("values = { a = 1000000000000000000000000 }", "of one type"),
        ('file = "a\\u0000b"', "no name of a file"),
        ('file = "/dev/zero"', "larger than 16 MiB"),
    ],
)
def test_files_that_hold_no_values_are_refused_in_words(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(f'[[follows]]\ncolumn = "cost"\ngiven = "region"\n{content}\n')
    with pytest.raises(ParameterError, match=words):
        rules_of([], file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("region,cost,cost\nnorth,1,2\n", "has two columns cost"),
        ("region,cost\nnorth\n", "line 2: it has not as many fields"),
        ("region,cost\nnorth,1\n\nsouth,2,3\n", "line 4: it has not as many fields"),
        ("", "has no column region"),
    ],
)
def test_files_of_values_are_read_as_tables_or_not_at_all(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "values.csv").write_text(text)
    (tmp_path / "rules.toml").write_text('[[follows]]\ncolumn = "cost"\ngiven = "region"\nfile = "values.csv"\n')
    with pytest.raises(ParameterError, match=words):
        rules_of([], tmp_path / "rules.toml")
