"""One request as ASGI 3 has it: a scope, what is received, and what is sent.

Source: the ASGI specification, HTTP & WebSocket message format 2.4; RFC 9112.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from discreet.server.connections import Answer, Exchange, Refused, http_date

__all__ = ["Application", "AsgiExchange", "ClientGone", "Message", "problem_for"]

Message = MutableMapping[str, Any]
Application = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NO_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_OURS = frozenset((b"connection", b"date", b"keep-alive", b"server", b"transfer-encoding", b"upgrade"))
"""Headers that the connection decides, not the application; and none names the server."""
_BODILESS = frozenset((204, 205, 304))


def problem_for(refused: Refused) -> Answer:
    """The answer to what is no request, or to one that cannot be taken now, as a problem of RFC 9457."""
    answer = refused.answer
    content = {
        "type": "https://discreet.invalid/problems/request",
        "title": HTTPStatus(answer.status).phrase,
        "status": answer.status,
        "detail": refused.reason,
        "kind": "request",
    }
    return Answer(answer.status, content, answer.close, answer.retry, answer.allow, "application/problem+json")


class ClientGone(ConnectionResetError):
    """The client is not there any more to be sent anything: no failure of an application's."""


class AsgiExchange:
    """What one application is given to answer one request.

    Attributes
    ----------
    complete
        Is done once the answer was sent in full, or cannot be any more.
    """

    __slots__ = (
        "_chunked",
        "_ended",
        "_exchange",
        "_gone",
        "_head",
        "_left",
        "_read",
        "_report",
        "_silent",
        "complete",
    )

    def __init__(
        self,
        exchange: Exchange,
        report: Callable[[BaseException], None],
        complete: asyncio.Future[None],
        *,
        ended: bool,
    ) -> None:
        self._exchange, self._report, self.complete = exchange, report, complete
        self._ended = asyncio.Event() if not ended else None
        self._gone = self._read = self._chunked = self._silent = False
        self._head: list[bytes] | None = None
        self._left: int | None = None

    async def run(self, application: Application, scope: MutableMapping[str, Any]) -> None:
        """Run an application to its end. It ends here, whatever it raises."""
        try:
            await application(scope, self.receive, self.send)
            if not self.complete.done():
                await self._fail(RuntimeError("the application returned before its answer was complete"))
        except Exception as error:  # noqa: BLE001 (one request may not harm the others)
            await self._fail(error)
        finally:
            if not self.complete.done():
                self._abort()

    def disconnect(self) -> None:
        """Note that the client sends no more; it may still read."""
        if self._ended is not None:
            self._ended.set()

    def lose(self) -> None:
        """Note that the client is gone."""
        self._gone = True
        self.disconnect()

    async def receive(self) -> Message:
        """The body, in one message, and then that the client is gone, once it is or once it has its answer."""
        if not self._read:
            self._read = True
            try:
                return {"type": "http.request", "body": await self._exchange.read(), "more_body": False}
            except Refused as refused:
                if not self._exchange.started:
                    await self._exchange.answer(problem_for(refused))
                self._settle()
            except OSError:
                self._abort()
            self.lose()
        elif self._ended is not None and not self.complete.done():
            await self._ended.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send the head, or a part of the body. Raises `ClientGone` where the client is."""
        if self._gone:
            raise ClientGone
        if self.complete.done():
            raise RuntimeError("the answer is complete already")
        if self._head is None and not self._exchange.started:
            self._begin(message)
        elif message["type"] != "http.response.body":
            raise RuntimeError("after http.response.start comes http.response.body")
        else:
            await self._send_part(message.get("body", b""), more=message.get("more_body", False))

    def _begin(self, message: Message) -> None:
        status = message["status"] if message["type"] == "http.response.start" else None
        if not isinstance(status, int) or not 200 <= status <= 599:
            raise RuntimeError("an answer begins with http.response.start and a status of 200 to 599")
        self._silent = self._exchange.request.method == "HEAD" or status in _BODILESS
        self._head = [_status_line(status), b"Date: ", http_date().encode(), b"\r\n"]
        close = self._add_headers(self._head, message.get("headers", ()))
        self._exchange.close = self._exchange.close or close

    def _add_headers(self, head: list[bytes], headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Add the headers of an application; whether it wants the connection to end."""
        close = False
        for name, value in headers:
            label = _label(bytes(name))
            if _NO_VALUE.search(value):
                raise RuntimeError("a header of the answer has control characters")
            if label is None:
                close = close or (name.lower() == b"connection" and b"close" in value.lower())
                continue
            if label == b"Content-Length: ":
                if self._left is not None or not value.isdigit():
                    raise RuntimeError("Content-Length of the answer must be one whole number")
                self._left = int(value)
            head += (label, value, b"\r\n")
        return close

    async def _send_part(self, body: bytes, *, more: bool) -> None:
        head = b"" if self._head is None else self._end_head(self._head, len(body), more=more)
        self._head = None
        if self._silent:
            body = b""
        elif self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("the body is not as long as its Content-Length")
        elif self._chunked:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body = body if more else body + b"0\r\n\r\n"
        if head or body:
            try:
                await self._exchange.write(head, body)
            except OSError:
                self._abort()
                self.lose()
                raise ClientGone from None
        if not more:
            self._settle()

    def _end_head(self, head: list[bytes], size: int, *, more: bool) -> bytes:
        """The head in full, with the framing of the body: by its length, in chunks, or for HTTP/1.0 by the end."""
        if self._left is None and not self._silent:
            if not more:
                self._left = size
                head.append(b"Content-Length: %d\r\n" % size)
            elif self._exchange.request.new:
                self._chunked = True
                head.append(b"Transfer-Encoding: chunked\r\n")
        if self._exchange.closes():
            head.append(b"Connection: close\r\n")
        head.append(b"\r\n")
        return b"".join(head)

    async def _fail(self, error: Exception) -> None:
        """Answer for an application that did not; where its answer has begun, the client must see it end early."""
        if self._gone and isinstance(error, OSError):
            return
        self._report(error)
        if self._gone or self.complete.done():
            return
        if self._exchange.started:
            self._abort()
            return
        try:
            await self._exchange.answer(problem_for(Refused(500, "a bug in the server; it was logged", close=True)))
        except OSError:
            self._abort()
        else:
            self._settle()

    def _abort(self) -> None:
        self._exchange.line.transport.abort()
        self._settle()

    def _settle(self) -> None:
        if not self.complete.done():
            self.complete.set_result(None)
        self.disconnect()


@lru_cache(maxsize=600)
def _status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode()


@lru_cache(maxsize=256)
def _label(name: bytes) -> bytes | None:
    """The name of a header as it is sent; `None` for one that is the connection's."""
    if not _NAME.fullmatch(name):
        raise RuntimeError("a header of the answer has a name that is none")
    return None if name.lower() in _OURS else name.title() + b": "
