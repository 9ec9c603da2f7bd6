"""Many processes and threads, killed, forked and racing: nothing is lost, nothing is overspent."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

import discreet
from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import open_ledger
from discreet.ledger.log import _database
from discreet.ledger.sqlite import _sqlite
from discreet.ledger.sqlite._create_file import identify
from discreet.privacy import pure

SCRIPT = [sys.executable, str(Path(__file__).with_name("crowd.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}


def crowd(*words: object, before: tuple[str, ...] = ()) -> str:
    command = [*before, *SCRIPT, *map(str, words)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("kills", [16, pytest.param(50, marks=pytest.mark.soak)])
def test_a_ledger_is_born_whole_or_not_at_all(tmp_path, kills):
    crowd("birth", tmp_path, kills, 7)
    born = 0
    for index in range(kills):
        path = tmp_path / f"{index}.ledger"
        born += path.exists()
        with open_ledger(path, pure(3)) as ledger:
            assert ledger.verify() == 1
            assert path.stat().st_nlink == 1
    print(f"{born} of {kills} were born before they were killed")


@pytest.mark.parametrize("count", [8, pytest.param(16, marks=pytest.mark.soak)])
def test_processes_spend_exactly_the_budget_of_the_one_ledger_that_they_all_make(tmp_path, count):
    path = tmp_path / "ledger"
    accepted = [int(word) for word in crowd("race", path, count, 4).split()]
    assert (len(accepted), sum(accepted)) == (count, 30)
    with open_ledger(path, None) as ledger:
        assert ledger.verify() == 31
        assert ledger.spent == pure(3)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("shared", "in_file"), [(True, True), (False, True), (True, False)])
def test_sixteen_threads_spend_exactly_the_budget(tmp_path, shared, in_file):
    path = tmp_path / "ledger" if in_file else None
    first = open_ledger(path, pure(3))
    ledgers = [first if shared else open_ledger(path, None) for _ in range(16)]
    accepted, barrier = [], threading.Barrier(16)

    def spend(ledger):
        barrier.wait()
        for number in range(4):
            try:
                reservation = ledger.reserve(f"plan{number}", pure(0.1), fresh=True)
            except BudgetExceeded:
                continue
            accepted.append(ledger.commit(reservation, b"release"))

    threads = [threading.Thread(target=spend, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({stored.head for stored in accepted}) == 30
    assert first.verify() == 61
    for ledger in {*ledgers}:
        ledger.close()


@pytest.mark.parametrize("read", ["spent", "head", "accounts", "find"])
def test_a_thread_that_reads_while_another_spends_sees_nothing_go_back_in_time(tmp_path, monkeypatch, read):
    """The other spends between the moment of the reader's snapshot and its first look."""
    with open_ledger(tmp_path / "ledger", pure(3)) as ledger:
        ledger.grant("ada", pure(1))
        ledger.commit(ledger.reserve("plan", pure(1)), b"release")
        transaction = _sqlite.Database.transaction

        @contextmanager
        def slow(database, *, write):
            with transaction(database, write=write) as connection:
                if not write:
                    monkeypatch.setattr(_sqlite.Database, "transaction", transaction)
                    other = threading.Thread(target=lambda: ledger.reserve("another", pure("1/8")))
                    other.start()
                    other.join()
                yield connection

        monkeypatch.setattr(_sqlite.Database, "transaction", slow)
        ledger.find("plan") if read == "find" else getattr(ledger, read)
        assert ledger.spent == pure("9/8")


@pytest.mark.parametrize("children", [5, pytest.param(15, marks=pytest.mark.soak)])
def test_a_process_whose_threads_are_spending_can_fork(tmp_path, children):
    path = tmp_path / "ledger"
    open_ledger(path, pure(100)).close()
    accepted = [int(word) for word in crowd("fork", path, children).split()]
    assert accepted[1:] == [3] * children, (
        "each child spends three times, and none can use its parent's ledger in memory"
    )
    with open_ledger(path, None) as ledger:
        assert ledger.spent.eps == Fraction(sum(accepted), 10)
        assert ledger.verify() == sum(accepted) + 1


def test_a_child_cannot_commit_what_its_parent_reserved(tmp_path, monkeypatch):
    with open_ledger(tmp_path / "ledger", pure(1)) as ledger:
        reservation = ledger.reserve("plan", pure(0.5))
        parent = os.getpid()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: parent + 1)
            with pytest.raises(LedgerError, match="another ledger or process"):
                ledger.commit(reservation, b"release")
        ledger.commit(reservation, b"release")


def test_at_the_moment_reserve_returns_the_file_and_its_log_hold_the_charge(tmp_path):
    path, copy = tmp_path / "ledger", tmp_path / "copy"
    with open_ledger(path, pure(1)) as ledger:
        for number in range(1, 6):
            reservation = ledger.reserve(f"plan{number}", pure(0.1), fresh=True)
            shutil.copy(path, copy)
            shutil.copy(f"{path}-wal", f"{copy}-wal")
            with open_ledger(copy, None) as crashed:
                assert crashed.spent.eps == Fraction(number, 10)
                assert list(crashed.entries())[-1].hash == reservation.id
                assert crashed.find(f"plan{number}") is None
                with pytest.raises(LedgerError, match="another ledger or process"):
                    crashed.commit(reservation, b"redrawn")
            copy.unlink()
            ledger.commit(reservation, b"release")
    assert list(tmp_path.iterdir()) == [path], "at rest the one file is the ledger"


def test_opening_and_closing_a_ledger_again_drops_no_lock(tmp_path):
    """Closing any descriptor of a file drops all POSIX locks of the process on it."""
    path = tmp_path / "ledger"
    open_ledger(path, pure(1)).close()
    probe = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('PRAGMA journal_mode = DELETE')"
    with _sqlite.Database(str(path)).transaction(write=False):
        open_ledger(path, None).close()
        identify(str(path))
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert "database is locked" in done.stderr


@pytest.mark.parametrize("mode", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_ledger_that_stays_locked_is_an_error_and_writes_nothing(tmp_path, monkeypatch, mode):
    path = tmp_path / "ledger"
    monkeypatch.setattr(_database, "PATIENCE", 0.3)
    with open_ledger(path, pure(1)) as ledger:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute(f"BEGIN {mode}")
        with pytest.raises(LedgerError, match="another process has kept it locked"):
            ledger.reserve("plan", pure(0.1))
        holder.close()
        assert ledger.verify() == 1
