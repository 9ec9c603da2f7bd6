"""From an empty folder with a CSV to a first GROUP BY with private keys: a few commands, no refusal and no Python."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from statsmodels import datasets

from discreet.datasets import rand

CITIES = ("Bern", "Ulm", "Graz, old town")


@pytest.fixture
def folder(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a CSV as people have them: a header for people, mixed types, empty fields, quotes."""
    with (tmp_path / "Visits 2026.csv").open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Person-ID", "Home Town", "age", "spent (EUR)", "note"])
        for i in range(900):
            age = "" if i % 50 == 0 else "n/a" if i % 51 == 0 else str(20 + i % 60)
            rows.writerow([f"p{i // 2}", CITIES[i % 3], age, f"{i % 40}.50", 'said "no"' if i % 7 == 0 else ""])
    binaries = tmp_path.parent / "bin"
    binaries.mkdir(exist_ok=True)
    script = binaries / "discreet"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet.cli "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(binaries), prepend=os.pathsep)
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("visits.toml", "visits.parquet"):
        (tmp_path / name).unlink()
    return tmp_path


def shell(command: str) -> str:
    """What a command prints in a shell, where it must end with exit code 0 and no error."""
    done = subprocess.run(["/bin/sh", "-c", command], text=True, capture_output=True, check=False)
    assert (done.returncode, "error" in done.stderr) == (0, False), f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


INIT = "discreet policy init 'Visits 2026.csv' --unit Person-ID --max-rows 2"
ASK = (
    'discreet query \'SELECT "Home Town", COUNT(*) AS n FROM "Visits 2026" GROUP BY "Home Town"\' '
    "--data 'Visits 2026.csv' --policy visits.toml --ledger visits.ledger --epsilon 5 --delta 1e-3 --format json"
)


def check_answer(text: str) -> None:
    rows = json.loads(text)["rows"]
    assert sorted(row[0] for row in rows) == sorted(CITIES)
    assert all(150 < row[1] < 450 for row in rows)


def test_two_commands_where_the_policy_has_the_budget(folder: Path) -> None:
    shell(f"{INIT} --epsilon 10 --delta 1e-2 -o visits.toml")
    check_answer(shell(ASK))


def here(cli: Any, command: str) -> str:
    """What a command prints, run in this process."""
    done = cli(*shlex.split(command)[1:])
    assert (done.code, "error" in done.err) == (0, False), f"{command}\n{done.out}\n{done.err}"
    return done.out


def test_four_commands_where_the_ledger_has_it_and_with_a_look_between(cli: Any, folder: Path) -> None:
    here(cli, f"{INIT} -o visits.toml")
    here(cli, "discreet ledger create visits.ledger --epsilon 10 --delta 1e-2")
    checked = json.loads(here(cli, "discreet policy check visits.toml --data 'Visits 2026.csv' --json"))
    assert checked["problems"] == []
    columns = {column["name"]: column["group_by"] for column in checked["tables"][0]["columns"]}
    assert columns == {"Home Town": "delta", "age": "delta", "spent (EUR)": "delta", "note": "delta"}
    check_answer(here(cli, ASK))


def test_a_codebook_adds_averages(cli: Any, folder: Path) -> None:
    fields = "column,type,lower,upper,label\nage,int,0,100,in years\nspent (EUR),float,0,40,\n"
    (folder / "codebook.csv").write_text(fields)
    here(cli, f"{INIT} --epsilon 10 --delta 1e-2 --codebook codebook.csv -o visits.toml")
    asked = ASK.replace("COUNT(*) AS n", 'COUNT(*) AS n, AVG("spent (EUR)") AS s, AVG(age) AS a')
    rows = json.loads(here(cli, asked))["rows"]
    assert sorted(row[0] for row in rows) == sorted(CITIES)
    assert all(10 < row[2] < 30 and 30 < row[3] < 70 for row in rows)


REAL: dict[str, tuple[str, str, str, int]] = {
    "people of whom each has a row": ("anes96", "rows", "educ", 944),
    "answers of readers, many numbers": ("fair", "rows", "occupation", 6_366),
    "years of people, several rows each": ("rand", "person --max-rows 5", "coinsurance", 20_190),
}


@pytest.mark.parametrize("shape", REAL)
def test_real_tables_take_two_commands(cli: Any, folder: Path, shape: str) -> None:
    name, unit, key, size = REAL[shape]
    table = pq.read_table(rand.table).to_pandas() if name == "rand" else getattr(datasets, name).load_pandas().data
    table.to_csv("real.csv", index=False)
    truth = table[key].astype(str).value_counts()
    assert len(table) == size
    here(cli, f"discreet policy init real.csv --unit {unit} --epsilon 3 -o real.toml")
    query = f"SELECT {key} AS k, COUNT(*) AS n FROM real GROUP BY k"
    paid = "--ledger real.ledger --epsilon 2 --delta 1e-7 --format json"
    rows = json.loads(here(cli, f"discreet query '{query}' --data real.csv --policy real.toml {paid}"))["rows"]
    large = {value for value, count in truth.items() if count > 200}
    assert large <= {value for value, _ in rows} <= set(truth.index)
    assert all(abs(count - truth[value]) < 150 for value, count in rows)  # 30 times the scale: less than 1e-12
