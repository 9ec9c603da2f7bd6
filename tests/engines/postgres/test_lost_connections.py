"""A connection that is lost, a query that is cancelled, a server that stops: it is said, and the next one recovers."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.postgres import PostgreSQL
from discreet.policy import load_policy
from discreet.query import make_plan
from servers import start_postgres

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
POLICY = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"k": {"type": "string"}}}}})
BOUNDED = make_plan("SELECT k, COUNT(*) AS n FROM t GROUP BY k", POLICY).levels[0].bounded
SECRET = "the secret of a row"


@pytest.fixture
def engine(load: Load, postgres: str) -> Iterator[PostgreSQL]:
    found = PostgreSQL(postgres, POLICY, load({"t": pa.table({"k": [SECRET, "b"]})}))
    found.check("t")
    yield found
    found.close()


def _pid(engine: PostgreSQL) -> int:
    assert engine._connection is not None
    return engine._connection.info.backend_pid


def _sum(engine: PostgreSQL) -> int:
    return sum(group.sums[0] for group in engine.run(BOUNDED, bytes(16)))


def test_settings_are_those_of_each_transaction(engine: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler may give each another session of the server, where nothing is set."""
    assert engine._connection is not None
    engine._connection.execute("RESET ALL")
    found: list[str] = []
    real = engine._groups

    def look(*arguments: Any) -> Any:
        assert engine._connection is not None
        for name in ("search_path", "TimeZone", "row_security", "transaction_isolation", "transaction_read_only"):
            row = engine._connection.execute(f"SHOW {name}".encode()).fetchone()
            assert row is not None
            found.append(row[0])
        return real(*arguments)

    monkeypatch.setattr(engine, "_groups", look)
    assert _sum(engine) == 2
    assert found == ["pg_catalog, pg_temp", "UTC", "off", "repeatable read", "on"]


def test_a_fork_leaves_its_parents_connection_alone(engine: PostgreSQL) -> None:
    before = _pid(engine)
    with warnings.catch_warnings(action="ignore"):  # that there are threads
        child = os.fork()
    if child == 0:
        done = 1
        try:
            done = int(_sum(engine) != 2 or _pid(engine) == before)
            engine.close()
        finally:
            os._exit(done)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine._connection is not None
    assert engine._connection.execute("SELECT 1").fetchone() == (1,)
    assert (_sum(engine), _pid(engine)) == (2, before)


def _slow(engine: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each query first wait."""
    real = engine._groups

    def slow(*arguments: Any) -> Any:
        assert engine._connection is not None
        engine._connection.execute("SELECT pg_sleep(3600)")
        return real(*arguments)

    monkeypatch.setattr(engine, "_groups", slow)


def _when_asleep(admin: psycopg.Connection[Any], pid: int, act: Callable[[], Any]) -> threading.Thread:
    def wait() -> None:
        asleep = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        while not admin.execute(asleep, (pid,)).fetchone():
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def _assert_says(caught: pytest.ExceptionInfo[dp.DataError], *words: str) -> None:
    for word in (*words, "What was reserved for this query stays spent"):
        assert word in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_an_idle_connection_that_was_ended_is_made_anew(engine: PostgreSQL, admin: psycopg.Connection[Any]) -> None:
    admin.execute("SELECT pg_terminate_backend(%s, 5000)", (_pid(engine),))
    assert _sum(engine) == 2


def test_one_that_ends_in_the_middle_is_said_to_be_lost(
    engine: PostgreSQL, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        _slow(engine, patched)
        pid = _pid(engine)
        thread = _when_asleep(admin, pid, lambda: admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)))
        with pytest.raises(dp.DataError) as caught:
            engine.run(BOUNDED, bytes(16))
        thread.join()
    _assert_says(caught, "connection was lost", "reading t")
    assert _sum(engine) == 2


def test_a_query_that_somebody_cancels_is_said_to_be(
    engine: PostgreSQL, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        _slow(engine, patched)
        pid = _pid(engine)
        thread = _when_asleep(admin, pid, lambda: admin.execute("SELECT pg_cancel_backend(%s)", (pid,)))
        with pytest.raises(dp.DataError) as caught:
            engine.run(BOUNDED, bytes(16))
        thread.join()
    _assert_says(caught, "cancelled")
    assert _sum(engine) == 2


def test_what_the_server_says_of_a_row_is_not_shown(engine: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    """No expression raises; if one did, nobody would learn on which row."""
    monkeypatch.setattr(
        "discreet.engines.postgres._engine.bounded_sql", lambda *_: f"SELECT CAST('{SECRET}' AS integer)"
    )
    with pytest.raises(dp.DataError) as caught:
        engine.run(BOUNDED, bytes(16))
    _assert_says(caught, "could not finish")


def test_control_c_reaches_the_user_and_ends_the_query(
    engine: PostgreSQL, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        _slow(engine, patched)
        pid = _pid(engine)
        thread = _when_asleep(admin, pid, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            engine.run(BOUNDED, bytes(16))
        thread.join()
    assert admin.execute(
        "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'", (pid,)
    ).fetchone() is None  # fmt: skip
    assert _sum(engine) == 2


def test_threads_share_an_engine(engine: PostgreSQL) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(_sum(engine))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2] * 8


def test_a_table_that_changed_since_it_was_checked_is_looked_at_again(
    engine: PostgreSQL, admin: psycopg.Connection[Any]
) -> None:
    name = engine._names["t"]
    admin.execute(f"DROP TABLE {name}; CREATE VIEW {name} AS SELECT 'x' AS k".encode())
    with pytest.raises(dp.DataError, match="a view"):
        engine.run(BOUNDED, bytes(16))


def test_a_run_writes_nothing_and_sees_one_moment(engine: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def look(*_: Any) -> Any:
        assert engine._connection is not None
        names = ("transaction_read_only", "transaction_isolation", "search_path", "TimeZone")
        found.extend(engine._connection.execute(f"SHOW {name}".encode()).fetchone() for name in names)
        return []

    monkeypatch.setattr(engine, "_groups", look)
    engine.run(BOUNDED, bytes(16))
    assert found == [("on",), ("repeatable read",), ("pg_catalog, pg_temp",), ("UTC",)]


def test_a_server_that_stops_and_comes_back() -> None:
    folder = tempfile.mkdtemp(prefix="pg-")
    server = start_postgres(folder, cleanup_mode="stop")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("CREATE TABLE t (k text); INSERT INTO t VALUES ('a'), ('b')")
        engine = PostgreSQL(url, POLICY)
        assert _sum(engine) == 2
        server.stop()
        with pytest.raises(dp.DataError) as caught:
            engine.run(BOUNDED, bytes(16))
        _assert_says(caught, "cannot be reached")
        with pytest.raises(dp.DataError, match="cannot be reached"):
            engine.check("t")
        server.start()
        assert _sum(engine) == 2
        engine.close()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
