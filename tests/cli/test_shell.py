"""`discreet shell`: statements one by one, on standard input and at a prompt."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.history import FileHistory
from typer.testing import CliRunner

from discreet.cli._app import app
from discreet.cli.shell._completion import completions
from discreet.cli.shell._statements import is_complete, split
from discreet.policy import load_policy
from terminal import Terminal

FILES = ("--data", "visits.parquet", "--policy", "visits.toml", "--ledger", "visits.ledger")
COUNT = "SELECT COUNT(*) AS n FROM visits"
STOPPED = """
import pathlib, sys, time
from discreet.cli import main
from discreet.engines.duckdb import DuckDB
run = DuckDB.run
def slow(*arguments, **named):
    if not pathlib.Path("begun").exists():
        pathlib.Path("begun").touch()
        time.sleep(3600)
    return run(*arguments, **named)
DuckDB.run = slow
sys.argv = ["discreet", *{words!r}]
main()
"""


@pytest.fixture(autouse=True)
def pure_budget(cli: Any) -> None:
    policy = Path("visits.toml")
    policy.write_text(policy.read_text(encoding="utf-8").replace("delta = 1e-3\n", ""), encoding="utf-8")


def ask(text: str, *options: str) -> Any:
    """What the shell says to what stands on standard input, in this process."""
    return CliRunner().invoke(app, ["shell", *FILES, *options], input=text, catch_exceptions=False)


def at_prompt(state: Path, *options: str, command: list[str] | None = None) -> Terminal:
    start = command or [sys.executable, "-m", "discreet.cli", "shell", *FILES, *options]
    return Terminal(start, {**os.environ, "TERM": "xterm", "COLUMNS": "100", "XDG_STATE_HOME": str(state)})


def test_statements_are_asked_one_by_one_and_errors_end_nothing(cli: Any) -> None:
    done = ask(
        f"-- how many; all in all\n{COUNT}\n;\nSELECT nope FROM visits;\n\\spend rho=1 mu=2\n\\nothing\n"
        f"\\spend epsilon=0.25\n{COUNT}; {COUNT};\n\\budget\n",
        *("--epsilon", "0.5", "--format", "json"),
    )
    first, second, repeat = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    assert first["loss"] == {"kind": "pure", "epsilon": "1/2"}
    assert second["loss"] == {"kind": "pure", "epsilon": "1/4"}
    assert repeat["rows"] == second["rows"]
    assert "spent epsilon 0.75; left epsilon" in done.stdout
    errors = done.stderr.splitlines()
    assert [error.startswith("error: ") for error in errors] == [True] * 3
    assert "no column nope" in errors[0] and "--rho, --mu" in errors[1] and "\\nothing" in errors[2]
    assert done.exit_code == 2
    again = cli.ask(COUNT, "--epsilon", "0.25", "--format", "json").json
    assert again["rows"] == second["rows"]  # one ledger


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (f"\\spend epsilon=0,01\n{COUNT};\n", "must be a finite number"),
        (f"\\spend epsilon=\n{COUNT};\n", "got epsilon="),
        (f"SELECT\n\\spend epsilon=0.01\n{COUNT};\n", "stands within a statement"),
    ],
)
def test_a_price_that_failed_leaves_none(cli: Any, script: str, error: str) -> None:
    done = ask(script, "--epsilon", "2")
    assert (done.exit_code, error in done.stderr) == (2, True)
    assert cli("budget", "--ledger", "visits.ledger", "--format", "json").json["spent"]["epsilon"] == "0"


def test_a_command_may_follow_a_comment(cli: Any) -> None:
    done = ask(f"-- cheap\n\\spend epsilon=0.01\n{COUNT};\n", "--epsilon", "2", "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert cli("budget", "--ledger", "visits.ledger", "--format", "json").json["spent"]["epsilon"] == "1/100"


def test_the_first_error_is_the_exit_code_and_quit_ends(cli: Any) -> None:
    done = ask(f"{COUNT};\n\\spend epsilon=0.1\n\\quit\n\\budget\n", "--epsilon", "1000")
    assert (done.exit_code, done.stdout) == (3, "each query costs epsilon 0.1\n")
    assert ask("").exit_code == 0


def test_plan_costs_nothing_and_speaks_the_words_of_the_command_line(cli: Any) -> None:
    average = "SELECT AVG(cost) AS c FROM visits"
    done = ask(f"\\plan {average}\n\\plan --assume-rows 400 {average}\n\\plan\n\\budget\n", "--epsilon", "0.5")
    assert (done.exit_code, done.stderr) == (0, "")
    unknown, known, last, budget = *done.stdout.split("Ledger: ")[:3], done.stdout.splitlines()[-1]
    assert "plan with --assume-rows N" in unknown and "c: ± ~" in known
    assert "plan with --assume-rows N" in last
    assert budget.startswith("spent epsilon 0; left epsilon")


def test_without_a_price_nothing_is_asked(cli: Any) -> None:
    done = ask(f"{COUNT};\n\\budget\n")
    assert done.exit_code == 2
    assert "\\spend epsilon=0.1" in done.stderr
    assert done.stdout.startswith("spent epsilon 0;")


def test_what_the_policy_says_is_shown_and_cannot_steer_a_terminal(cli: Any) -> None:
    policy, plain = Path("visits.toml"), 'free = { type = "string" }'
    steering = 'free = { type = "string", keys = ["\\u001b[2Jb"] }'
    policy.write_text(policy.read_text(encoding="utf-8").replace(plain, steering), encoding="utf-8")
    done = ask("\\tables\n\\columns visits\n\\columns\n\\columns vists\n\\help\n")
    assert "visits: unit person; " in done.stdout and "0 to " in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "\\x1b[2Jb" in done.stdout
    assert "\\columns takes a table of the policy: visits" in done.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (COUNT, "does not end with `;`"),
        (f"{COUNT} WHERE city = 'a;", "does not end with `;`"),
        ("-" * 1_000_001, "longer than"),
        (f"{COUNT}\n" * 40_000, "longer than"),
        ("\\spend", "no price is set"),
        ("\\spend epsilon", "write \\spend epsilon=0.1"),
        ("\\spend delta=0.1", "--delta stands beside"),
        ("\\spend epsilon=0", "greater than 0"),
        ("\\plan", "no query yet"),
        ("\\plan --assume-rows 0 SELECT 1", "1 or more"),
        ("\\budget now", "takes nothing"),
    ],
    ids=range(11),
)
def test_what_is_no_statement_is_refused(cli: Any, given: str, words: str) -> None:
    done = ask(given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_statements_end_where_the_planner_reads_their_end() -> None:
    assert split("SELECT ';' -- ;\n; ; SELECT \"a;b\";") == (["SELECT ';' -- ;", 'SELECT "a;b"'], "")
    assert split("SELECT 'a;") == ([], "SELECT 'a;")
    assert split("SELECT 1; /* rest; */ ") == (["SELECT 1"], "")
    assert [is_complete(text) for text in ("", "\\plan SELECT", "SELECT", "SELECT 1;", "SELECT 1; S")] == [
        *(True, True, False, True, False)
    ]


@pytest.mark.parametrize(
    ("before", "word", "among"),
    [
        ("SEL", "SEL", "SELECT"),
        ("SELECT * FROM ", "", "visits"),
        ("SELECT * FROM v", "v", "visits"),
        ("SELECT co", "co", "cost"),
        ("SELECT co", "co", "COUNT"),
        ("SELECT visits.c", "c", "city"),
        ("SELECT v.c", "c", "cost"),
        ("SELECT reg", "reg", "REGR_SLOPE"),
        ("\\c", "\\c", "\\columns"),
        ("\\columns vi", "vi", "visits"),
        ('SELECT "the', '"the', '"the day"'),
    ],
)
def test_completion_knows_the_policy_and_the_language(before: str, word: str, among: str) -> None:
    columns = {name: {"type": "string"} for name in ("city", "cost", "the day", "a\x1b[31mred")}
    policy = load_policy({"version": "1", "tables": {"visits": {"unit": "rows", "columns": columns}}})
    typed, choices = completions(before, policy, ("\\plan", "\\columns"))
    assert typed == word and among in choices
    assert not any("\x1b" in choice for choice in choices)


def test_a_prompt_completes_remembers_and_forgets(cli: Any, tmp_path: Path) -> None:
    with at_prompt(tmp_path / "state") as shell:
        shell.await_text("discreet>")
        shell.type("SEL\t")
        shell.await_text("ECT")
        shell.type(" COUNT(*) AS n\rFROM visits;\r")
        shell.await_text("say what a query may cost")
        shell.await_text("discreet>")
        shell.type("\\spend epsilon=0.5\r")
        shell.await_text("each query costs epsilon 0.5")
        shell.await_text("discreet>")
        shell.type("SELECT nonsense")
        shell.await_text("nonsense")  # so that the next prompt is one after the interrupt
        shell.type("\x03")
        shell.await_text("discreet>")
        shell.type("\x1b[A\x1b[A\r")  # the last but one again
        shell.await_text("cost epsilon 0.5; left epsilon")
        shell.await_text("discreet>")
        shell.type("\x04")
        assert shell.wait() == 0
        assert "no price is set" in shell.shown
    history = tmp_path / "state" / "discreet" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700
    query = "SELECT COUNT(*) AS n\nFROM visits;"
    assert [*FileHistory(str(history)).load_history_strings()][::-1] == [query, "\\spend epsilon=0.5", query]


def test_an_interrupt_stops_the_query_and_not_the_shell(cli: Any, tmp_path: Path) -> None:
    words = ["shell", *FILES, "--epsilon", "0.5", "--no-history"]
    with at_prompt(tmp_path / "state", command=[sys.executable, "-c", STOPPED.format(words=words)]) as shell:
        shell.await_text("discreet>")
        shell.type(f"{COUNT};\r")
        while not Path("begun").exists():
            assert shell.process.poll() is None
            time.sleep(0.05)
        shell.interrupt()
        shell.await_text("error: interrupted; what was already charged stays charged")
        shell.await_text("discreet>")
        shell.type("\\budget\r")
        shell.await_text("spent epsilon 0.5; left")
        shell.process.terminate()
        assert shell.wait() == 143
    assert not (tmp_path / "state").exists()


def test_without_prompt_toolkit_the_way_on_is_shown(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; sys.modules['prompt_toolkit'] = None; from discreet.cli import main; main()"
    with at_prompt(tmp_path, command=[sys.executable, "-c", script, "shell", *FILES]) as shell:
        assert shell.wait() == 2
        assert "pip install 'discreet[shell]'" in shell.shown
        assert "questions.sql" in shell.shown
    assert not Path("visits.ledger").exists()
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    assert ask("\\budget\n").stdout.startswith("spent epsilon 0;")
