"""The collector as a process: it listens until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError
from discreet.local import Scheme
from discreet.server.collector._connection import Body, Connections
from discreet.server.collector._http import Answer, Limits, Refused, Request
from discreet.server.collector._intake import batch_of, check_head
from discreet.server.collector._store import Batch, Outcome, Store
from discreet.server.collector._writer import Writer
from discreet.server.connections import allow_files

__all__ = ["serve"]

_SMALL = 1 << 15
"""Bodies of up to so many bytes are parsed on the event loop, larger ones in a thread, so that others need not wait."""
_STOP_SECONDS = 10.0
_AT_ONCE, _QUEUE = 32, 1_024
_PATHS = {"/reports": "POST", "/scheme": "GET, HEAD", "/healthz": "GET, HEAD"}


def serve(  # noqa: PLR0913
    scheme: Scheme[Any],
    home: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    on_status: Callable[[str], object] = lambda _line: None,
) -> None:
    """Collect reports of a scheme into the store `home` until the process gets SIGTERM or SIGINT.

    Runs in the main thread. `on_status` is called with a line when it listens, and when the disk fails and works again;
    no line is about a request, a sender or a report. Raises `DataError` for a store that cannot be used and
    `ParameterError` for an address that cannot be listened at.
    """
    chosen = limits or Limits()
    allow_files(chosen.connections)
    writer = Writer(Store(scheme, home, remember=chosen.remember), on_status)
    log = logging.getLogger("asyncio")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)  # it would log addresses
    try:
        asyncio.run(_Collector(scheme, writer, chosen, on_status).run(host, port))
    finally:
        log.setLevel(level)
        writer.close()


class _Collector:
    def __init__(self, scheme: Scheme[Any], writer: Writer, limits: Limits, on_status: Callable[[str], object]) -> None:
        self._scheme, self._writer, self._limits, self._on_status = scheme, writer, limits, on_status
        self._document = scheme.to_json().encode()
        self._beside = ThreadPoolExecutor(1, "reading")
        self._troubles: set[str] = set()

    async def run(self, host: str, port: int) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda _loop, context: self._report(context.get("exception")))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        connections = Connections(self._answer, self._limits)
        try:
            server = await asyncio.start_server(connections.talk, host, port, backlog=_AT_ONCE)
        except (OSError, OverflowError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no address"
            raise ParameterError(f"cannot listen at {host}:{port}: {reason}; take another --host or --port") from None
        for each in server.sockets:  # asyncio accepts as many at once as the queue is long, and each takes a file
            with socket.socket(fileno=os.dup(each.fileno())) as same:
                same.listen(_QUEUE)
        address = server.sockets[0].getsockname()
        self._on_status(
            f"collecting reports of scheme {self._scheme.fingerprint.hex()} at {_url(*address[:2])}/reports"
        )
        await stopped.wait()
        server.close()
        await connections.stop(_STOP_SECONDS)
        self._beside.shutdown()

    async def _answer(self, request: Request, body: Body) -> Answer:
        try:
            return await self._handle(request, body)
        except (Refused, OSError):
            raise
        except Exception as error:  # noqa: BLE001 (one request may not harm the others)
            self._report(error)
            return Answer(500, {"error": "a bug in the collector; this batch was perhaps not counted"}, close=True)

    async def _handle(self, request: Request, body: Body) -> Answer:
        allowed = _PATHS.get(request.path)
        if allowed is None:
            raise Refused(404, f"there are {', '.join(_PATHS)}")
        if request.method not in allowed.split(", "):
            raise Refused(405, f"{request.path} takes {allowed}", allow=allowed)
        if request.path == "/scheme":
            return Answer(200, self._document)
        if request.path == "/healthz":
            healthy = self._writer.healthy
            return Answer(200 if healthy else 503, {"status": "ok" if healthy else "the store cannot be written"})
        check_head(request, self._limits)
        batch = await self._read(request, await body())
        return _answer_to(batch, await self._writer.put(batch))

    async def _read(self, request: Request, body: bytes) -> Batch:
        if len(body) <= _SMALL:
            return batch_of(request, body, self._scheme)
        return await asyncio.get_running_loop().run_in_executor(self._beside, batch_of, request, body, self._scheme)

    def _report(self, error: object) -> None:
        """Report each kind of error once, without its text, which may name a sender."""
        kind = type(error).__name__
        if kind not in self._troubles:
            self._troubles.add(kind)
            self._on_status(f"internal error: {kind}; the collector goes on, and reports this kind once")


def _answer_to(batch: Batch, outcome: Outcome | None) -> Answer:
    if outcome is None:
        return Answer(503, {"error": "the store cannot be written now; send this batch again later"}, retry=10)
    if outcome is Outcome.REFUSED:
        return Answer(
            422, {"error": "another batch was sent under this Idempotency-Key; draw a new one for each batch"}
        )
    repeated = outcome is Outcome.REPEATED
    return Answer(200, {"reports": len(batch.reports), "rejected": batch.rejected, "repeated": repeated})


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
