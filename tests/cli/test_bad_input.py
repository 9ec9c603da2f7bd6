"""Whatever is wrong: one clean message, the right exit code, no traceback, and nothing on stdout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("one_database")

COUNT = "SELECT COUNT(*) AS n FROM visits"


def check(done: Any, code: int, *words: str) -> None:
    assert done.code == code, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err
    if code != 2 or done.err.startswith("error: "):
        assert done.err.startswith("error: ")
        assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT AVG(price) AS p FROM visits", ["no column price"]),
        ("SELECT SUM(csot) AS p FROM visits", ["did you mean cost"]),
        ("SELECT COUNT(*) FROM vists", ["did you mean visits"]),
        ("SELECT * FROM visits", ["aggregate"]),
        ("SELECT person FROM visits", ["person"]),
        ("SELECT city, COUNT(*) FROM visits GROUP BY city", ["needs a delta"]),
        ("SELECT SUM(city) FROM visits", ["number"]),
        ("DROP TABLE visits", ["not supported"]),
        ("", ["statement"]),
        ("SELECT \x1b[31m", ["not valid SQL"]),
        ("SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits", ["exactly one statement"]),
        ("(" * 5_000, []),
    ],
)
def test_unsupported_queries(cli: Any, sql: str, words: list[str]) -> None:
    done = cli.ask(sql, "--epsilon", "0.1")
    check(done, 2, *words)
    assert "\x1b" not in done.err
    assert not Path("visits.ledger").exists()
    check(cli("plan", sql, "--policy", "visits.toml", "--epsilon", "0.1"), 2, *words)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("", ["--epsilon"]),
        ("--epsilon nan", ["finite"]),
        ("--epsilon inf", ["finite"]),
        ("--epsilon 0", ["greater than 0"]),
        ("--epsilon -1", ["greater than 0"]),
        ("--epsilon one", ["finite number"]),
        ("--epsilon 1e999999999", ["finite number"]),
        ("--epsilon 1/0", ["finite number"]),
        ("--epsilon 0.1 --delta 1", ["less than 1"]),
        ("--epsilon 0.1 --delta -1e-9", ["at least 0"]),
        ("--epsilon 0.1 --delta nan", ["finite"]),
        ("--delta 1e-6", ["--delta stands beside"]),
        ("--rho 0", ["greater than 0"]),
        ("--rho 0.1", ["rho"]),
        ("--mu 0", ["greater than 0"]),
        ("--mu 1", ["spend --epsilon E or --epsilon E --delta D"]),
        ("--epsilon 1 --rho 1", ["--epsilon, --rho"]),
        ("--epsilon 1 --rho 1 --mu 1", ["--epsilon, --rho, --mu"]),
        ("--epsilon 0.1 --level 0", ["--level"]),
        ("--epsilon 0.1 --level 1", ["--level"]),
        ("--epsilon 0.1 --level nan", ["--level"]),
        ("--epsilon 0.1 --level most", ["--level"]),
        ("--epsilon 0.1 --format xml", ["--format"]),
        ("--epsilon", ["--epsilon"]),
        ("--epsilon 0.1 --seed 1", ["--seed"]),
    ],
)
def test_bad_spends_and_options_spend_nothing(cli: Any, flags: str, words: list[str]) -> None:
    assert cli.ask(COUNT, "--epsilon", "0.5").code == 0
    check(cli.ask(f"{COUNT} WHERE age > 1", *flags.split()), 2, *words)
    assert cli("budget", "--ledger", "visits.ledger", "--format", "json").json["releases"] == 1


def test_missing_arguments_are_usage_errors(cli: Any) -> None:
    for words in ([], ["query"], ["query", COUNT], ["plan"], ["budget"], ["policy", "init"], ["nonsense"]):
        done = cli(*words)
        assert done.code == 2, words
        assert "Traceback" not in done.err


def test_over_budget_is_three_and_spends_nothing(cli: Any) -> None:
    check(cli.ask(COUNT, "--epsilon", "3.1"), 3, "nothing was spent")
    assert cli("budget", "--ledger", "visits.ledger", "--format", "json").json["spent"]["epsilon"] == "0"


def run(cli: Any, data: str = "visits.parquet", policy: str = "visits.toml", ledger: str = "visits.ledger") -> Any:
    return cli("query", COUNT, "--data", data, "--policy", policy, "--ledger", ledger, "--epsilon", "0.1")


def test_bad_data(cli: Any) -> None:
    check(run(cli, data="nowhere.parquet"), 4, "no such file")
    check(run(cli, data="."), 4)
    check(run(cli, data="visits.toml"), 4, "not supported")
    check(run(cli, data="visitors=visits.parquet"), 4, "no table visitors")
    Path("broken.parquet").write_bytes(Path("visits.parquet").read_bytes()[:100])
    check(run(cli, data="broken.parquet"), 4, "cannot be read")
    Path("empty.csv").write_text("")
    check(run(cli, data="empty.csv"), 4, "header")
    Path("few.csv").write_text("person,region\n1,north\n")
    check(run(cli, data="few.csv"), 4, "lacks", "cost")
    Path("broken.duckdb").write_bytes(b"no database")
    check(run(cli, data="broken.duckdb"), 4, "DuckDB")
    twice = cli("query", COUNT, "--data", "visits=a", "--data", "Visits=b", "--policy", "visits.toml", "--ledger", "l")
    check(twice, 2)


def test_bad_policies(cli: Any) -> None:
    check(run(cli, policy="nowhere.toml"), 4, "no such file", "policy init")
    check(run(cli, policy="."), 4, "directory")
    for text in ("version = ", "a = 1\na = 2", "\x00", "x = [" * 5_000):
        Path("bad.toml").write_text(text)
        check(run(cli, policy="bad.toml"), 4, "bad.toml")
    Path("bad.toml").write_bytes(b"\xff\xfe")
    check(run(cli, policy="bad.toml"), 4, "bad.toml")
    Path("bad.toml").write_text(Path("visits.toml").read_text().replace("max_rows", "max_row"))
    check(run(cli, policy="bad.toml"), 4, "unknown key")


def test_bad_ledgers(cli: Any) -> None:
    check(run(cli, ledger="."), 4, "directory")
    check(run(cli, ledger="no/such/place"), 4, "no directory")
    check(run(cli, ledger="visits.toml"), 4, "visits.toml")
    assert run(cli).code == 0
    whole = Path("visits.ledger").read_bytes()
    half = bytearray(whole)
    for i in range(2_000, len(half)):
        half[i] ^= 0x55
    for name, content in (("cut", whole[:3_000]), ("flipped", bytes(half)), ("empty", b"")):
        Path(name).write_bytes(content)
        check(run(cli, ledger=name), 4, name)
        check(cli("budget", "--ledger", name), 4, name)
    check(cli("budget", "--ledger", "nowhere"), 4, "no ledger")
    assert not Path("nowhere").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
def test_a_directory_where_nobody_may_write(cli: Any) -> None:
    check(run(cli, ledger="/proc/visits.ledger"), 4, "/proc/visits.ledger")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory(cli: Any) -> None:
    Path("locked").mkdir(mode=0o500)
    check(run(cli, ledger="locked/visits.ledger"), 4, "locked")


def test_a_budget_that_differs_from_the_ledgers(cli: Any) -> None:
    assert run(cli).code == 0
    Path("visits.toml").write_text(Path("visits.toml").read_text().replace("epsilon = 3", "epsilon = 30"))
    check(run(cli), 4, "state its own budget")
