"""Clients that stall make room for others: no connection that waits for its client keeps everybody out."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from asgi_servers import AsgiServer, echo, everything, get, respond, statuses, wait_until

Serve = Callable[..., AsgiServer]
ONCE = get("/", "Connection: close")
STALLED = get(method="POST", body=b"x" * 1_000)[:-1]


def connections_of(server: AsgiServer) -> list[Any]:
    return list(server.server.config.http._servers.values())


@contextmanager
def stalling(server: AsgiServer, lines: int, sent: bytes = STALLED) -> Iterator[list[socket.socket]]:
    """Lines whose bodies do not end, from 127.0.0.1."""
    with ExitStack() as stack:
        stalled = [stack.enter_context(server.raw()) for _ in range(lines)]
        for line in stalled:
            line.sendall(sent)
        wait_until(lambda: sum(len(each._busy) for each in connections_of(server)) == lines)
        yield stalled


def ask(server: AsgiServer, sent: bytes = ONCE, address: str = "127.0.0.1") -> list[int]:
    with socket.create_connection(("127.0.0.1", server.port), 30, (address, 0)) as line:
        line.sendall(sent)
        return statuses(everything(line))


def test_bodies_that_stall_make_room_in_time(serve: Serve) -> None:
    server = serve(echo, connections=4)
    with stalling(server, 4) as stalled:
        assert ask(server) == [503]
        time.sleep(2.1)
        assert ask(server) == [200]
        stalled[0].settimeout(10)
        assert everything(stalled[0]) == b""  # the oldest
        stalled[3].sendall(b"x")
        assert statuses(stalled[3].recv(1 << 16)) == [200]


def test_an_address_that_has_most_makes_room_for_another_at_once(serve: Serve) -> None:
    server = serve(echo, connections=4)
    with stalling(server, 4):
        assert ask(server, address="127.0.0.2") == [200]


def test_bytes_that_are_held_make_room_alike(serve: Serve) -> None:
    server, wanted = serve(echo, body=1_000, held=1_500), get("/", "Connection: close", body=b"y" * 600)
    for address, seconds in (("127.0.0.2", 0.0), ("127.0.0.1", 2.1)):
        with stalling(server, 1):
            wait_until(lambda: connections_of(server)[0]._held == 999)
            assert ask(server, wanted) == [503]
            time.sleep(seconds)
            assert ask(server, wanted, address) == [200]
        wait_until(lambda: connections_of(server)[0]._held == 0)


def test_who_lingers_or_does_not_read_makes_room(serve: Serve) -> None:
    async def large(scope: Any, receive: Any, send: Any) -> None:
        await respond(send, b"x" * (0 if scope["path"] == "/" else 1 << 25))

    for sent in (get(method="POST", body=b"x" * 101)[:-1], get("/large")):
        server = serve(large, body=100, connections=2)
        with stalling(server, 2, sent):
            assert ask(server, address="127.0.0.2") == [200]


def test_what_is_being_answered_is_not_cut(serve: Serve) -> None:
    async def answer_late(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await asyncio.sleep(2.5)
        await respond(send, b"late")

    server = serve(answer_late, connections=2)
    with stalling(server, 2, get(method="POST", body=b"x")) as lines:
        time.sleep(2.1)
        assert ask(server, address="127.0.0.2") == [503]
        assert [statuses(line.recv(1 << 16)) for line in lines] == [[200], [200]]
