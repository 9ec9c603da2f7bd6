"""A network that loses connections in the middle of whatever is sent: each question is paid once."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from discreet.client import RemoteSession, _steps
from discreet.errors import DataError
from discreet.privacy import pure


@contextmanager
def unreliable(url: str, chance: random.Random) -> Iterator[str]:
    """A way to a server on which half of the connections end after some bytes, either way."""
    target = urlsplit(url)
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket, most: int) -> None:
        with suppress(OSError):
            while most > 0 and (part := source.recv(min(most, 1 << 16))):
                sink.sendall(part)
                most -= len(part)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def carry(near: socket.socket, limits: tuple[int, int]) -> None:
        with near, socket.create_connection((target.hostname or "", target.port or 0)) as far:
            back = threading.Thread(target=pump, args=(far, near, limits[1]))
            back.start()
            pump(near, far, limits[0])
            back.join()

    def run() -> None:
        carried: list[threading.Thread] = []
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                limits = chance.choice(
                    [(1 << 40, 1 << 40), (chance.randrange(900), 1 << 40), (1 << 40, chance.randrange(3_000))]
                )
                carried.append(threading.Thread(target=carry, args=(near, limits)))
                carried[-1].start()
        for each in carried:
            each.join()

    thread = threading.Thread(target=run)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize("questions", [25, pytest.param(1_000, marks=pytest.mark.soak)])
def test_each_question_is_paid_once(team: Any, monkeypatch: pytest.MonkeyPatch, questions: int) -> None:
    monkeypatch.setattr(_steps, "_PAUSE", 1e-4)
    chance, given_up, answers = random.Random(questions), 0, {}
    with unreliable(team.url, chance) as url, RemoteSession(url, account="ada", token=team.tokens["ada"]) as session:
        for place in range(questions):
            query = f"SELECT COUNT(*) AS n FROM visits WHERE cost < {place}"
            try:
                answers[query] = session.sql(query, pure("1/200")).to_bytes()
            except DataError:
                given_up += 1
    assert given_up < questions / 4
    with team.connect() as session:
        before = session.spent.epsilon()
        for query, payload in answers.items():
            assert session.sql(query).to_bytes() == payload
        assert session.spent.epsilon() == before
        mine = [each for each in session.history(1_000) if each.loss == pure("1/200")]
    assert len(answers) <= len(mine) <= questions  # those that were given up may have been paid, and then once
    assert len({each.id for each in mine}) == len(mine)
