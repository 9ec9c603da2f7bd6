"""Ledgers of the first format go on; those of a later one, and files that are damaged, are refused and left alone."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Reservation, open_ledger
from discreet.privacy import Approx, approx

FORMAT_1 = Path(__file__).with_name("format_1.sqlite")
SPENT = Approx(Fraction(3, 5), Fraction(1, 10**9))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Three charges of which two have a release; the third is dead."""
    return Path(shutil.copy(FORMAT_1, tmp_path / "ledger"))


def change(path: Path, statement: str) -> None:
    """As somebody would who knows how the table is guarded."""
    with closing(sqlite3.connect(path)) as connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, text in guards:
            with suppress(sqlite3.OperationalError):  # the table is gone
                connection.execute(text)
        connection.commit()


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY seq").fetchall()


def test_a_ledger_of_the_first_format_goes_on_with_its_totals(old: Path) -> None:
    before = rows(old, "entries")
    with open_ledger(old, approx(3, 1e-6)) as ledger:
        assert (ledger.spent, ledger.budget) == (SPENT, approx(3, 1e-6))
        assert ledger.history["approx"] == SPENT
        assert ledger.facts.continued.head == before[-1][9]
        assert ledger.verify() == 1
        assert isinstance(ledger.reserve("plan0", approx("1/10", 0)), Reservation), "old releases are not served"
        assert ledger.spent.eps == Fraction(7, 10)
    assert rows(old, "entries_1") == before
    with open_ledger(old, None) as ledger:
        assert ledger.verify() == 2
    with closing(sqlite3.connect(old)) as connection, pytest.raises(sqlite3.IntegrityError, match="only grows"):
        connection.execute("DELETE FROM entries_1")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries_1 SET spent = (SELECT spent FROM entries_1 WHERE seq = 1) WHERE seq = 3",
        "UPDATE entries_1 SET plan_hash = 'other' WHERE seq = 1",
        "UPDATE entries_1 SET payload = x'00' WHERE seq = 2",
        "DELETE FROM entries_1 WHERE seq = 5",
        "DELETE FROM entries_1 WHERE seq = 2",
        "DELETE FROM entries_1",
        "DROP TABLE entries_1",
    ],
)
def test_what_is_changed_in_the_old_table_is_noticed(old: Path, statement: str) -> None:
    open_ledger(old, None).close()
    change(old, statement)
    with open_ledger(old, None) as ledger, pytest.raises(LedgerError):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spent = loss WHERE seq = 5",
        "UPDATE entries SET spent = 'x' WHERE seq = 5",
        "UPDATE entries SET loss = 'x' WHERE seq = 0",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE seq = 5",
        "DELETE FROM entries WHERE seq = 0",
        "UPDATE meta SET format = 7",
        "DELETE FROM meta",
        "DROP TABLE meta",
        "PRAGMA user_version = 7",
        "DROP INDEX ix_entries_plan_hash",
    ],
)
def test_what_cannot_be_continued_is_refused_and_left_as_it_is(old: Path, statement: str) -> None:
    change(old, statement)
    before = [rows(old, "entries"), old.stat().st_size]
    with pytest.raises(LedgerError):
        open_ledger(old, None)
    assert [rows(old, "entries"), old.stat().st_size] == before
    assert [path.name for path in old.parent.iterdir()] == ["ledger"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda held: held[:60] + (99).to_bytes(4) + held[64:],  # a later format
        lambda held: held[:40],
        lambda held: b"not a ledger" * 100,
        lambda held: held[:68] + b"\0\0\0\0" + held[72:],
    ],
)
def test_a_later_format_and_other_files_are_not_changed_by_a_byte(old: Path, damage) -> None:
    old.write_bytes(damage(old.read_bytes()))
    before = old.read_bytes()
    with pytest.raises(LedgerError):
        open_ledger(old, None)
    assert old.read_bytes() == before
    assert [path.name for path in old.parent.iterdir()] == ["ledger"]


def test_eight_processes_bring_one_ledger_forward_at_once(old: Path) -> None:
    code = (
        "import sys; from discreet.ledger import open_ledger; from discreet.privacy import approx\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "with open_ledger(sys.argv[1]) as ledger: ledger.reserve(sys.argv[2], approx('1/10', 0))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(old), f"plan{index}"], stdin=-1, stdout=-1, stderr=-1, text=True
        )
        for index in range(8)
    ]
    assert {process.stdout.readline() for process in processes} == {"ready\n"}
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in processes] == [""] * 8
    with open_ledger(old, None) as ledger:
        assert ledger.spent.eps == Fraction(3, 5) + Fraction(8, 10)
        assert ledger.verify() == 9
