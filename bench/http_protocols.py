"""CPU of an empty ASGI application for each request, under discreet's protocol class and uvicorn's own.

    python bench/http_protocols.py [--requests 4000] [--rounds 7]

Each server is a process; a client in another sends one request after another over 8 connections. `httptools` is
measured where it is installed. What counts is the server's user and system time, the median of interleaved rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import multiprocessing
import socket
import statistics
from typing import Any

import psutil
import uvicorn

from discreet.server.http._protocol import StrictHttp
from discreet.server.http._server import HttpServer, configure

CONNECTIONS = 8
GET = b"GET /v1/budget HTTP/1.1\r\nHost: here\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n"
POST = (
    b"POST /v1/plans HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
    b"Authorization: Basic YW5hOmFiYw==\r\nUser-Agent: bench\r\nContent-Length: 100\r\n\r\n" + b"x" * 100
)
BODY = b"x" * 200
ENDS = b"\r\n\r\n" + BODY


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    await receive()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


def serve(name: str, listener: socket.socket) -> None:
    http: Any = StrictHttp() if name == "discreet" else name
    if name == "discreet":
        HttpServer(configure(application, http, lifespan="off")).run([listener])
    else:
        more: Any = {"log_config": None, "access_log": False, "proxy_headers": False, "lifespan": "off", "ws": "none"}
        uvicorn.Server(uvicorn.Config(application, http=http, loop="asyncio", **more)).run([listener])


async def ask(port: int, sent: bytes, requests: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(requests):
        writer.write(sent)
        await reader.readuntil(ENDS)
    writer.close()


async def ask_all(port: int, sent: bytes, requests: int) -> None:
    await asyncio.gather(*(ask(port, sent, requests // CONNECTIONS) for _ in range(CONNECTIONS)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    names = ["discreet", *(name for name in ("httptools", "h11") if importlib.util.find_spec(name))]
    spent: dict[tuple[str, str], list[float]] = {}
    servers = {}
    for name in names:
        listener = socket.socket(proto=socket.IPPROTO_TCP)  # with it, asyncio sets TCP_NODELAY on what it accepts
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        process = multiprocessing.Process(target=serve, args=(name, listener))
        process.start()
        servers[name] = process, listener.getsockname()[1]
    for turn in range(given.rounds + 1):
        for kind, sent in (("GET", GET), ("POST", POST)):
            for name, (process, port) in servers.items():
                watched = psutil.Process(process.pid)
                before = sum(watched.cpu_times()[:2])
                asyncio.run(ask_all(port, sent, given.requests))
                if turn:  # the first warms up
                    cost = (sum(watched.cpu_times()[:2]) - before) / given.requests
                    spent.setdefault((kind, name), []).append(cost)
    for process, _ in servers.values():
        process.terminate()
        process.join()
    for kind in ("GET", "POST"):
        ours = statistics.median(spent[kind, "discreet"])
        for name in names:
            cost = statistics.median(spent[kind, name])
            print(f"{kind:>4} {name:>10} {cost * 1e6:>7.0f} µs of CPU, {cost / ours:>5.2f} of discreet's")


if __name__ == "__main__":
    main()
