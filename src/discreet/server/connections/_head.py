"""Heads of HTTP/1.1: parsed strictly, and what is unusual is refused.

A body has a Content-Length. Chunked bodies, folded lines, bare line feeds and repeated headers are refused, so that a
proxy in front cannot understand a request in another way. Source: RFC 9110 and 9112.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any

__all__ = ["HEAD", "Answer", "Refused", "Request", "http_date", "read_head"]


HEAD = 1 << 14
"""The bytes of a head, at most."""

_LINE = re.compile(rb"([A-Z]{1,16}) ([!-~]{1,2048}) HTTP/1\.([01])")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t -~\x80-\xff]*)")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_ABSOLUTE = re.compile(r"\Ahttps?://[^/?#]*", re.IGNORECASE)
_MOST_FIELDS = 64


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back in one piece: a JSON object, or bytes. `close` ends the connection after it."""

    status: int
    content: dict[str, Any] | bytes
    close: bool = False
    retry: int | None = None
    allow: str | None = None
    media_type: str = "application/json"

    def encode(self, *, close: bool = False) -> tuple[bytes, bytes]:
        """The head and the body."""
        body = self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"Date: {http_date()}",
            f"Content-Type: {self.media_type}",
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
        self.reason = reason
        self.answer = Answer(status, {"error": reason}, **more)


@dataclass(frozen=True, slots=True)
class Request:
    """A head: the path without what is before it, the headers by their names in lower case.

    Attributes
    ----------
    fields
        The headers as they came, with names in lower case; `headers` has the last of each name.
    length
        The bytes of the body.
    new
        Whether it is HTTP/1.1, not 1.0.
    close
        Whether the connection ends after the answer.
    waits
        Whether the sender waits for 100 Continue before it sends the body.
    """

    method: str
    path: str
    headers: dict[str, str]
    fields: list[tuple[bytes, bytes]]
    length: int
    new: bool
    close: bool
    waits: bool


def read_head(block: bytes) -> Request:
    """The head in a block that ends with an empty line. Raises `Refused`, and then the connection cannot go on."""
    if len(block) > HEAD:
        raise Refused(431, f"a head has at most {HEAD} bytes", close=True)
    lines = block.removeprefix(b"\r\n").removesuffix(b"\r\n\r\n").split(b"\r\n")
    start = _LINE.fullmatch(lines[0])
    if start is None:
        raise Refused(400, "the first line must be: METHOD PATH HTTP/1.1", close=True)
    if len(lines) > _MOST_FIELDS:
        raise Refused(431, f"a request has at most {_MOST_FIELDS} headers", close=True)
    headers: dict[str, str] = {}
    fields: list[tuple[bytes, bytes]] = []
    for line in lines[1:]:
        match = _FIELD.fullmatch(line)
        if match is None:
            raise Refused(400, "a header must be a line of NAME: VALUE without control characters", close=True)
        name, value = match[1].lower(), match[2].strip(b" \t")
        text = name.decode()
        if text in headers and text in _ONCE:
            raise Refused(400, f"the header {text} may be there once", close=True)
        headers[text] = value.decode("latin-1")
        fields.append((name, value))
    new = start[3] == b"1"
    if new and "host" not in headers:
        raise Refused(400, "HTTP/1.1 wants the header host", close=True)
    if "transfer-encoding" in headers:
        raise Refused(411, "send the body whole, with Content-Length: Transfer-Encoding is not taken", close=True)
    path = start[2].decode()
    words = {word.strip().lower() for word in headers["connection"].split(",")} if "connection" in headers else ()
    return Request(
        method=start[1].decode(),
        path=path if path[0] == "/" else _ABSOLUTE.sub("", path) or "/",
        headers=headers,
        fields=fields,
        length=_read_length(headers["content-length"].encode("latin-1")) if "content-length" in headers else 0,
        new=new,
        close="close" in words or not new,
        waits=new and headers.get("expect", "").lower() == "100-continue",
    )


_ONCE = {
    *("authorization", "connection", "content-encoding", "content-length", "content-type"),
    *("expect", "host", "idempotency-key", "transfer-encoding"),
}


def _read_length(text: bytes) -> int:
    if not _LENGTH.fullmatch(text):
        raise Refused(400, "Content-Length must be a whole number", close=True)
    return int(text)


def http_date() -> str:
    """The present time as HTTP writes it."""
    return _date(int(time.time()))


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
