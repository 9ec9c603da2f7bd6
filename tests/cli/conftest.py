"""A small table, its policy, and ways to run the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.main import get_command
from typer.testing import CliRunner

POLICY = """
version = "1"
[budget]
epsilon = 3
delta = 1e-3
[tables.visits]
unit = "person"
max_rows = 2
[tables.visits.columns]
region = { type = "string", keys = ["north", "south"] }
city = { type = "string" }
cost = { type = "float", bounds = [0, 50] }
age = { type = "int", bounds = [0, 120] }
day = { type = "date", keys = [2026-01-31, 2026-02-01] }
free = { type = "string" }
"""


def table(rows: int = 400) -> pa.Table:
    import datetime as dt

    return pa.table(
        {
            "person": [i // 2 for i in range(rows)],
            "region": ["north" if i % 3 else "south" for i in range(rows)],
            "city": ["Bern" if i % 2 else "Ulm" for i in range(rows)],
            "cost": [float(i % 50) for i in range(rows)],
            "age": [i % 90 for i in range(rows)],
            "day": [dt.date(2026, 1, 31) if i % 2 else dt.date(2026, 2, 1) for i in range(rows)],
            "free": ["a\x1b[2Jb"] * rows,
        }
    )


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Cli:
    """The command line in a directory that holds visits.parquet and visits.toml."""

    home: Path

    def __call__(self, *arguments: str) -> Result:
        """Run in this process."""
        from discreet.cli._app import app

        done = CliRunner().invoke(app, list(arguments), prog_name="discreet")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert "Traceback" not in done.output
        return Result(done.exit_code, done.stdout, done.stderr)

    def ask(self, sql: str, *arguments: str, ledger: str = "visits.ledger") -> Result:
        """`discreet query` on visits."""
        return self("query", sql, "--data", "visits.parquet", "--policy", "visits.toml", "--ledger", ledger, *arguments)

    def process(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run as a process of its own."""
        return subprocess.run(
            self.command(*arguments),
            env=environment(),
            text=True,
            capture_output=True,
            check=False,
            **options,
        )

    @staticmethod
    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "discreet.cli", *arguments]


def environment() -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    return {**plain, "COLUMNS": "100", "TERM": "xterm"}


@pytest.fixture(scope="session", autouse=True)
def built_once() -> Iterator[None]:
    """All commands are built once: Typer builds them for each run, which takes longer than most runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    pq.write_table(table(), "visits.parquet")
    Path("visits.toml").write_text(POLICY)
    return Cli(tmp_path)
