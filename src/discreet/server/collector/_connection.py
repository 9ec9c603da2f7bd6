"""Connections: requests one after the other, each with a deadline, and no more bytes held than is allowed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

from discreet.server.collector._http import HEAD, Answer, Limits, Refused, Request, request_of

__all__ = ["Connections", "Handler"]

_PART, _SLOWEST = 1 << 16, 1 << 16
_LINGER_SECONDS = 10.0
_FULL = "as much is on its way as can be held; send it again in a moment"

Body = Callable[[], Awaitable[bytes]]
Handler = Callable[[Request, Body], Awaitable[Answer]]


class _Line:
    """One connection, and its deadline."""

    __slots__ = ("deadline", "held", "reader", "writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, deadline: float) -> None:
        self.reader, self.writer, self.deadline, self.held = reader, writer, deadline, 0


class Connections:
    """The open connections. Nothing about the clients is looked up or stored."""

    def __init__(self, handler: Handler, limits: Limits) -> None:
        self._handler, self._limits = handler, limits
        self._idle: dict[_Line, None] = {}
        self._busy: set[_Line] = set()
        self._held = 0
        self._stopping = False
        self._loop = asyncio.get_running_loop()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        if self._stopping or not self._room():
            writer.write(b"".join(Answer(503, {"error": _FULL}, close=True, retry=1).encode()))
            writer.close()
            return
        line = _Line(reader, writer, self._until())
        try:
            while await self._next(line) and not self._stopping:
                await asyncio.sleep(0)  # let others run, however many requests have come here
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            await self._end(line)

    async def watch(self) -> None:
        """Close connections that are past their deadline, until cancelled."""
        while True:
            await asyncio.sleep(min(1.0, self._limits.seconds / 4))
            now = self._loop.time()
            for line in [each for each in (*self._idle, *self._busy) if each.deadline < now]:
                self._cut(line)

    async def stop(self, seconds: float) -> None:
        """Let running requests finish for some seconds, and close the other connections."""
        self._stopping = True
        for line in list(self._idle):
            self._cut(line)
        until = self._loop.time() + seconds
        while self._busy and self._loop.time() < until:
            await asyncio.sleep(0.02)
        for line in list(self._busy):
            self._cut(line)

    def _room(self) -> bool:
        if len(self._idle) + len(self._busy) >= self._limits.connections and self._idle:
            self._cut(next(iter(self._idle)))
        return len(self._idle) + len(self._busy) < self._limits.connections

    async def _next(self, line: _Line) -> bool:
        """Answer one request; whether another may follow."""
        self._idle[line] = None
        line.deadline = self._until()
        try:
            block = await line.reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            await self._last(line, Answer(431, {"error": f"a head has at most {HEAD} bytes"}, close=True))
            return False
        self._idle.pop(line, None)
        self._busy.add(line)
        try:
            return await self._answered(line, block)
        finally:
            self._let_go(line)
            self._busy.discard(line)

    async def _answered(self, line: _Line, block: bytes) -> bool:
        request: Request | None = None
        unread = True

        async def body() -> bytes:
            nonlocal unread
            assert request is not None
            content = await self._body(line, request)
            unread = False
            return content

        try:
            if len(block) > HEAD:
                raise Refused(431, f"a head has at most {HEAD} bytes", close=True)
            request = request_of(block)
            unread = request.length > 0
            answer = await self._handler(request, body)
        except Refused as refused:
            answer = refused.answer
            self._let_go(line)
        bodiless = request is not None and request.method == "HEAD"
        if unread:
            await self._last(line, answer, bodiless=bodiless)
            return False
        assert request is not None
        close = request.close or answer.close or self._stopping
        await self._say(line, answer, close=close, bodiless=bodiless)
        return not close

    async def _body(self, line: _Line, request: Request) -> bytes:
        if self._held + request.length > self._limits.held:
            raise Refused(503, _FULL, close=True, retry=1)
        line.deadline = self._until(request.length / _SLOWEST)
        if request.waits:
            line.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        parts: list[bytes] = []
        left = request.length
        while left:
            part = await line.reader.read(min(left, _PART))
            if not part:
                raise ConnectionResetError
            left -= len(part)
            line.held += len(part)
            self._held += len(part)
            parts.append(part)
            if self._held > self._limits.held:
                raise Refused(503, _FULL, close=True, retry=1)
        line.deadline = math.inf  # the disk may take its time
        return b"".join(parts)

    async def _say(self, line: _Line, answer: Answer, *, close: bool, bodiless: bool = False) -> None:
        """Send an answer in parts, each when those before are nearly gone: no line holds more than that."""
        head, body = answer.encode(close=close)
        line.deadline = self._until(len(body) / _SLOWEST)
        line.writer.write(head if bodiless else head + body[:_PART])
        await line.writer.drain()
        for at in range(_PART, 0 if bodiless else len(body), _PART):
            line.writer.write(body[at : at + _PART])
            await line.writer.drain()

    async def _last(self, line: _Line, answer: Answer, *, bodiless: bool = False) -> None:
        """Answer, and go on reading for a while, so that a client that still sends does not lose the answer."""
        self._busy.add(line)
        self._idle.pop(line, None)
        await self._say(line, answer, close=True, bodiless=bodiless)
        line.deadline = self._loop.time() + min(_LINGER_SECONDS, self._limits.seconds)
        if line.writer.can_write_eof():
            line.writer.write_eof()
        left = max(self._limits.body, HEAD)
        while left > 0 and (part := await line.reader.read(_PART)):
            left -= len(part)

    async def _end(self, line: _Line) -> None:
        """Close, and wait until what was answered is gone: who does not read it is cut."""
        self._idle.pop(line, None)
        self._busy.add(line)
        line.deadline = self._until()
        line.writer.close()
        try:
            await line.writer.wait_closed()
        except OSError:
            pass
        finally:
            self._busy.discard(line)

    def _let_go(self, line: _Line) -> None:
        self._held -= line.held
        line.held = 0

    def _until(self, more: float = 0.0) -> float:
        return self._loop.time() + self._limits.seconds + more

    def _cut(self, line: _Line) -> None:
        self._idle.pop(line, None)
        self._busy.discard(line)
        line.writer.transport.abort()
