"""What a call does, without doing it: requests to send and times to wait, each followed by what came of it.

A call is a generator of steps. A session that blocks and one that does not drive the same calls.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from discreet.client._problems import error_of
from discreet.errors import DataError, LedgerError

__all__ = ["JSON", "STORED", "Call", "HttpReply", "HttpRequest", "Lost", "Wait", "exchange", "json_of"]

JSON = "application/json"
STORED = "application/vnd.discreet.release"
"""A release as the ledger stores it."""

_MOST_JSON = 1 << 24
_MOST_RELEASE = 1 << 28
_SENT_AGAIN = 3
_PAUSE = 0.1
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request below the address of the server, without what signs in."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def most(self) -> int:
        """The bytes of an answer, at most."""
        return _MOST_RELEASE if self.headers.get("Accept") == STORED else _MOST_JSON


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came, and why: whether the request was received is not known."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds to wait."""

    seconds: float


_T = TypeVar("_T")
Call: TypeAlias = Generator[HttpRequest | Wait, HttpReply | Lost | None, _T]


def exchange(request: HttpRequest) -> Call[HttpReply]:
    """The answer to a request that may be sent again: after a lost connection, or where the server asks to wait.

    Raises the error that a problem stands for, and `DataError` if no answer comes.
    """
    reason = ""
    for attempt in range(_SENT_AGAIN + 1):
        reply = yield request
        pause = _PAUSE * 4**attempt
        if isinstance(reply, HttpReply):
            asked = _asked_to_wait(reply)
            if asked is None or attempt == _SENT_AGAIN:
                return _checked(reply)
            pause = asked
        elif isinstance(reply, Lost):
            reason = reply.reason
        if attempt < _SENT_AGAIN:
            yield Wait(pause)
    raise DataError(
        f"no answer from the server, though it was asked {_SENT_AGAIN + 1} times ({reason}); if it was charged, the "
        "same question is free when the server can be reached"
    )


def _asked_to_wait(reply: HttpReply) -> float | None:
    """The seconds after which a server that is busy wants to be asked again; None where it is not busy."""
    text = reply.headers.get("retry-after", "")
    if reply.status not in (429, 503) or not (text.isascii() and text.isdigit()):
        return None
    return float(text) if float(text) <= _LONGEST_PAUSE else None


def _checked(reply: HttpReply) -> HttpReply:
    if 200 <= reply.status < 300:
        return reply
    if 300 <= reply.status < 400:
        raise DataError("the server redirects, which is not followed: connect to the address that it is at")
    raise error_of(reply.status, reply.headers.get("content-type", ""), reply.content)


def json_of(reply: HttpReply) -> dict[str, Any]:
    """The JSON object of an answer. Raises `LedgerError` if it holds none."""
    try:
        content: object = json.loads(reply.content)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise LedgerError("the server's answer cannot be read: it may be of another version, or no discreet server")
    return cast("dict[str, Any]", content)
