"""Workers of one server: what one answers, another tells of and cancels."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.server.connections import WorkerBus
from discreet.server.desk import Refusal, Ticket
from discreet.server.http._pending import PendingAnswers
from discreet.server.postgres import PostgresFront

sys.path.insert(0, str(Path(__file__).parent))

NAME = ("visits", "analyst ada", "a" * 64)


async def workers(test: Callable[[list[WorkerBus], list[PendingAnswers]], Awaitable[None]], count: int = 3) -> None:
    sockets = WorkerBus.sockets(count)
    buses = [WorkerBus(sockets, place).open() for place in range(count)]
    try:
        await test(buses, [PendingAnswers(bus) for bus in buses])
    finally:
        for bus in buses:
            bus.close()
        for pair in sockets:
            for each in pair:
                each.close()


async def soon(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(10):
        while not (came := condition()):
            await asyncio.sleep(0.001)
    return came


def test_another_worker_tells_of_a_question_and_cancels_it() -> None:
    async def test(_: list[WorkerBus], answers: list[PendingAnswers]) -> None:
        cancelled = asyncio.Event()

        async def answer(ticket: Ticket) -> None:
            while not ticket._cancelled:
                await asyncio.sleep(0.001)
            cancelled.set()
            raise Refusal("cancelled", "what was charged stays spent")

        here = answers[0].start(NAME, answer)
        there = await soon(lambda: answers[1].get(NAME))
        assert (there.since, there.elapsed, there.ended) == (here.since, here.elapsed, None)
        await soon(lambda: answers[2].get(NAME))
        answers[2].get((*NAME[:2], "b" * 64))
        assert not cancelled.is_set()
        answers[2].get(NAME).cancel()  # pyright: ignore[reportOptionalMemberAccess]
        await asyncio.wait_for(cancelled.wait(), 10)
        await asyncio.wait_for(there.done.wait(), 10)
        assert there.refusal is not None
        assert (there.refusal.kind, str(there.refusal)) == ("cancelled", "what was charged stays spent")
        assert here.ended is not None

    asyncio.run(workers(test))


def test_what_is_answered_is_done_everywhere() -> None:
    async def test(_: list[WorkerBus], answers: list[PendingAnswers]) -> None:
        let = asyncio.Event()

        async def answer(_: Ticket) -> None:
            await let.wait()

        answers[0].start(NAME, answer)
        there = await soon(lambda: answers[1].get(NAME))
        assert answers[0].start(NAME, answer) is answers[0].get(NAME)  # asked twice, it is answered once
        let.set()
        await asyncio.wait_for(there.done.wait(), 10)
        assert there.refusal is None

    asyncio.run(workers(test))


def test_what_a_dead_worker_answered_has_ended() -> None:
    async def test(buses: list[WorkerBus], answers: list[PendingAnswers]) -> None:
        async def answer(_: Ticket) -> None:
            await asyncio.sleep(10)

        answers[0].start(NAME, answer)
        there = await soon(lambda: answers[1].get(NAME))
        buses[2].tell("begun", {"worker": 2})
        buses[0].tell("begun", {"worker": 0})
        await asyncio.wait_for(there.done.wait(), 10)
        for each in list(answers[0]._tasks):
            each.cancel()

    asyncio.run(workers(test))


def test_a_worker_that_is_behind_loses_nothing() -> None:
    async def test(buses: list[WorkerBus], _: list[PendingAnswers]) -> None:
        heard: list[int] = []
        buses[1].listen("numbers", lambda message: heard.append(message["number"]))
        for number in range(5_000):  # far more than a socket holds
            buses[0].tell("numbers", {"number": number, "more": "x" * 500})
        await soon(lambda: len(heard) == 5_000)
        assert sorted(heard) == list(range(5_000))

    asyncio.run(workers(test, 2))


def test_a_cancel_of_the_wire_reaches_the_worker_of_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(buses: list[WorkerBus], _: list[PendingAnswers]) -> None:
        asked: list[tuple[int, int, bytes]] = []

        def front(place: int) -> Any:
            made = PostgresFront({}, None, bus=buses[place])  # pyright: ignore[reportArgumentType]

            async def cancel(process: int, key: bytes) -> bool:
                asked.append((place, process, key))
                return place == 2

            monkeypatch.setattr(made, "_cancel_here", cancel)
            return made

        fronts = [front(place) for place in range(3)]
        from discreet.server.postgres.codec.frontend import CancelRequest

        await fronts[2]._cancel(CancelRequest(7, b"mine"))
        assert asked == [(2, 7, b"mine")]
        await fronts[0]._cancel(CancelRequest(7, b"\xff" * 32))
        await soon(lambda: len(asked) == 4)
        assert sorted(place for place, *_ in asked) == [0, 1, 2, 2]
        assert {(process, key) for _, process, key in asked[1:]} == {(7, b"\xff" * 32)}

    asyncio.run(workers(test))
