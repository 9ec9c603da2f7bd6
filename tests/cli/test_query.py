"""`discreet query`: formats, repeats, exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("one_database")

COUNT = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


def shape(value: object) -> object:
    """Types in place of values, so that noise does not matter.

    >>> shape({"rows": [["north", 12, None]]})
    {'rows': [['str', 'int', 'NoneType']]}
    """
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    return [shape(part) for part in value] if isinstance(value, list) else type(value).__name__


def test_json_has_the_documented_shape(cli: Any) -> None:
    done = cli.ask(
        "SELECT region, day, COUNT(*) AS n, AVG(cost) AS c, SUM(age) AS s FROM visits GROUP BY region, day LIMIT 2",
        *("--epsilon", "0.1", "--format", "json"),
    )
    assert done.code == 0
    assert done.err == ""
    assert done.out.count("\n") == 1
    assert done.out.isascii()
    assert list(done.json) == ["columns", "rows", "errors", "loss", "remaining", "certificate"]
    assert done.json["columns"] == ["region", "day", "n", "c", "s"]
    assert shape(done.json["rows"]) == [["str", "str", "int", "float", "int"]] * 2
    assert [row[:2] for row in done.json["rows"]] == [["north", "2026-01-31"], ["north", "2026-02-01"]]
    assert shape(done.json["errors"]) == {"n": ["float"] * 2, "c": ["float"] * 2, "s": ["float"] * 2}
    assert done.json["loss"] == {"kind": "pure", "epsilon": "1/10"}
    assert done.json["remaining"] == {"kind": "approx", "epsilon": "29/10", "delta": "1/1000"}


def test_json_has_null_for_what_is_no_number(cli: Any) -> None:
    done = cli.ask("SELECT SUM(cost) / 0 AS x, COUNT(*) AS n FROM visits", "--epsilon", "0.5", "--format", "json")
    assert done.code == 0
    assert done.json["rows"][0][0] is None
    assert done.json["errors"]["x"] == [None]


def test_csv_has_errors_beside_the_values(cli: Any) -> None:
    done = cli.ask(
        "SELECT region, COUNT(*) AS n, AVG(cost) AS n_error FROM visits GROUP BY region",
        *("--epsilon", "0.5", "--format", "csv"),
    )
    assert done.code == 0
    header, *rows = csv.reader(io.StringIO(done.out))
    assert header == ["region", "n", "n_error", "n_error_error", "n_error_error_error"]
    assert [row[0] for row in rows] == ["north", "south"]
    assert all(float(cell) > 0 for row in rows for cell in row[3:])
    assert "\r" not in done.out


def test_the_table_says_error_cost_and_what_is_left(cli: Any) -> None:
    done = cli.ask(COUNT, "--epsilon", "1/3", "--level", "0.5")
    assert done.code == 0
    assert re.search(r"north\s+-?[\d,]+ ± \d+", done.out)
    assert "2 rows; ± is 50 % of the noise\n" in done.out
    assert "cost epsilon 0.333333; left epsilon 2.66667, delta 0.001" in done.out


def test_estimates_of_bias_are_bought_and_told(cli: Any) -> None:
    text = ("SELECT SUM(cost) AS s, SUM(age) AS a, COUNT(*) AS n FROM visits", "--epsilon", "1", "--bias")
    done, again = cli.ask(*text, "--format", "json"), cli.ask(*text)
    assert done.code == again.code == 0
    assert list(done.json) == ["columns", "rows", "errors", "bias", "loss", "remaining", "certificate"]
    assert done.json["loss"] == {"kind": "pure", "epsilon": "1"}
    first, *_, last = sorted(done.json["bias"], key=lambda bias: bias["what"])
    assert list(first) == ["columns", "what", "estimate", "error", "at_least"]
    assert (first["what"], first["columns"]) == ("rows of people beyond the first 2 of each", ["s", "a", "n"])
    assert (last["what"], last["columns"]) == ("what of cost is cut off below 0, summed", ["s"])
    assert re.search(r"\nbias of s: rows with cost above 50: -?[\d,.e+]+ ± [\d,.e+]+ \(95 %\)\n", again.out)
    assert "what of age is cut off above 120, summed: " in again.out
    assert again.out.count(", a lower limit\n") == 5
    assert "left epsilon 2," in again.out


def test_csv_has_no_room_for_bias(cli: Any) -> None:
    done = cli.ask("SELECT SUM(cost) AS s FROM visits", "--epsilon", "1", "--bias", "--format", "csv")
    assert done.code == 2 and "--format json" in done.err
    assert not Path("visits.ledger").exists()


def test_a_repeat_is_free_and_the_same(cli: Any) -> None:
    first = cli.ask(COUNT, "--epsilon", "0.5", "--format", "json")
    again = cli.ask(f"  {COUNT.replace('region', 'REGION')} -- again", "--epsilon", "1/2", "--format", "json")
    assert first.json["rows"] == again.json["rows"]
    assert again.json["remaining"] == {"kind": "approx", "epsilon": "5/2", "delta": "1/1000"}


def test_thirty_spends_of_a_tenth_use_up_three(cli: Any) -> None:
    for i in range(30):
        assert cli.ask(f"SELECT COUNT(*) AS n FROM visits WHERE age > {i}", "--epsilon", "0.1").code == 0
    done = cli.ask("SELECT COUNT(*) AS n FROM visits WHERE age > 30", "--epsilon", "1e-9")
    assert done.code == 3
    assert done.out == ""
    assert "nothing was spent" in done.err


def test_rho_and_delta(cli: Any) -> None:
    Path("visits.toml").write_text(Path("visits.toml").read_text().replace("epsilon = 3", "rho = 0.5"))
    done = cli.ask(
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "--rho", "0.1", "--delta", "1e-4", "--format", "json"
    )
    assert done.code == 0
    assert done.json["loss"] == {"kind": "rho", "rho": "1/10", "delta": "1/10000"}
    assert Fraction(done.json["remaining"]["rho"]) == Fraction(2, 5)


def test_a_private_key_cannot_steer_the_terminal(cli: Any) -> None:
    done = cli.ask("SELECT free, COUNT(*) AS n FROM visits GROUP BY free", "--epsilon", "2", "--delta", "1e-3")
    assert done.code == 0
    assert r"a\x1b[2Jb" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("data", "policy"),
    [
        (["visits=visits.parquet"], POLICY_OK := "visits.toml"),
        (["VISITS=visits.parquet"], POLICY_OK),
        (["visits.parquet"], POLICY_OK),
    ],
)
def test_data_by_name_or_alone(cli: Any, data: list[str], policy: str) -> None:
    flags = [word for item in data for word in ("--data", item)]
    done = cli("query", COUNT, *flags, "--policy", policy, "--ledger", "l", "--epsilon", "0.1", "--format", "json")
    assert done.code == 0
    assert len(json.loads(done.out)["rows"]) == 2


def test_a_database_holds_every_table(cli: Any) -> None:
    import duckdb

    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE visits AS SELECT * FROM 'visits.parquet'")
        connection.execute("CREATE TABLE staff AS SELECT 1 AS id")
    Path("two.toml").write_text(
        Path("visits.toml").read_text() + '[tables.staff]\nunit = "rows"\n[tables.staff.columns.id]\ntype = "int"\n'
    )
    words = ["--policy", "two.toml", "--ledger", "l", "--epsilon", "0.1"]
    assert cli("query", "SELECT COUNT(*) AS n FROM staff", "--data", "shop.duckdb", *words).code == 0
    alone = cli("query", COUNT, "--data", "visits.parquet", *words)
    assert alone.code == 4
    assert "by name" in alone.err


def test_a_query_is_read_from_standard_input(cli: Any) -> None:
    files = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger", "--epsilon", "0.1")
    typed = cli.process("query", "-", *files, "--format", "json", input="SELECT COUNT(*) AS n\nFROM visits -- all\n")
    assert (typed.returncode, typed.stderr) == (0, "")
    again = cli("query", "SELECT COUNT(*) AS n FROM visits", *files, "--format", "json")
    assert json.loads(typed.stdout)["rows"] == again.json["rows"]  # the same question, repeated for free
    assert cli.process("plan", "-", "--policy", "visits.toml", input="SELECT COUNT(*) FROM visits").returncode == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [(b"\xff\xfeS", "UTF-8"), (b"SELECT 1 " * 200_000, "longer than"), (b" \n", "SELECT")],
    ids=["no text", "too long", "empty"],
)
def test_what_is_no_query_on_standard_input_is_refused(cli: Any, given: bytes, words: str) -> None:
    done = subprocess.run(
        cli.command("plan", "-", "--policy", "visits.toml"), input=given, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr.decode()
    Path("question.sql").write_bytes(given)
    filed = cli("plan", "--file", "question.sql", "--policy", "visits.toml")
    assert (filed.code, filed.out) == (2, "")
    assert words in filed.err and "--file question.sql" in filed.err


def test_a_query_is_read_from_a_file(cli: Any) -> None:
    Path("question.sql").write_text("-- how many\nSELECT COUNT(*) AS n\nFROM visits\n", encoding="utf-8-sig")
    files = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger", "--epsilon", "0.1")
    done = cli("query", "-f", "question.sql", *files, "--format", "json")
    again = cli("query", "SELECT COUNT(*) AS n FROM visits", *files, "--format", "json")
    assert done.json["rows"] == again.json["rows"]
    assert cli("plan", "--file", "question.sql", "--policy", "visits.toml").code == 0
    typed = cli.process("plan", "-f", "-", "--policy", "visits.toml", input="SELECT COUNT(*) FROM visits")
    assert typed.returncode == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("SELECT COUNT(*) FROM visits", "--file", "question.sql"), "given twice"),
        (("-", "--file", "-"), "given twice"),
        ((), "--file question.sql"),
        (("--file", "nowhere.sql"), "--file nowhere.sql: No such file"),
        (("--file", "."), "--file .: Is a directory"),
    ],
)
def test_one_query_is_given_and_can_be_read(cli: Any, given: tuple[str, ...], words: str) -> None:
    done = cli("plan", *given, "--policy", "visits.toml")
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_a_query_of_another_system(cli: Any) -> None:
    text = "SELECT TOP 1 [region], COUNT(*) AS n FROM dbo.visits GROUP BY [region] ORDER BY n DESC"
    here = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC LIMIT 1"
    spend = ("--epsilon", "0.5", "--format", "json")
    first, again = cli.ask(here, *spend), cli.ask(text, "--dialect", "tsql", *spend)
    assert first.json["remaining"] == again.json["remaining"]
    assert first.json["rows"] == again.json["rows"]
    done = cli("plan", text, "--policy", "visits.toml", "--dialect", "tsql", "--epsilon", "0.5")
    assert done.code == 0
    assert "LIMIT 1" in done.out
    done = cli.ask("SELECT AVG(age) FROM visits", "--dialect", "tsql", *spend)
    assert done.code != 0
    assert "AVG(x * 1.0)" in done.err
    assert cli.ask(here, "--dialect", "mysql", *spend).code != 0
