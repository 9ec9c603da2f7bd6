"""Disks that are full, files that are locked, clocks that are set, clients that go away: nothing paid for is lost.

Each trouble is made for the server itself, in its process, while clients ask over HTTP and the PostgreSQL wire.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import socket
import sqlite3
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.ledger import _spend_first
from discreet.ledger.log import _database
from discreet.ledger.sqlite import _sqlite
from discreet.privacy import pure
from discreet.server.desk import Refusal, _state
from discreet.server.http._asgi import AsgiExchange
from discreet.server.postgres._session import Session

sys.path.insert(0, str(Path(__file__).parent))

from served import FRONTS, Served, question, wait_until

REFUSED = {"http": "503", "wire": "58000"}
TOO_DEAR = {"http": "402", "wire": "53400"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path).start()
    yield running
    running.stop()


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """The disk is full for every file that would grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def log_size(file: Path) -> int:
    log = Path(f"{file}-wal")
    return log.stat().st_size if log.exists() else 0


def between_drawing_and_storing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    drawn = _spend_first._drawn

    def draw(*arguments: Any) -> Any:
        release = drawn(*arguments)
        act()
        return release

    monkeypatch.setattr(_spend_first, "_drawn", draw)


# disks


@pytest.mark.parametrize("front", FRONTS)
def test_a_disk_that_is_full_before_anything_is_charged(served: Served, front: str) -> None:
    assert served.ask(front, 1).status == "paid"
    with no_file_longer_than(log_size(served.ledger)):
        refused = served.ask(front, 2)
        assert refused.status == REFUSED[front]
        assert str(served.home) not in refused.words
        assert served.ask(front, 1).status == "repeat"
    assert (served.spent(), served.events()) == (pure_half(1), ["reserve", "release"])
    assert served.ask(front, 2).status == "paid"
    assert served.spent() == pure_half(2)
    served.check()


@pytest.mark.parametrize("front", FRONTS)
def test_a_disk_that_is_full_while_a_paid_answer_is_stored(
    served: Served, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge stays, what was drawn is shown to nobody, and the same request is not drawn again."""
    assert served.ask(front, 1).status == "paid"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with monkeypatch.context() as patch:
        between_drawing_and_storing(
            patch, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (log_size(served.ledger), limits[1]))
        )
        try:
            refused = served.ask(front, 2, key="mine")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert refused.status == REFUSED[front]
    assert "What was charged stays spent" in refused.words
    assert served.events() == ["reserve", "release", "reserve"]
    assert served.spent() == pure_half(2)
    if front == "http":
        assert served.ask(front, 2, key="mine").status == "409"
        assert served.spent() == pure_half(2)
    assert served.ask(front, 1).status == "repeat"
    assert served.ask(front, 2).status == "paid"  # charged again, knowingly
    assert served.ask(front, 2).status == "repeat"
    assert served.spent() == pure_half(3)
    served.check()


# the desk's own file


@contextmanager
def full(served: Served) -> Iterator[None]:
    """The desk's file is full, and the ledger has room."""
    while log_size(served.state) <= 2 * log_size(served.ledger):
        served.desk.log.append("plan", "ada", plan="0" * 1_000)
    with no_file_longer_than(log_size(served.state)):
        yield


@contextmanager
def locked(served: Served) -> Iterator[None]:
    with closing(sqlite3.connect(served.state, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def read_only(served: Served) -> Iterator[None]:
    """Root may write everywhere, so SQLite is told so."""
    connection = served.desk._state._connection
    connection.execute("PRAGMA query_only = on")
    yield
    connection.execute("PRAGMA query_only = off")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Served]:
    """A desk that waits for its own file for a twentieth of a second."""
    monkeypatch.setattr(_state, "_PATIENCE_SECONDS", 0.05)
    running = Served(tmp_path).start()
    yield running
    running.stop()


@pytest.mark.parametrize("trouble", [full, locked, read_only])
def test_a_desk_whose_own_file_cannot_be_written_answers_those_who_have_signed_in(
    impatient: Served, trouble: Callable[[Served], Any]
) -> None:
    """What needs a line in the log is refused before anything is charged; answers are in the ledger, and go on."""
    served, client = impatient, impatient.client("http")
    for place, front in enumerate(FRONTS):
        assert served.ask(front, place).status == "paid"
    free = {"query": question(50), "spend": {"epsilon": "0.5"}}
    too_dear: dict[str, Any] = {
        "json": {**free, "max_price": {"epsilon": "0.1"}},
        "headers": {"Idempotency-Key": "too-dear"},
    }
    with trouble(served):
        for place, front in enumerate(FRONTS):
            assert served.ask(front, 10 + place).status == "paid"
            assert served.ask(front, 10 + place).status == "repeat"
        # who has not signed in cannot, and a right token is not called wrong
        refused = served.ask("http", 1, "ben")
        assert refused.status == "503"
        assert "nothing was charged" in refused.words
        assert "the desk's own file cannot be used now" in served.ask("wire", 1, "ben").words
        assert served.ask("http", 1, "nobody").status == "401"
        assert "sign-in failed" in served.ask("wire", 1, "nobody").words
        # nor is anything planned, asked for or granted that would be in no log; refusals are what they are
        assert client.post("/plans", json=free).status_code == 503
        with pytest.raises(psycopg.OperationalError, match="own file"):
            served.client("wire").execute(f"EXPLAIN {question(50)}")  # pyright: ignore[reportArgumentType]
        asked = {"spend": {"epsilon": 1}, "reason": "more"}
        assert client.post("/requests", json=asked).status_code == 503
        assert client.post("/answers", **too_dear).status_code == 402
        with pytest.raises(Refusal, match="own file"):
            served.desk.owner().grant("cyd", pure(1))
    assert (served.spent("ada"), served.spent("ben")) == (2, 0)
    assert "cyd" not in served.desk.owner().ledger.accounts
    assert served.desk.budget_requests(served.desk.sign_in("ada", served.tokens["ada"])) == []
    # afterwards all of it goes on, and the log says how many refusals it lacks
    assert client.post("/answers", **too_dear).status_code == 402
    assert served.desk.log.entries(count=100_000)[-1].data["left_out"] >= 8
    for front in FRONTS:
        assert served.ask(front, 20, "ben").status == ("paid" if front == "http" else "repeat")
    assert client.post("/plans", json=free).status_code == 200
    served.check()


# ledgers


@contextmanager
def ledger_in_use(served: Served) -> Iterator[sqlite3.Connection]:
    """Another process's transaction, for all that the server can tell."""
    with closing(sqlite3.connect(served.ledger, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


@pytest.mark.parametrize("front", FRONTS)
def test_a_ledger_that_is_locked_for_a_while_is_waited_for(served: Served, front: str) -> None:
    assert served.ask(front, 1).status == "paid"
    with ledger_in_use(served) as other:
        timer = threading.Timer(1.0, other.execute, ["ROLLBACK"])
        timer.start()
        assert served.ask(front, 2).status == "paid"
        assert timer.finished.is_set()
        timer.join()
    assert served.spent() == 1
    served.check()


@pytest.mark.parametrize("front", FRONTS)
def test_a_ledger_that_stays_locked_charges_nothing(
    served: Served, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert served.ask(front, 1).status == "paid"
    monkeypatch.setattr(_database, "PATIENCE", 0.3)
    with ledger_in_use(served):
        refused = served.ask(front, 2, key="mine")
        assert refused.status == REFUSED[front]
        assert str(served.home) not in refused.words
        assert served.ask(front, 1).status == "repeat"
    assert (served.spent(), served.events()) == (pure_half(1), ["reserve", "release"])
    assert served.ask(front, 2, key="mine").status == "paid"
    assert served.spent() == pure_half(2)
    served.check()


@pytest.mark.parametrize("front", FRONTS)
def test_a_ledger_that_cannot_be_read_calls_no_token_wrong(
    served: Served, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_database, "PATIENCE", 0.3)
    with monkeypatch.context() as patch:
        patch.setattr(type(served.desk._ledger), "account_named", unreadable)
        patch.setattr(type(served.desk._ledger), "open_as", unreadable)
        answers = {served.ask(front, 1, account).words for account in ("ada", "nobody")}
    (words,) = answers  # the same for all
    assert "the ledger cannot be used now" in words
    assert served.ask(front, 1).status == "paid"
    served.check()


def unreadable(*_: object) -> None:
    raise LedgerError("/home/owner/a.ledger: disk I/O error")


# clocks


@pytest.mark.parametrize("front", FRONTS)
def test_a_clock_that_is_set_gives_no_budget_again(served: Served, front: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ahead, an account's next window begins; back again, none does that has begun, and what was answered stays."""
    noon = datetime.now(UTC) + timedelta(hours=1)
    now = [noon]
    monkeypatch.setattr(_sqlite, "clock", lambda _connection: now[-1])

    def set_clock() -> float:
        return now[-1].timestamp()

    monkeypatch.setattr("time.time", set_clock)
    served.tokens["cyd"] = served.desk.owner().grant("cyd", pure(1), every="day") or ""
    first = served.ask(front, 1, "cyd")
    assert [first.status, served.ask(front, 2, "cyd").status] == ["paid", "paid"]
    assert served.ask(front, 3, "cyd").status == TOO_DEAR[front]
    now.append(noon + timedelta(days=1))
    assert served.ask(front, 3, "cyd", key="tomorrow").status == "paid"
    for moment in (noon, noon - timedelta(days=400)):
        now.append(moment)
        again = served.ask(front, 1, "cyd")
        assert (again.status, again.rows) == ("repeat", first.rows)
        if moment is noon:  # the half of the window of tomorrow that is left
            assert served.ask(front, 4, "cyd").status == "paid"
        assert served.ask(front, 5, "cyd").status == TOO_DEAR[front]
    now.append(noon + timedelta(days=2))
    assert served.ask(front, 6, "cyd").status == "paid"
    assert served.events() == ["reserve", "release"] * 5
    served.check()


# clients


def request_bytes(served: Served, number: int) -> bytes:
    """A question that costs, as a client sends it over HTTP."""
    body = {"query": question(number), "spend": {"epsilon": "0.1"}, "max_price": {"epsilon": "0.1"}}
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/answers HTTP/1.1\r\nHost: desk\r\nAuthorization: {served.basic()}\r\n"
        f"Idempotency-Key: gone-{number}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def ask_and_go(served: Served, front: str, number: int, drawing: threading.Event, may_go_on: threading.Event) -> None:
    """Ask a question, and reset the connection while it is being answered."""
    if front == "http":
        line = socket.create_connection(("127.0.0.1", served.http_port))
        line.sendall(request_bytes(served, number))
    else:
        connection = served.client("wire", fresh=True)
        connection.execute("SET discreet.epsilon = 0.1")
        line = socket.socket(fileno=os.dup(connection.pgconn.socket))
        connection.pgconn.send_query(question(number).encode())
        connection.pgconn.flush()
    assert drawing.wait(30)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()
    if front == "wire":
        connection.close()
    may_go_on.set()


@pytest.mark.parametrize("front", FRONTS)
def test_the_answer_of_a_client_that_goes_away_is_there_when_it_comes_back(
    served: Served, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing, may_go_on = threading.Event(), threading.Event()

    def wait() -> None:
        drawing.set()
        assert may_go_on.wait(30)

    def alive() -> tuple[int, int, int]:
        gc.collect()
        counted = [sum(isinstance(each, kind) for each in gc.get_objects()) for kind in (AsgiExchange, Session)]
        return counted[0], counted[1], len(served.front._connections)

    token = {"Authorization": served.basic()}
    httpx2.get(f"http://127.0.0.1:{served.http_port}/v1/budget", headers=token)
    before, count = alive(), 6
    with monkeypatch.context() as patch:
        between_drawing_and_storing(patch, wait)
        for number in range(count):
            drawing.clear()
            may_go_on.clear()
            ask_and_go(served, front, number, drawing, may_go_on)
            wait_until(lambda number=number: len(served.events()) == 2 * (number + 1))
    assert served.events() == ["reserve", "release"] * count
    wait_until(lambda: alive() == before and not served.server.server_state.connections)
    assert served.spent() == Fraction(count, 10)
    threads = threading.active_count()
    for number in range(count):
        body = {"query": question(number), "spend": {"epsilon": "0.1"}}
        again = httpx2.post(f"http://127.0.0.1:{served.http_port}/v1/answers", json=body, headers=token)
        assert again.headers["discreet-source"] == "repeat"
    assert threading.active_count() <= threads + 2  # those of pools, of which there are so many at most
    assert served.spent() == Fraction(count, 10)
    served.check()


def pure_half(times: int) -> Fraction:
    return Fraction(times, 2)
