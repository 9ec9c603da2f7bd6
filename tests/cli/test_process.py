"""The command line as a process: start-up, pipes, signals, terminals."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import discreet.session

COUNT = "SELECT COUNT(*) AS n FROM visits"
QUERY = [
    *("query", COUNT, "--data", "visits.parquet", "--policy", "visits.toml"),
    *("--ledger", "visits.ledger", "--epsilon", "0.1"),
]
SLOW = """
import pathlib, sys, time
import discreet.connection as session
from discreet import elapsed
from discreet.cli import main
connect = session.connect
def slow(*arguments, **named):
    pathlib.Path("begun").touch()
    {wait}
    return connect(*arguments, **named)
session.connect = slow
elapsed.PATIENCE = {patience}
sys.argv = ["discreet", *{words!r}]
main()
"""


def slowly(wait: str, patience: float = 2) -> list[str]:
    """A query that waits before it connects."""
    return [sys.executable, "-c", SLOW.format(wait=wait, patience=patience, words=QUERY)]


def on_a_terminal(command: list[str], until: bytes = b"") -> str:
    """What a command writes to stderr when that is a terminal; the file `go` appears when `until` has been written."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            seen += part
            if until and until in seen:
                Path("go").touch()
    os.close(ours)
    assert process.returncode == 0
    return seen.decode()


def test_slow_work_shows_elapsed_time_on_a_terminal(cli: Any) -> None:
    seen = on_a_terminal(slowly('while not pathlib.Path("go").exists(): time.sleep(0.05)'), until=b"working")
    shown = re.findall(r"working, (\d+) s", seen)
    assert shown
    assert int(shown[0]) >= 2
    assert re.sub(r"working, \d+ s(, step \d+ of \d+)?|\x1b\[[\d;?]*[A-Za-z]|[\u2800-\u28ff]|\s", "", seen) == ""


def test_quick_work_shows_nothing(cli: Any) -> None:
    assert on_a_terminal(slowly("pass", patience=3600)) == ""


def test_slow_work_shows_nothing_where_there_is_no_terminal(cli: Any) -> None:
    done = subprocess.run(slowly("time.sleep(2.6)"), capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_the_installed_entry_point_is_main() -> None:
    import tomllib

    text = Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["project"]["scripts"]["discreet"] == "discreet.cli:main"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["query", "--help"], 0),
        (QUERY, 0),
        ([*QUERY[:-1], "0"], 2),
        pytest.param([*QUERY[:-1], "30"], 3, marks=pytest.mark.soak),
        pytest.param([word.replace("visits.parquet", "nowhere.csv") for word in QUERY], 4, marks=pytest.mark.soak),
    ],
)
def test_exit_codes(cli: Any, words: list[str], code: int) -> None:
    """That every error has its own is tested in `test_bad_input.py`, in one process."""
    done = cli.process(*words)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert (done.stdout == "") == (code != 0)
    assert (done.stderr == "") == (code == 0)


def loaded_by(*words: str) -> set[str]:
    """The modules that a command imports."""
    script = (
        f"import sys\nfrom discreet.cli import main\nsys.argv = {['discreet', *words]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code, *sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    code, *modules = done.stderr.splitlines()
    assert code == "0", done.stderr
    return set(modules)


POSTGRES = "sqlalchemy.dialects.postgresql"
NUMBERS = {"duckdb", "narwhals", "numpy", "pandas", "pyarrow", "scipy", "sqlglot"}


@pytest.mark.parametrize(
    ("words", "spared"),
    [
        (["query", "--help"], {*NUMBERS, "cryptography", "sqlalchemy"}),
        (["budget", "--ledger", "visits.ledger"], {*NUMBERS - {"numpy", "scipy"}, "discreet.release", POSTGRES}),
        (["plan", COUNT, "--policy", "visits.toml", "--epsilon", "0.1"],
         {"cryptography", "duckdb", "narwhals", "pandas", "scipy", "sqlalchemy"}),
        (["plan", COUNT, "--policy", "visits.toml", "--rho", "0.1"], {"pandas", "scipy", "sqlalchemy"}),
        ([*QUERY[:-1], "0.2"], {"pandas", POSTGRES}),
    ],
)  # fmt: skip
def test_a_command_imports_what_it_needs(cli: Any, words: list[str], spared: set[str]) -> None:
    """Each of these takes a tenth of a second or more to import; pandas comes with pyarrow, where it is installed."""
    assert cli.ask(COUNT, "--epsilon", "0.1").code == 0
    assert spared & loaded_by(*words) == set()


def test_help_teaches(cli: Any) -> None:
    text = " ".join(cli.process("query", "--help").stdout.replace("│", " ").split())
    for word in ("Examples", "--epsilon", "greater than 0", "strictly between 0 and 1", "default: 0.95", "free"):
        assert word in text
    top = cli.process("--help").stdout
    for command in ("query", "plan", "budget", "demo", "policy"):
        assert command in top
    assert "discreet demo" in top


def test_a_closed_pipe_is_no_error(cli: Any) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(cli.command(*QUERY), stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stdout_is_no_bug(cli: Any) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *cli.command(*QUERY)],
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_answer_that_cannot_be_written_is_still_in_the_ledger(cli: Any) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(cli.command(*QUERY), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "a repeat is free" in done.stderr
    assert "Traceback" not in done.stderr
    assert cli("budget", "--ledger", "visits.ledger", "--format", "json").json["releases"] == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_is_an_exit_code_and_one_line(cli: Any, number: int, code: int) -> None:
    with subprocess.Popen(
        slowly("time.sleep(3600)"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not Path("begun").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate()
    assert process.returncode == code
    assert out == ""
    assert err == "error: interrupted; what was already charged stays charged\n"


@pytest.mark.parametrize(
    "path",
    [
        "/home/discreet/analysis.py",
        "/srv/discreet/tests/cli/test_process.py",
        "/srv/lib/python3.11/site-packages/discreet/plugin.py",
        f"{Path(discreet.__file__).parent}_plugin/read.py",
    ],
)
def test_an_unexpected_error_tells_its_place_and_not_its_text(
    cli: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Other people's code is not ours for a folder named discreet."""
    names: dict[str, Any] = {}
    code = "def fail(*arguments, **named):\n    raise ValueError('a private value')"
    exec(compile(code, path, "exec"), names)
    monkeypatch.setattr("discreet.connection.connect", names["fail"])
    done = cli.ask(COUNT, "--epsilon", "0.1")
    assert done.code == 1
    assert "a bug in discreet: ValueError at cli/_asking.py:" in done.err
    assert "private" not in done.err
