"""What a database promises the ledger above it, of both: alone, durable, a snapshot, and safe in any company."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import discreet
from discreet.errors import LedgerError
from discreet.ledger.log import _database
from discreet.ledger.log._schema import kind_of
from discreet.ledger.postgres import _errors as _server
from discreet.ledger.postgres._url import address_of
from discreet.ledger.sqlite import _file, _forks, _sqlite, _wal

sys.path.insert(0, str(Path(__file__).parent))
from users import add, entries, fill, last, make, opened, rows

SCRIPT = [sys.executable, str(Path(__file__).with_name("users.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
numbers = itertools.count()


def users(*words: object, before: tuple[str, ...] = ()) -> str:
    command = [*before, *SCRIPT, *map(str, words)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(params=BOTH)
def unmade(request, tmp_path):
    """A place for a ledger."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger")
    return f"{request.getfixturevalue('postgres')}&ledger=t{os.getpid()}_{next(numbers)}"


@pytest.fixture
def place(unmade):
    make(unmade)
    return unmade


@pytest.fixture
def path(tmp_path):
    """A place in SQLite."""
    make(str(tmp_path / "ledger"))
    return str(tmp_path / "ledger")


@pytest.fixture
def url(postgres):
    """A place in PostgreSQL."""
    made = f"{postgres}&ledger=u{os.getpid()}_{next(numbers)}"
    make(made)
    return made


@contextmanager
def using(place):
    database = opened(place)
    yield database
    database.close()


@contextmanager
def refused(match):
    with pytest.raises(LedgerError, match=match) as caught:
        yield caught
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_what_is_written_stays_and_what_fails_is_undone(place):
    with using(place) as database:
        assert (add(database), add(database)) == (1, 2)
        with suppress(ZeroDivisionError), database.transaction(write=True) as connection:
            connection.execute(sa.insert(entries).values(seq=3, body="x"))
            raise ZeroDivisionError
        with refused("damaged"), database.transaction(write=True) as connection:
            connection.execute(sa.insert(entries).values(seq=2, body="again"))
        with database.transaction(write=True):
            pass
        database.sync()
        assert rows(database) == 2
    with using(place) as database:
        assert rows(database) == 2


def test_a_failure_that_the_block_swallows_is_no_commit(url):
    with using(url) as database:
        with refused("failed on its way"), database.transaction(write=True) as connection:
            connection.execute(sa.insert(entries).values(seq=1, body="x"))
            with pytest.raises(sa.exc.DBAPIError):
                connection.exec_driver_sql("SELECT 1/0")
        assert rows(database) == 0


def test_rows_are_neither_changed_nor_removed(place):
    with using(place) as database:
        add(database)
        for statement in ("UPDATE entries SET body = 'y'", "DELETE FROM entries"):
            with refused("damaged|changed by"), database.transaction(write=True) as connection:
                connection.exec_driver_sql(statement)
        assert rows(database) == 1


def test_the_clock_is_in_utc(place):
    with using(place) as database, database.transaction(write=False) as connection:
        now = kind_of(connection).clock(connection)
        assert now.utcoffset() == timedelta(0)
        assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_closed_database_refuses(place):
    database = opened(place)
    add(database)
    database.close()
    database.close()
    for use in (lambda: add(database), lambda: rows(database), database.sync):
        with refused("closed"):
            use()


def test_a_read_is_one_snapshot_and_nobody_waits_for_it(place):
    with using(place) as reader, using(place) as writer:
        add(writer)
        with reader.transaction(write=False) as connection:
            assert last(connection) == 1
            add(writer)
            add(reader)
            assert last(connection) == 1
            with writer.transaction(write=True) as other:
                other.execute(sa.insert(entries).values(seq=4, body="x"))
                other.execute(sa.text("UPDATE meta SET last = 4"))
                with writer.transaction(write=False) as third:
                    assert last(third) == 3
        assert rows(reader) == 4


def test_a_read_writes_nothing(url):
    with using(url) as database, refused("read-only"), database.transaction(write=False) as connection:
        connection.execute(sa.insert(entries).values(seq=1, body="x"))


def test_processes_write_one_after_the_other(place):
    assert users("spend", place, 6, 15).split() == ["0"] * 6
    with using(place) as database:
        assert rows(database) == 90


def test_threads_write_one_after_the_other(place):
    with using(place) as database, using(place) as other:
        threads = [
            threading.Thread(target=lambda use: [add(use) for _ in range(5)], args=(use,))
            for use in [database, other] * 5
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rows(database) == 50


def test_nothing_is_lost_while_processes_open_and_close(path):
    written = [int(word) for word in users("churn", path, 4, 2).split()]
    with using(path) as database:
        assert rows(database) == sum(written) > 20
    assert not Path(f"{path}-wal").exists()


def test_a_process_whose_threads_write_can_fork(place):
    written, found = users("fork", place, 4).split()
    assert written == found


def test_a_child_of_a_fork_within_a_transaction_uses_no_ledger(path):
    *said, count = users("torn", path).splitlines()
    assert count == "2"
    assert len(said) == 3
    assert all("forked in the middle of a ledger's transaction" in line for line in said)


@pytest.mark.sampled
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_writer_that_stops_is_waited_for_in_vain_and_one_that_dies_is_not(place, monkeypatch, end):
    holder = subprocess.Popen([*SCRIPT, "hold", place], env=ENVIRONMENT, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    os.kill(holder.pid, signal.SIGSTOP)
    with using(place) as database:
        assert rows(database) == 0
        with monkeypatch.context() as patch:
            patch.setattr(_database, "PATIENCE", 0.3)
            with refused("kept it locked"):
                add(database)
        assert rows(database) == 0
        os.kill(holder.pid, end)
        os.kill(holder.pid, signal.SIGCONT)
        holder.communicate()
        assert add(database) == 1


def trace(path, log):
    calls = "trace=fsync,fdatasync,getrandom,write,pwrite64,unlink"
    try:
        users("once", path, before=("strace", "-f", "-y", "-o", str(log), "-e", calls))
    except (AssertionError, FileNotFoundError):
        return None
    return log.read_text().splitlines()


def test_the_log_is_synced_after_its_last_write_and_before_the_draw(path, tmp_path):
    lines = trace(path, tmp_path / "trace")
    if lines is None:  # it may not trace here; the order is held by the next test as well
        return
    marks = ("before\\n", ", 37, ", "answer\\n")
    start, draw, answer = (next(i for i, line in enumerate(lines) if mark in line) for mark in marks)
    for number, part in enumerate((lines[start:draw], lines[draw:answer])):
        syncs = [i for i, line in enumerate(part) if "sync(" in line and f"<{path}-wal>" in line]
        writes = [i for i, line in enumerate(part) if "pwrite64(" in line and f"<{path}-wal>" in line]
        folders = [i for i, line in enumerate(part) if "fsync(" in line and f"<{tmp_path}>" in line]
        assert writes[-1] < syncs[-1]
        if not number:
            assert folders[0] < writes[0]


def test_the_log_is_synced_when_the_lock_is_free_again(path, monkeypatch):
    free = []
    sync = _wal.Log.sync

    def probe(log):
        with closing(_wal.Log(path)) as other:
            free.append(other.lock())
        sync(log)

    monkeypatch.setattr(_wal.Log, "sync", probe)
    with using(path) as database:
        add(database)
        with database.transaction(write=True), closing(_wal.Log(path)) as other:
            assert not other.lock()
    assert free == [True, True]


_WRITTEN_AND_FLUSHED = """
SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, (pg_current_wal_flush_lsn() - '0/0')::bigint
"""
_PAGE_HEADERS = (24, 40)
"""Where a record ends with its page, the next is to be inserted behind the header of the page that follows."""


def test_the_server_has_flushed_what_was_written(url, admin):
    with using(url) as database:
        for _ in range(20):
            add(database)
            at, flushed = admin.execute(_WRITTEN_AND_FLUSHED).fetchone()
            # more, if the server wrote of its own meanwhile
            assert flushed >= (at - at % 8192 if at % 8192 in _PAGE_HEADERS else at)
        admin.execute("SET synchronous_commit = off")
        for number in range(20):
            admin.execute("SELECT pg_logical_emit_message(true, 'test', %s)", [str(number)])
            (at,) = admin.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            database.sync()
            assert admin.execute("SELECT pg_current_wal_flush_lsn() >= %s", [at]).fetchone() == (True,)
        admin.execute("RESET synchronous_commit")


def test_a_disk_that_does_not_confirm_is_written_to_no_more(path, monkeypatch):
    def fail(_):
        raise OSError(5, "Input/output error")

    with using(path) as database, using(path) as other:
        add(database)
        with monkeypatch.context() as patch:
            patch.setattr(_wal, "synced", fail)
            with refused("did not confirm .*Input/output error"):
                add(database)
        for use in (database, other):
            with refused("did not confirm"):
                add(use)
            assert rows(use) == 2, "what it has, counts"
    with using(path) as database:
        assert add(database) == 3


def test_a_log_grows_long_and_is_moved_into_the_file(path, monkeypatch):
    monkeypatch.setattr(_wal, "_FRAMES", 20)
    log, file = Path(f"{path}-wal"), Path(path)
    with using(path) as database:
        before = file.stat().st_size
        for _ in range(60):
            add(database, "y" * 3000)
        assert file.stat().st_size > before
        assert log.stat().st_size < 60 * 4096
        with using(path) as reader, reader.transaction(write=False) as connection:
            for _ in range(40):
                add(database)
            assert last(connection) == 60
        held = log.stat().st_size
        for _ in range(100):
            add(database)
        assert log.stat().st_size <= 2 * held
        assert rows(database) == 200
    assert not log.exists()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_after_a_power_cut_a_beginning_of_the_log_is_there(path, tmp_path):
    """Whatever part of the log reached the disk, in whatever state the rest is, whole transactions are found."""
    with using(path) as database:
        ends = [0]
        for _ in range(5):
            add(database)
            ends.append(Path(f"{path}-wal").stat().st_size)
        file, log = Path(path).read_bytes(), Path(f"{path}-wal").read_bytes()
    crashed = tmp_path / "crashed"
    for cut in range(0, len(log) + 1, 1499):
        for rest in (b"", bytes(len(log) - cut), os.urandom(len(log) - cut)):
            crashed.write_bytes(file)
            Path(f"{crashed}-wal").write_bytes(log[:cut] + rest)
            with using(str(crashed)) as database:
                whole = sum(end <= cut for end in ends[1:])
                assert rows(database) == whole or (rest == bytes(len(rest)) and rows(database) in (whole, whole + 1))
                add(database)


def test_a_log_that_is_deleted_or_a_file_that_is_moved_in_use_is_noticed(path):
    with using(path) as database:
        add(database)
        Path(f"{path}-wal").rename(f"{path}-moved")
        for use in (lambda: add(database), lambda: rows(database), database.sync):
            with refused("has lost its log"):
                use()
        Path(f"{path}-moved").rename(f"{path}-wal")
        add(database)
        Path(path).rename(f"{path}-moved")
        with refused("is gone"):
            add(database)
        shutil.copy(f"{path}-moved", path)
        with refused("moved or replaced"):
            add(database)
        Path(f"{path}-moved").rename(path)
        with refused("moved or replaced|is gone"), database.transaction(write=True):
            Path(path).rename(f"{path}-moved")
        Path(f"{path}-moved").rename(path)
        assert rows(database) == 2


def test_objects_of_one_file_share_it_and_the_last_closes_it(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    one, two = opened(path), opened(str(link))
    assert one._store is two._store
    assert _sqlite.header_of(path) is None
    add(one)
    one.close()
    assert Path(f"{path}-wal").exists()
    add(two)
    del two
    assert not Path(f"{path}-wal").exists()
    assert _sqlite.header_of(path)[18:20] == b"\2\2"


def test_a_ledger_with_a_rollback_journal_is_converted(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    assert Path(path).read_bytes()[18:20] == b"\1\1"
    with using(path) as database:
        add(database)
    assert Path(path).read_bytes()[18:20] == b"\2\2"


def test_a_fork_waits_for_other_threads_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(_database, "PATIENCE", 0.2)
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with _forks.inside():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    began = time.monotonic()
    _forks._before()
    assert time.monotonic() - began > 0.15
    _forks._in_parent()
    leave.set()
    thread.join()


def test_a_child_of_a_fork_that_nobody_saw_is_refused(path, monkeypatch):
    with using(path) as database:
        add(database)
        parent = os.getpid()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: parent + 1)
            with refused("forked, by something other than Python"):
                add(database)
        assert add(database) == 2


def test_threads_share_a_sync(path, monkeypatch):
    """The first to sync lets all others write meanwhile: one sync more is theirs together."""
    sync, syncs = _wal.Log.sync, []

    with using(path) as database:
        start = database._store._written

        def slowly(log):
            syncs.append(log)
            while database._store._written < start + 8:
                time.sleep(0.001)
            sync(log)

        monkeypatch.setattr(_wal.Log, "sync", slowly)
        threads = [threading.Thread(target=add, args=(database,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(syncs) == 2
        assert rows(database) == 8


def test_connections_of_readers_are_used_again(path):
    with using(path) as database:
        for _ in range(20):
            rows(database)
        assert database._store._count == 1
        with database.transaction(write=False), database.transaction(write=True):
            pass
        assert database._store._count == 2 < _file._IDLE


@pytest.mark.parametrize("when", ["idle", "reading", "writing", "committing"])
def test_a_lost_connection_is_said_and_the_next_use_connects_anew(url, admin, when, caplog):
    def end():
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'")

    with using(url) as database:
        add(database)
        if when == "idle":
            end()
        else:
            with refused("not known whether"), database.transaction(write=when != "reading") as connection:
                if when == "committing":
                    connection.execute(sa.insert(entries).values(seq=2, body="x"))
                    end()
                else:
                    end()
                    connection.execute(sa.select(entries)).all()
        assert rows(database) == 1
        assert add(database) == 2
    assert not caplog.messages, "a driver's warnings end up on the standard error"


def test_a_wait_for_a_standby_that_is_cancelled_is_no_success(url, admin):
    def cancel():
        waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        while not admin.execute(waiting).fetchall():
            time.sleep(0.01)

    admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    admin.execute("SELECT pg_reload_conf()")
    thread = threading.Thread(target=cancel)
    try:
        with using(url) as database:
            thread.start()
            with refused("durable on its standbys"):
                add(database)
            thread.join()
    finally:
        admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
        admin.execute("SELECT pg_reload_conf()")
    with using(url) as database:
        assert rows(database) == 1


def test_makers_of_one_ledger_make_one(postgres):
    place = f"{postgres}&ledger=order"
    assert sorted(users("race", place, 4).split()) == ["0", "0", "0", "1"]
    with using(place) as database:
        assert not database.create(fill)
        assert rows(database) == 0


def test_a_ledger_that_is_not_made_whole_is_not_made(postgres):
    def half(connection):
        fill(connection)
        raise ZeroDivisionError

    with using(f"{postgres}&ledger=half{os.getpid()}") as database:
        with pytest.raises(ZeroDivisionError):
            database.create(half)
        assert not database.exists()
        with refused("no ledger of that name"):
            add(database)


def test_a_schema_of_others_is_refused(postgres, admin):
    admin.execute(f"CREATE SCHEMA other{os.getpid()} CREATE TABLE mine (a int)")
    with using(f"{postgres}&ledger=other{os.getpid()}") as database:
        for use in (database.exists, lambda: database.create(fill)):
            with refused("not a ledger: a schema of that name holds other tables"):
                use()


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        ("SELECT true, 'on', 'UTF8'", "read-only standby"),
        ("SELECT false, 'off', 'UTF8'", "fsync = off"),
        ("SELECT false, 'on', 'LATIN1'", "LATIN1"),
    ],
)
def test_servers_that_keep_no_ledger(url, monkeypatch, answer, match):
    monkeypatch.setattr(_server, "_ASK", answer)
    with refused(match):
        opened(url)


def test_a_role_with_the_right_to_write_is_enough(url, admin):
    schema, role = address_of(url).ledger, f"clerk{os.getpid()}"
    admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    admin.execute(f"ALTER ROLE {role} SET default_transaction_read_only = on")
    admin.execute(f"ALTER ROLE {role} SET synchronous_commit = off")
    place = url.replace("postgres:@", f"{role}:secret@")
    with using(place) as database:
        with refused("ask its owner for USAGE") as caught:
            add(database)
        assert "secret" not in str(caught.value)
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        with refused("lacks the right"):
            add(database)
        admin.execute(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO {role}")
        add(database)
        at, flushed = admin.execute("SELECT pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn()").fetchone()
        assert at == flushed


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a;b", "pg_x", "information_schema", "x" * 64, "a&ledger=b"])
def test_names_that_no_ledger_has(name):
    with refused("a ledger's name"):
        opened(f"postgresql://u:secret@nowhere/db?ledger={name}")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@127.0.0.1:1/db",
        "postgresql://u:secret@127.0.0.1:1/db?connect_timeout=soon",
        "postgresql://u:secret@[/db",
        "postgresql://u:secret@127.0.0.1:1/db?password=secret&nonsense=1",
    ],
)
def test_a_password_is_in_no_message(url):
    with refused("cannot be re") as caught:
        opened(url)
    assert "secret" not in str(caught.value)
