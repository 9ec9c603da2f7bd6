"""The collector as an ASGI application, carried by the protocol class of the HTTP API: the same tests are for both."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.local import Scheme
from discreet.server.collector import Limits, Store
from discreet.server.collector._serve import _Collector
from discreet.server.collector._writer import Writer
from discreet.server.connections import Refused, Request
from discreet.server.http._protocol import StrictHttp
from discreet.server.http._server import HttpServer, configure


def application(collector: _Collector) -> Any:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        async def body() -> bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError
            return message["body"]

        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        target = scope["raw_path"].decode() + ("?" if scope["query_string"] else "") + scope["query_string"].decode()
        length = int(headers.get("content-length", 0))
        request = Request(
            scope["method"], target, headers, scope["headers"], length, new=True, close=False, waits=False
        )
        try:
            reply = await collector._answer(request, body)
        except Refused as refused:
            reply = refused.answer
        except ConnectionResetError:
            return
        head, content = reply.encode()
        lines = [line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2]]
        await send({"type": "http.response.start", "status": reply.status, "headers": lines})
        await send({"type": "http.response.body", "body": content})

    return answer


class Server(HttpServer):
    on_status: Callable[[str], object]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_status(f"at http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}/reports")


async def run(server: Server) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, setattr, server, "should_exit", True)
    await server.serve()


def serve(scheme: Scheme[Any], home: Path, *, port: int, limits: Limits, on_status: Callable[[str], object]) -> None:
    writer = Writer(Store(scheme, home, remember=limits.remember), on_status)
    try:
        collector = _Collector(scheme, writer, limits, on_status)
        server = Server(
            configure(application(collector), StrictHttp(replace(limits, body=limits.held)), port=port, lifespan="off")
        )
        server.on_status = on_status
        asyncio.run(run(server))
        collector._beside.shutdown()
    finally:
        writer.close()
