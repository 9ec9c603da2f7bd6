"""HTTP/1.1, as much of it as a collector needs: heads are read strictly, and what is unusual is refused.

A body has a Content-Length. Chunked and compressed bodies, folded lines, bare line feeds and repeated headers are
refused, so that a proxy in front cannot understand a request in another way. Source: RFC 9110 and 9112.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, fields
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from discreet.errors import ParameterError

__all__ = ["HEAD", "JSON_BODY", "Answer", "Limits", "Refused", "Request", "request_of"]


HEAD = 1 << 14
"""The bytes of a head, at most."""

_LINE = re.compile(rb"([A-Z]{1,16}) ([!-~]{1,2048}) HTTP/1\.([01])")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_LENGTH = re.compile(r"[0-9]{1,18}")
_ABSOLUTE = re.compile(r"\Ahttps?://[^/?#]*", re.IGNORECASE)
_MOST_FIELDS = 64


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back: JSON, or JSON that is written already. `close` ends the connection after it."""

    status: int
    content: dict[str, Any] | bytes
    close: bool = False
    retry: int | None = None
    allow: str | None = None

    def encode(self, *, close: bool = False) -> tuple[bytes, bytes]:
        """The head and the body."""
        body = self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"Date: {_date(int(time.time()))}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            *([f"Retry-After: {self.retry}"] if self.retry is not None else []),
            *([f"Allow: {self.allow}"] if self.allow is not None else []),
            *(["Connection: close"] if close or self.close else []),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode(), body


class Refused(Exception):
    """A request that is refused, with the answer to it."""

    def __init__(self, status: int, reason: str, **more: Any) -> None:
        super().__init__(reason)
        self.answer = Answer(status, {"error": reason}, **more)


@dataclass(frozen=True, slots=True)
class Request:
    """A head: the path without what is before it, the headers by their names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    length: int
    close: bool
    waits: bool
    """Whether the sender waits for 100 Continue before it sends the body."""


def request_of(block: bytes) -> Request:
    """The head in a block that ends with an empty line. Raises `Refused`, and then the connection cannot go on."""
    lines = block.removeprefix(b"\r\n").removesuffix(b"\r\n\r\n").split(b"\r\n")
    start = _LINE.fullmatch(lines[0])
    if start is None:
        raise Refused(400, "the first line must be: METHOD PATH HTTP/1.1", close=True)
    if len(lines) > _MOST_FIELDS:
        raise Refused(431, f"a request has at most {_MOST_FIELDS} headers", close=True)
    headers: dict[str, str] = {}
    for line in lines[1:]:
        label, colon, value = line.partition(b":")
        if not (colon and _NAME.fullmatch(label) and _VALUE.fullmatch(value)):
            raise Refused(400, "a header must be a line of NAME: VALUE without control characters", close=True)
        name = label.decode().lower()
        if name in headers and name in _ONCE:
            raise Refused(400, f"the header {name} may be there once", close=True)
        headers[name] = value.strip(b" \t").decode("latin-1")
    new = start[3] == b"1"
    if new and "host" not in headers:
        raise Refused(400, "HTTP/1.1 wants the header host", close=True)
    if "transfer-encoding" in headers:
        raise Refused(411, "send the body whole, with Content-Length: Transfer-Encoding is not taken", close=True)
    words = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    return Request(
        method=start[1].decode(),
        path=_ABSOLUTE.sub("", start[2].decode()) or "/",
        headers=headers,
        length=_length(headers.get("content-length", "0")),
        close="close" in words or not new,
        waits=new and headers.get("expect", "").lower() == "100-continue",
    )


_ONCE = {
    *("connection", "content-encoding", "content-length", "content-type"),
    *("expect", "host", "idempotency-key", "transfer-encoding"),
}


def _length(text: str) -> int:
    if not _LENGTH.fullmatch(text):
        raise Refused(400, "Content-Length must be a whole number", close=True)
    return int(text)


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


JSON_BODY = 1 << 18
"""The most bytes of a batch in JSON: parsing blocks everything else, and takes some thirty times its size."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a collector takes at most. Raises `ParameterError` for a number below 1.

    Attributes
    ----------
    body
        The bytes of one batch.
    held
        The bytes of all batches that are not answered yet; beyond it senders are asked to retry.
    connections
        How many are open at once; then the one that has been idle for longest makes room.
    remember
        How many batches are known by their key, the newest; an older one that came again would be counted again.
    seconds
        For a head to come whole, and for a sender to read an answer; a body has as long and a second for each 64 KiB.
    """

    body: int = 1 << 24
    held: int = 1 << 26
    connections: int = 1_000
    remember: int = 10_000_000
    seconds: int = 20

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"{each.name} must be a whole number, 1 or more, got {value!r}")
        if self.held < self.body:
            raise ParameterError(f"held must be at least body = {self.body}, or no such batch is ever taken")
