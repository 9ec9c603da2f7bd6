"""With a beat, what was paid for and what failed where it would cost leaves on one; the rest does not."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from discreet.cli._app import app
from discreet.datasets import rand
from discreet.errors import DataError, ParameterError
from discreet.ledger import _spend_first
from discreet.server.connections import _beats, beat_after, has_passed, until_beat
from discreet.server.desk import _desk, open_desk
from discreet.server.http import _app
from discreet.server.postgres import _runner
from discreet.server.team import Settings, SourceSettings

sys.path.insert(0, str(Path(__file__).parent))

from served import FRONTS, Served, question


class Beats:
    """A clock that a test beats by hand: how many wait for it, until when, and what came before the last one."""

    def __init__(self) -> None:
        self.waiting = 0
        self._next = threading.Event()
        self._last = datetime.now(UTC)

    def has_passed(self, beat: float | None, at: datetime) -> bool:
        assert beat == 7
        return at < self._last

    async def until_beat(self, beat: float | None) -> None:
        if beat is None:
            return
        assert beat == 7
        self.waiting += 1
        while not self._next.is_set():
            await asyncio.sleep(0.005)

    def beat(self) -> None:
        self._last = datetime.now(UTC)
        self._next.set()

    def start_again(self) -> None:
        self.waiting = 0
        self._next.clear()


@pytest.fixture
def beats(monkeypatch: pytest.MonkeyPatch) -> Beats:
    made = Beats()
    for module in (_app, _runner):
        monkeypatch.setattr(module, "until_beat", made.until_beat)
    monkeypatch.setattr(_desk, "has_passed", made.has_passed)
    return made


@pytest.fixture
def served(beats: Beats, tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path, beat=7).start()
    yield running
    beats.beat()
    running.stop()


def held(beats: Beats, ask: Callable[[], Any]) -> Any:
    """What comes of a question that waits for a beat, once, and is told nothing before."""
    came: list[Any] = []
    beats.start_again()
    asking = threading.Thread(target=lambda: came.append(ask()))
    asking.start()
    until = time.monotonic() + 30
    while not beats.waiting and asking.is_alive() and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(0.05)
    assert beats.waiting == 1
    assert came == []
    beats.beat()
    asking.join()
    assert beats.waiting == 1
    return came[0]


def at_once(beats: Beats, ask: Callable[[], Any]) -> Any:
    """What comes of a question that waits for no beat."""
    beats.start_again()
    came = ask()
    assert beats.waiting == 0
    return came


@pytest.mark.parametrize("front", FRONTS)
def test_what_is_paid_waits_and_what_is_free_does_not(served: Served, beats: Beats, front: str) -> None:
    assert held(beats, lambda: served.ask(front, 1)).status == "paid"
    assert at_once(beats, lambda: served.ask(front, 1)).status == "repeat"
    assert at_once(beats, lambda: served.client("wire").execute("SELECT 1").fetchall()) == [(1,)]
    assert held(beats, lambda: served.ask(front, 2)).status == "paid"
    assert served.spent() == 1
    served.check()


@pytest.mark.parametrize("front", FRONTS)
def test_failures_of_what_would_cost_wait(
    served: Served, beats: Beats, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(error: Exception) -> Any:
        def drawn(*_: object) -> Any:
            raise error

        monkeypatch.setattr(_spend_first, "_drawn", drawn)
        return held(beats, lambda: served.ask(front, int.from_bytes(type(error).__name__[:2].encode())))

    assert fail(DataError("a value")).status == {"http": "503", "wire": "58000"}[front]
    assert fail(ValueError("a bug")).status == {"http": "500", "wire": "XX000"}[front]
    assert served.spent() == 1
    monkeypatch.undo()


@pytest.mark.parametrize("front", FRONTS)
def test_refusals_of_what_may_not_be_bought_come_at_once(served: Served, beats: Beats, front: str) -> None:
    body: dict[str, Any] = {"query": question(1), "spend": {"epsilon": 30}, "max_price": {"epsilon": 30}}
    if front == "http":
        client = served.client("http")

        def post(**more: Any) -> int:
            return client.post("/answers", json={**body, **more}, headers={"Idempotency-Key": "k"}).status_code

        assert at_once(beats, lambda: post(max_price={"epsilon": 1})) == 402
        assert at_once(beats, lambda: post(query="SELECT * FROM visits")) == 422
        assert held(beats, post) == 402  # that a budget does not last is known by what is charged
        return
    connection = served.client("wire")

    def state(*statements: str) -> str | None:
        for each in statements[:-1]:
            connection.execute(each)  # pyright: ignore[reportArgumentType]
        with pytest.raises(psycopg.Error) as error:
            connection.execute(statements[-1])  # pyright: ignore[reportArgumentType]
        return error.value.sqlstate

    assert at_once(beats, lambda: state(question(1))) == "53400"
    dear = "SET discreet.epsilon = 30"
    assert at_once(beats, lambda: state(dear, "SET discreet.max_price = 1", question(1))) == "53400"
    assert at_once(beats, lambda: state(dear, "SELECT * FROM visits")) == "42501"
    assert held(beats, lambda: state("SET discreet.max_price = ''", question(1))) == "53400"
    assert served.spent() == 0


def test_cursors_and_copies_wait_as_well(served: Served, beats: Beats) -> None:
    connection = served.client("wire")
    connection.execute("SET discreet.epsilon = 0.5")

    def copy() -> int:
        with connection.cursor().copy(f"COPY ({question(5)}) TO STDOUT") as rows:  # pyright: ignore[reportArgumentType]
            return len(list(rows))

    def declare() -> int:
        with connection.transaction(), connection.cursor("c") as cursor:
            return len(cursor.execute(question(6)).fetchall())  # pyright: ignore[reportArgumentType]

    assert held(beats, copy) == 2
    assert held(beats, declare) == 2


def test_who_asks_later_is_told_of_an_answer_on_a_beat(served: Served, beats: Beats) -> None:
    client, location = served.client("http"), ""
    body = {"query": question(1), "spend": {"epsilon": "0.5"}, "max_price": {"epsilon": "0.5"}}

    def ask() -> str:
        nonlocal location
        accepted = client.post("/answers", json=body, headers={"Idempotency-Key": "k", "Prefer": "respond-async"})
        location = accepted.headers["location"].removeprefix("/v1")
        with client.stream("GET", f"{location}/events") as events:
            return events.read().decode()

    events = held(beats, ask)
    assert events.count("event: done") == 1
    assert json.loads(client.get(location).text)["rows"]


@pytest.mark.parametrize("front", FRONTS)
def test_nobody_is_told_before_the_beat_that_an_answer_is_there(served: Served, beats: Beats, front: str) -> None:
    """Whoever could see when an answer was drawn could measure how long it took."""
    other, client = served.client("http", fresh=True), served.client("http")
    body = {"query": question(1), "spend": {"epsilon": "0.5"}}
    plan_hash = client.post("/plans", json=body).json()["id"]
    beats.start_again()
    asking = threading.Thread(target=lambda: served.ask(front, 1))
    asking.start()
    while not beats.waiting:
        time.sleep(0.005)
    quote = other.post("/plans", json=body).json()
    assert (quote["price"], quote["answers"]) == ({"kind": "pure", "epsilon": "1/2"}, [])
    (charge,) = other.get("/history").json()["charges"]
    assert (charge["answered"], charge["question"]) == (False, None)
    asked = {
        "again": lambda: other.post("/answers", json=body),
        "by its name": lambda: other.get(f"/answers/{plan_hash}"),
        "its certificate": lambda: other.get(f"/answers/{plan_hash}/certificate"),
    }
    came: dict[str, int] = {}
    later = [
        threading.Thread(target=lambda name=name, ask=ask: came.update({name: ask().status_code}))
        for name, ask in asked.items()
    ]
    for each in later:
        each.start()
    until = time.monotonic() + 30
    while beats.waiting < 1 + len(later) and time.monotonic() < until:
        time.sleep(0.005)
    assert came == {}
    beats.beat()
    for each in (asking, *later):
        each.join()
    assert came == dict.fromkeys(asked, 200)
    quote = other.post("/plans", json=body).json()
    (answer,) = quote["answers"]
    assert quote["price"] is None
    assert datetime.fromisoformat(answer["at"]).timestamp() % 7 == 0  # when it leaves, and not when it was drawn
    certificate = other.get(f"/answers/{plan_hash}/certificate").json()
    assert certificate["at"] == charge["at"]  # when it was asked
    assert other.get("/history").json()["charges"][0]["answered"]
    other.close()


def test_a_beat_is_a_whole_multiple_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with monkeypatch.context() as patch:
        patch.setattr(_beats.asyncio, "sleep", sleep)
        for now, beat, wait in ((1_000.25, 1.0, 0.75), (1_000.0, 4.0, 4.0), (999.5, 3600.0, 2600.5)):
            patch.setattr(_beats.time, "time", lambda now=now: now)
            asyncio.run(until_beat(beat))
            assert slept.pop() == wait
            last = datetime.fromtimestamp(now // beat * beat, UTC)
            assert [has_passed(beat, last + timedelta(milliseconds=each)) for each in (-1, 0)] == [True, False]
            for each in (-1, 0, 1):
                left = beat_after(beat, last + timedelta(milliseconds=each))
                assert left == last + timedelta(seconds=0 if each < 0 else beat)
            assert beat_after(None, last) == last
        asyncio.run(until_beat(None))
    assert slept == []
    before = time.time()
    asyncio.run(until_beat(0.2))
    assert time.time() // 0.2 > before // 0.2


def test_one_option_sets_both_fronts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen: list[Any] = []

    def serve(settings: Any, **_: object) -> None:
        chosen.append(settings)

    monkeypatch.setattr("discreet.server.team.serve", serve)
    command = ["serve", "visits.toml", "--data", "v.csv", "--ledger", "l", "--postgres", ":0", "--beat", "0.5"]
    assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    assert [each.beat for each in chosen] == [0.5]
    path = tmp_path / "serve.toml"
    path.write_text("""
        beat = 2.5
        [sources.visits]
        policy = "visits.toml"
        data = "v.csv"
        ledger = "l"
    """)
    assert Settings.load(path).beat == 2.5


@pytest.mark.parametrize("beat", [0, -1, 0.001, 3601, float("nan"), float("inf")])
def test_a_beat_that_makes_no_sense_is_refused(beat: float) -> None:
    source = SourceSettings(policy=Path("p"), data="d", ledger="l")
    with pytest.raises(ParameterError, match="a beat has from"):
        Settings(sources={"visits": source}, beat=beat).check()
    with pytest.raises(ParameterError, match="a beat has from"):
        open_desk({"visits": rand.table}, rand.policy, None, beat=beat)
