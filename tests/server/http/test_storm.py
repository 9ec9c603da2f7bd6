"""Clients that do whatever they like at once: afterwards nothing is held, nothing is open, and nothing was a bug."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from asgi_servers import AsgiServer, echo, get, statuses, stream, wait_until


async def either(scope: Any, receive: Any, send: Any) -> None:
    match scope["path"]:
        case "/stream":
            await stream(scope, receive, send)
        case "/slow":
            await receive()
            await asyncio.sleep(0.02)
            await stream(scope, receive, send)
        case "/unread":
            await stream(scope, receive, send)
        case _:
            await echo(scope, receive, send)


def request(chance: random.Random) -> bytes:
    path = chance.choice(("/", "/stream", "/slow", "/unread", "/a?b"))
    body = chance.randbytes(chance.choice((0, 0, 5, 3_000, 90_000)))
    more = chance.choice(((), (), ("Connection: close",), ("Expect: 100-continue",), ("Transfer-Encoding: chunked",)))
    sent = get(
        path, *more, method=chance.choice(("GET", "POST", "HEAD")), version=chance.choice(("1.1", "1.0")), body=body
    )
    match chance.randrange(8):
        case 0:
            return sent[: chance.randrange(len(sent) + 1)]
        case 1:
            return chance.randbytes(300) + b"\r\n\r\n"
        case _:
            return sent


async def misbehave(port: int, chance: random.Random, received: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for _ in range(chance.randrange(1, 6)):
            writer.write(request(chance))
            await asyncio.sleep(chance.choice((0, 0, 0.01)))
        match chance.randrange(4):
            case 0:  # with a reset
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            case 1:
                writer.write_eof()
                received += statuses(await asyncio.wait_for(reader.read(), 10))
            case 2:
                received += statuses(await reader.read(chance.choice((1, 100, 5_000))))
            case _:
                pass
    except (OSError, TimeoutError):
        pass
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@pytest.mark.parametrize("clients", [400, pytest.param(20_000, marks=pytest.mark.soak)])
def test_after_a_storm_nothing_is_left(
    serve: Callable[..., AsgiServer], caplog: pytest.LogCaptureFixture, clients: int
) -> None:
    server = serve(either, seconds=2, body=1 << 16, held=1 << 18, connections=60)
    chance, received = random.Random(clients), list[int]()

    async def storm() -> None:
        at_once = asyncio.Semaphore(100)

        async def one(seed: int) -> None:
            async with at_once:
                await misbehave(server.port, random.Random(seed), received)

        await asyncio.gather(*(one(chance.getrandbits(64)) for _ in range(clients)))

    with caplog.at_level(logging.DEBUG):
        asyncio.run(storm())
        state, http = server.server.server_state, server.server.config.http
        (connections,) = http._servers.values()
        wait_until(lambda: not (state.connections or state.tasks or connections._idle or connections._busy))
        wait_until(lambda: not connections._serving)
    assert connections._held == 0
    assert {record.getMessage() for record in caplog.records if record.name == "discreet.server"} == set()
    assert set(received) <= {100, 200, 400, 411, 413, 431, 503}
    assert {200, 400, 413} <= set(received)
    assert statuses(server.exchange(get("/", "Connection: close"))) == [200]
