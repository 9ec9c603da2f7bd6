"""A question that is cancelled, interrupted or closed stops within a second, on every engine, and the next one is fine.

Each row joins each of a public table and none is left: minutes of work, of which no engine keeps anything. A busy
machine has `SOON` for that second, which is still far from minutes.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import Engine
from discreet.engines.duckdb import DuckDB, _packed
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark import Spark
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.session import Session

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
POLICY = load_policy(
    {
        "version": "1",
        "tables": {
            "t": {"unit": "u", "max_rows": 3, "columns": {"k": {"type": "int"}, "x": {"type": "int"}}},
            "p": {"public": True, "columns": {"g": {"type": "int"}, "y": {"type": "int"}}},
        },
    }
)
_ROWS, _PUBLIC = 80_000, 50_000
TABLES = {
    "t": pa.table({"u": list(range(_ROWS)), "k": [0] * _ROWS, "x": list(range(_ROWS))}),
    "p": pa.table({"g": [0] * _PUBLIC, "y": list(range(_PUBLIC))}),
}
LONG = "SELECT COUNT(*) AS n FROM t JOIN p ON t.k = p.g WHERE CAST(t.x * 3 + p.y * 7 AS VARCHAR) LIKE '%x%'"
"""Of 4,000 million pairs none counts, which no engine knows from the least and largest values of columns."""
SHORT = "SELECT COUNT(*) AS n FROM t"
COST = dp.pure(1)
SOON = 10.0
"""Seconds for a query to end, and for an engine to be seen to do nothing."""


@dataclass(frozen=True)
class Place:
    """An engine, and whether it is at work."""

    engine: Engine
    is_busy: Callable[[], bool]

    def await_(self, *, busy: bool, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.is_busy() != busy:
            assert time.monotonic() < end, f"{'idle' if busy else 'busy'} after {seconds} s"
            time.sleep(0.02)


def _uses_cpu() -> bool:
    before = time.process_time()
    time.sleep(0.1)
    return time.process_time() - before > 0.02


ENGINES = ["duckdb", pytest.param("postgres", marks=pytest.mark.postgres)]
ON_SPARK = pytest.param("spark", marks=pytest.mark.spark)
FOR_THE_SOAK = pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.soak])
"""A query in Spark takes seconds to stop; a signal, `cancel` and `close` are asked of it every time."""


@pytest.fixture(params=[*ENGINES, ON_SPARK])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine
    if request.param == "duckdb":
        engine, is_busy = DuckDB(TABLES, POLICY), _uses_cpu
    elif request.param == "postgres":
        admin = request.getfixturevalue("admin")
        names = request.getfixturevalue("load_postgres")(TABLES)
        engine = PostgreSQL(request.getfixturevalue("postgres"), POLICY, names)
        assert engine._connection is not None
        pid = engine._connection.info.backend_pid

        def is_busy() -> bool:
            state = admin.execute("SELECT state FROM pg_stat_activity WHERE pid = %s AND query LIKE 'WITH%%'", (pid,))
            return state.fetchone() == ("active",)
    else:
        spark = request.getfixturevalue("spark")
        engine = Spark(spark, POLICY, request.getfixturevalue("load_spark")(TABLES))
        tracker = spark.sparkContext._jsc.sc().statusTracker()

        def is_busy() -> bool:
            return any(each.numRunningTasks() for each in tracker.getExecutorInfos())

    for table in TABLES:
        engine.check(table)
    yield Place(engine, is_busy)
    engine.close()


@pytest.fixture
def session(place: Place) -> Session:
    return Session(place.engine, POLICY, open_ledger(None, dp.pure(9)))


@contextmanager
def _when_busy(place: Place, session: Session, act: Callable[[], object]) -> Iterator[list[float]]:
    """Do something from another thread when a question is paid and the engine at work; gives when that was."""
    acted: list[float] = []
    before = session.spent

    def wait() -> None:
        while session.spent == before:
            time.sleep(0.01)
        place.await_(busy=True, seconds=60)
        acted.append(time.monotonic())
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield acted
    finally:
        thread.join()


@contextmanager
def _handled(number: int, handler: Callable[[], object]) -> Iterator[None]:
    def handle(*_: object) -> None:
        handler()

    before = signal.signal(number, handle)
    try:
        yield
    finally:
        signal.signal(number, before)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _kill(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def _assert_goes_on(place: Place, session: Session, spent: int) -> None:
    """The engine is idle, the charge stays, nothing was stored, and the next question is answered."""
    place.await_(busy=False, seconds=SOON)
    assert session.spent == dp.pure(spent)
    assert abs(session.sql(SHORT, COST).to_arrow()["n"][0].as_py() - _ROWS) < 100
    assert session.spent == dp.pure(spent + 1)


def test_a_signal_ends_a_query(place: Place, session: Session) -> None:
    with _handled(signal.SIGUSR1, _interrupt):
        for asked in (1, 2):
            with (
                _when_busy(place, session, _kill(signal.SIGUSR1)) as acted,
                pytest.raises(KeyboardInterrupt),
            ):
                session.sql(LONG, COST)
            assert time.monotonic() - acted[0] < SOON
            place.await_(busy=False, seconds=SOON)
            assert session.spent == dp.pure(asked), "an answer that was never given is not there the next time"
    _assert_goes_on(place, session, 2)


@pytest.mark.parametrize("place", [*ENGINES, FOR_THE_SOAK], indirect=True)
def test_control_c_ends_a_query(place: Place, session: Session) -> None:
    with (
        _when_busy(place, session, _kill(signal.SIGINT)) as acted,
        pytest.raises(KeyboardInterrupt),
    ):
        session.sql(LONG, COST)
    assert time.monotonic() - acted[0] < SOON
    _assert_goes_on(place, session, 1)


@pytest.mark.parametrize("place", [*ENGINES, FOR_THE_SOAK], indirect=True)
def test_cancel_ends_a_query_from_another_thread(place: Place, session: Session) -> None:
    with (
        _when_busy(place, session, session.cancel) as acted,
        pytest.raises(dp.Cancelled, match="stays spent") as caught,
    ):
        session.sql(LONG, COST)
    assert time.monotonic() - acted[0] < SOON
    assert caught.value.__context__ is None
    assert not isinstance(caught.value, dp.DataError)
    _assert_goes_on(place, session, 1)


@pytest.mark.parametrize("place", [*ENGINES, FOR_THE_SOAK], indirect=True)
def test_cancel_ends_a_query_from_a_handler_of_a_signal(place: Place, session: Session) -> None:
    with _handled(signal.SIGUSR1, session.cancel):
        with (
            _when_busy(place, session, _kill(signal.SIGUSR1)) as acted,
            pytest.raises(dp.Cancelled),
        ):
            session.sql(LONG, COST)
        assert time.monotonic() - acted[0] < SOON
    _assert_goes_on(place, session, 1)


def test_cancel_ends_the_queries_of_all_threads_and_none_that_comes_after(place: Place, session: Session) -> None:
    outcomes: list[object] = []

    def ask() -> None:
        try:
            outcomes.append(session.sql(LONG, COST))
        except dp.Cancelled as error:
            outcomes.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    place.await_(busy=True, seconds=60)
    while session.spent != dp.pure(3):  # the others wait for their turn
        time.sleep(0.01)
    session.cancel()
    session.cancel()
    started = time.monotonic()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started < SOON
    assert [type(outcome) for outcome in outcomes] == [dp.Cancelled] * 3
    session.cancel()
    _assert_goes_on(place, session, 3)


def test_to_close_a_session_ends_its_query(place: Place, session: Session) -> None:
    with _when_busy(place, session, session.close) as acted, pytest.raises(dp.Cancelled):
        session.sql(LONG, COST)
    assert time.monotonic() - acted[0] < SOON
    place.await_(busy=False, seconds=SOON)
    with pytest.raises(dp.DiscreetError):
        session.sql(SHORT, COST)


def test_arrays_are_left_between_two_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where DuckDB is not at work, and has nothing to interrupt."""
    begun, slices, real = threading.Event(), list[int](), _packed.capped

    def slow(*arguments: Any) -> Any:
        slices.append(1)
        begun.set()
        time.sleep(0.1)
        return real(*arguments)

    monkeypatch.setattr(_packed, "_FEW", -1)
    monkeypatch.setattr(_packed, "capped", slow)
    monkeypatch.setattr(_packed, "slices", partial(_packed.slices, size=100))
    with Session(DuckDB(TABLES, POLICY), POLICY, open_ledger(None, dp.pure(9))) as session:
        thread = threading.Thread(target=lambda: begun.wait() and session.cancel())
        thread.start()
        with pytest.raises(dp.Cancelled):
            session.sql(SHORT, COST)
        thread.join()
        seen = len(slices)
        time.sleep(0.3)
        assert seen == len(slices) < 100  # of 800, a tenth of a second each
        monkeypatch.undo()
        assert abs(session.sql(SHORT, COST).to_arrow()["n"][0].as_py() - _ROWS) < 100
