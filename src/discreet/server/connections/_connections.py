"""Connections: requests one after the other, each with a deadline, and no more bytes held than is allowed."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable

from discreet.server.connections._head import HEAD, Answer, Refused, Request, read_head
from discreet.server.connections._limits import ConnectionLimits

__all__ = ["Exchange", "HttpConnections", "Line"]

_PART, _SLOWEST = 1 << 16, 1 << 16
_LINGER_SECONDS = 10.0
_GRACE_SECONDS = 2.0
_FULL = "as much is on its way as can be held; send it again in a moment"


class Line:
    """One connection, and its deadline. It has a reader and a writer once requests can be read from it.

    Attributes
    ----------
    slow
        From when it may be cut to make room for others, as it waits for its client; infinite while it does not.
    """

    __slots__ = ("address", "deadline", "held", "last", "reader", "slow", "transport", "writer")

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def __init__(self, transport: asyncio.WriteTransport, deadline: float) -> None:
        self.transport, self.deadline, self.held, self.last = transport, deadline, 0, False
        peer = transport.get_extra_info("peername")
        self.address, self.slow = str(peer[0]) if isinstance(peer, tuple) else "", math.inf


class Exchange:
    """One request, and the way to read its body and to answer it.

    Attributes
    ----------
    close
        Whether the connection ends after the answer.
    started
        Whether a part of an answer was sent.
    """

    __slots__ = ("_connections", "_continue", "_unread", "close", "line", "request", "started")

    def __init__(self, connections: HttpConnections, line: Line, request: Request) -> None:
        self._connections, self.line, self.request = connections, line, request
        self._unread, self._continue = request.length > 0, request.waits
        self.close, self.started = request.close, False

    @property
    def unread(self) -> bool:
        """Whether there is a body that was not read; then the connection cannot go on."""
        return self._unread

    async def read(self) -> bytes:
        """The body, in full. Raises `Refused` where it is too long or cannot be held now."""
        if not self._unread:
            return b""
        limits, length = self._connections.limits, self.request.length
        if length > limits.body:
            raise Refused(413, f"a body has at most {limits.body} bytes", close=True)
        content = await self._connections.read_body(self.line, length, waits=self._continue)
        self._unread = False
        return content

    async def write(self, head: bytes, body: bytes = b"") -> None:
        """Send in parts, each when those before are nearly gone: no line holds more than that.

        Raises `OSError` where the client is gone.
        """
        self.started = True
        writer, line = self.line.writer, self.line
        line.deadline = self._connections.until(len(body) / _SLOWEST)
        line.slow = self._connections.since(len(body) / _SLOWEST)
        writer.write(head + body[:_PART])
        await writer.drain()
        for at in range(_PART, len(body), _PART):
            writer.write(body[at : at + _PART])
            await writer.drain()
        line.deadline = line.slow = math.inf

    def closes(self, *, wanted: bool = False) -> bool:
        """Whether the connection ends after the answer, whose head is sent next."""
        self.close = self.close or wanted or self._unread or self.line.last or self._connections.stopping
        return self.close

    async def answer(self, answer: Answer) -> None:
        """Send an answer in one piece."""
        head, body = answer.encode(close=self.closes(wanted=answer.close))
        await self.write(head, b"" if self.request.method == "HEAD" else body)


class HttpConnections(ABC):
    """The open connections. Nothing about the clients is stored.

    Made inside a running event loop. What answers a request is `respond`, of a class below. Once it is `stopping`, no
    connection is admitted any more, and each ends after the answer that is on its way.

    Where there are too many, or too many bytes are held, one that is idle is cut for a new one, and else one that waits
    for a client that sends or reads slower than 64 KiB a second, after two seconds. From an address that has more than
    half of all, one is cut for another address at once. None is cut for which there is work to do here.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._idle: dict[Line, None] = {}
        self._busy: dict[Line, None] = {}
        self._held = 0
        self.stopping = False
        self._watching = False
        self._loop = asyncio.get_running_loop()

    @abstractmethod
    async def respond(self, exchange: Exchange) -> None:
        """Answer one request. May raise `Refused` as long as no part of the answer was sent."""

    def refuse(self, refused: Refused) -> Answer:
        """The answer to a request that was refused."""
        return refused.answer

    def admit(self, transport: asyncio.WriteTransport) -> Line | None:
        """A line for a new connection, which has as long as a head has; `None` where there is no room."""
        line = Line(transport, self.until())
        if self.stopping or not self._room(line):
            return None
        self._idle[line] = None
        if not self._watching:
            self._watching = True
            self._loop.call_later(self._pause, self._watch)
        return line

    def turn_away(self, writer: asyncio.StreamWriter) -> None:
        """Answer that there is no room, and close."""
        writer.write(b"".join(self.refuse(Refused(503, _FULL, close=True, retry=1)).encode()))
        writer.close()

    async def serve(self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection that was admitted to its end."""
        line.transport, line.reader, line.writer = writer.transport, reader, writer
        try:
            while await self._next(line) and not (self.stopping or line.last):
                await asyncio.sleep(0)  # let others run, however many requests have come here
        except (OSError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            self._cut(line)
            raise
        finally:
            await self._end(line)

    def finish(self, line: Line) -> None:
        """End one connection: at once where it is idle, else after the answer that is on its way."""
        line.last = True
        if line in self._idle:
            self._cut(line)

    async def stop(self, seconds: float) -> None:
        """Let running requests finish for some seconds, and close the other connections."""
        self.stopping = True
        for line in list(self._idle):
            self._cut(line)
        until = self._loop.time() + seconds
        while self._busy and self._loop.time() < until:
            await asyncio.sleep(0.02)
        for line in list(self._busy):
            self._cut(line)

    def drop(self, line: Line) -> None:
        """Forget a connection that ended before it was served."""
        self._idle.pop(line, None)
        self._busy.pop(line, None)

    def until(self, more: float = 0.0) -> float:
        """The deadline of what begins now."""
        return self._loop.time() + self.limits.seconds + more

    @property
    def _pause(self) -> float:
        return min(1.0, self.limits.seconds / 4)

    def _watch(self) -> None:
        """Close connections that will be past their deadline before the next look, as long as there are any."""
        soon = self._loop.time() + self._pause
        for line in [each for each in (*self._idle, *self._busy) if each.deadline < soon]:
            self._cut(line)
        self._watching = bool(self._idle or self._busy)
        if self._watching:
            self._loop.call_later(self._pause, self._watch)

    def since(self, more: float = 0.0) -> float:
        """From when what begins now is slow."""
        return self._loop.time() + _GRACE_SECONDS + more

    def _room(self, line: Line) -> bool:
        """Whether there is room for a new line, for which another may be cut."""
        most = self.limits.connections
        if len(self._idle) + len(self._busy) >= most:
            chosen = next(iter(self._idle)) if self._idle else self._slowest(line, lambda _: 1, most)
            if chosen is not None:
                self._cut(chosen)
        return len(self._idle) + len(self._busy) < most

    def _hold(self, line: Line, size: int) -> None:
        """Make room for more bytes of a line, by cutting others. Raises `Refused` where there is none."""
        while self._held + size > self.limits.held:
            slowest = self._slowest(line, lambda each: each.held, self.limits.held)
            if slowest is None:
                raise Refused(503, _FULL, close=True, retry=1)
            self._let_go(slowest)
            self._cut(slowest)

    def _slowest(self, line: Line, weight: Callable[[Line], int], most: int) -> Line | None:
        """The line to cut for another of those that weigh anything, or `None`."""
        weights = Counter[str]()
        for each in self._busy:
            weights[each.address] += weight(each)
        greedy, greatest = max(weights.items(), key=lambda item: item[1], default=("", 0))
        is_greedy = greedy != line.address and 2 * greatest > most
        waiting = [each for each in self._busy if each is not line and each.slow < math.inf and weight(each)]
        slow = [each for each in waiting if each.slow <= self._loop.time()]
        chosen = slow or [each for each in waiting if is_greedy and each.address == greedy]
        return min(chosen, key=lambda each: each.slow, default=None)

    async def _next(self, line: Line) -> bool:
        """Answer one request; whether another may follow."""
        self._busy.pop(line, None)
        self._idle[line] = None
        line.deadline, line.slow = self.until(), math.inf
        try:
            block = await line.reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            refused = Refused(431, f"a head has at most {HEAD} bytes", close=True)
            await self._last(line, self.refuse(refused))
            return False
        self._idle.pop(line, None)
        self._busy[line] = None
        try:
            request = read_head(block)
        except Refused as refused:
            await self._last(line, self.refuse(refused))
            return False
        try:
            return await self._answered(Exchange(self, line, request))
        finally:
            self._let_go(line)

    async def _answered(self, exchange: Exchange) -> bool:
        line = exchange.line
        line.deadline = math.inf  # an answer may take its time
        try:
            await self.respond(exchange)
        except Refused as refused:
            if exchange.started:
                raise ConnectionAbortedError from None
            self._let_go(line)
            await exchange.answer(self.refuse(refused))
        if exchange.unread:
            await self._linger(line)
            return False
        return not exchange.close

    async def read_body(self, line: Line, length: int, *, waits: bool) -> bytes:
        """The body of a request. Raises `Refused` where it cannot be held now."""
        self._hold(line, length)
        line.deadline, began = self.until(length / _SLOWEST), self.since()
        line.slow = began
        if waits:
            line.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        parts: list[bytes] = []
        left = length
        while left:
            part = await line.reader.read(min(left, _PART))
            if not part:
                raise ConnectionResetError
            left -= len(part)
            line.held += len(part)
            self._held += len(part)
            line.slow = began + line.held / _SLOWEST
            parts.append(part)
            self._hold(line, 0)
        line.deadline = line.slow = math.inf
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _last(self, line: Line, answer: Answer) -> None:
        """Answer what was no request."""
        self._idle.pop(line, None)
        self._busy[line] = None
        line.deadline, line.slow = self.until(), self.since()
        line.writer.write(b"".join(answer.encode(close=True)))
        await line.writer.drain()
        await self._linger(line)

    async def _linger(self, line: Line) -> None:
        """Read on for a while, so that a client that still sends does not lose its answer (RFC 9112, 9.6)."""
        line.deadline = self._loop.time() + min(_LINGER_SECONDS, self.limits.seconds)
        line.slow = self.since()
        if line.writer.can_write_eof():
            line.writer.write_eof()
        left = max(self.limits.body, HEAD)
        while left > 0 and (part := await line.reader.read(_PART)):
            left -= len(part)

    async def _end(self, line: Line) -> None:
        """Close, and wait until what was answered is gone: who does not read it is cut."""
        self._idle.pop(line, None)
        self._busy[line] = None
        line.deadline, line.slow = self.until(), self.since()
        line.writer.close()
        try:
            await line.writer.wait_closed()
        except OSError:
            pass
        finally:
            self._busy.pop(line, None)

    def _let_go(self, line: Line) -> None:
        self._held -= line.held
        line.held = 0

    def _cut(self, line: Line) -> None:
        self._idle.pop(line, None)
        self._busy.pop(line, None)
        line.transport.abort()
