"""Bytes of a client to messages, as they come, with no more held than each message is allowed to be long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from discreet.server.postgres.codec import frontend
from discreet.server.postgres.codec.frontend import Message, ProtocolError, Target

__all__ = ["MAX_STARTUP", "MAX_TEXT", "MAX_VALUES", "MessageReader", "read_initial_response", "read_password"]

MAX_STARTUP: Final = 10_000
"""Bytes of a startup packet, as in PostgreSQL."""
MAX_TEXT: Final = 1 << 16
"""Bytes of a query's text."""
MAX_VALUES: Final = 1 << 18
"""Bytes of a Bind: its parameters and their formats."""
_MAX_SECRET, _MAX_NAMES = 16_384, 4_096
_CANCEL, _TLS, _GSS = (1234 << 16 | code for code in (5678, 5679, 5680))
_LONGEST_KEY, _MAX_PARAMETERS = 256, 100


class _Body:
    """The fields of one message, in order; each raises `ProtocolError` if it is not there."""

    __slots__ = ("_at", "_raw")

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._raw):
            raise ProtocolError("a message is shorter than what it holds")
        part, self._at = self._raw[self._at : end], end
        return part

    def integer(self, size: int, *, signed: bool = True) -> int:
        return int.from_bytes(self.take(size), "big", signed=signed)

    def text(self) -> str:
        end = self._raw.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a text has no end")
        raw, self._at = self._raw[self._at : end], end + 1
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise ProtocolError("texts are in UTF-8") from None

    def integers(self, size: int) -> tuple[int, ...]:
        return tuple(self.integer(size, signed=False) for _ in range(self.count(size)))

    def count(self, size: int) -> int:
        """How many things of at least `size` bytes each follow."""
        count = self.integer(2, signed=False)
        if count * size > len(self._raw) - self._at:
            raise ProtocolError("a list is shorter than its count")
        return count

    def formats(self) -> tuple[int, ...]:
        codes = self.integers(2)
        if any(code > 1 for code in codes):
            raise ProtocolError("a format is 0, text, or 1, binary")
        return codes

    def value(self) -> bytes | None:
        length = self.integer(4)
        return None if length == -1 else self.take(length)

    def target(self) -> Target:
        kind = self.take(1)
        if kind not in (b"S", b"P"):
            raise ProtocolError("only a statement, S, or a portal, P, can be described or closed")
        return "S" if kind == b"S" else "P"

    def rest(self) -> bytes:
        return self.take(len(self._raw) - self._at)

    def end(self) -> None:
        if self._at != len(self._raw):
            raise ProtocolError("a message is longer than what it holds")


def _bind(body: _Body) -> frontend.Bind:
    portal, statement, formats = body.text(), body.text(), body.formats()
    values = tuple(body.value() for _ in range(body.count(4)))
    if len(formats) not in (0, 1, len(values)):
        raise ProtocolError(f"a Bind has {len(formats)} formats for {len(values)} parameters")
    return frontend.Bind(portal, statement, formats, values, body.formats())


_KINDS: dict[int, tuple[int, Callable[[_Body], Message]]] = {
    ord("Q"): (MAX_TEXT + 1, lambda body: frontend.Query(body.text())),
    ord("P"): (MAX_TEXT + 4 * _MAX_NAMES, lambda body: frontend.Parse(body.text(), body.text(), body.integers(4))),
    ord("B"): (MAX_VALUES, _bind),
    ord("D"): (_MAX_NAMES, lambda body: frontend.Describe(body.target(), body.text())),
    ord("E"): (_MAX_NAMES, lambda body: frontend.Execute(body.text(), body.integer(4))),
    ord("C"): (_MAX_NAMES, lambda body: frontend.Close(body.target(), body.text())),
    ord("S"): (0, lambda _: frontend.Signal.SYNC),
    ord("H"): (0, lambda _: frontend.Signal.FLUSH),
    ord("X"): (0, lambda _: frontend.Signal.TERMINATE),
}
"""By its first byte, how long a message's body may be, and what it is."""
_SECRET: tuple[int, Callable[[_Body], Message]] = (_MAX_SECRET, lambda body: frontend.Secret(body.rest()))


class MessageReader:
    """The messages in a stream of bytes.

    `feed` takes bytes and `read` gives the next message, or None until more bytes come. A length that a message claims
    is checked before anything is held for it, so at most what was fed and one message's limit are held. The first
    messages are those of a connection's start; after a `Startup` come secrets alone, until `signed_in` is called.
    Raises `ProtocolError`, and nothing else, for any bytes that are no message which may come now.

    >>> reader = MessageReader()
    >>> reader.feed(bytes.fromhex("00000008 04d2162f"))
    >>> reader.read()
    EncryptionRequest(method='tls')
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._started = False
        self._signed_in = False

    def feed(self, data: bytes | memoryview) -> None:
        """Take what came."""
        self._held += data

    @property
    def held(self) -> int:
        """How many bytes wait to be read."""
        return len(self._held)

    def signed_in(self) -> None:
        """From now on questions are read."""
        self._signed_in = True

    def read(self) -> Message | None:
        """The next message, if all of it is here. Raises `ProtocolError`."""
        if not self._started:
            body = self._body(0, MAX_STARTUP - 4, least=4)
            if body is None:
                return None
            first = _first(body)
            self._started = isinstance(first, frontend.Startup)
            return first
        if not self._held:
            return None
        limit, read = self._kind(self._held[0])
        body = self._body(1, limit)
        if body is None:
            return None
        message = read(body)
        body.end()
        return message

    def _kind(self, code: int) -> tuple[int, Callable[[_Body], Message]]:
        if not self._signed_in:
            if code != ord("p"):
                raise ProtocolError("sign in first")
            return _SECRET
        if code not in _KINDS:
            raise ProtocolError("there is no such message here, and nothing is copied in")
        return _KINDS[code]

    def _body(self, start: int, limit: int, least: int = 0) -> _Body | None:
        """What follows the length at `start`, once it is all here."""
        if len(self._held) < start + 4:
            return None
        length = int.from_bytes(self._held[start : start + 4], "big") - 4
        if not least <= length <= limit:
            raise ProtocolError(f"such a message has at least {least} and at most {limit:,} bytes")
        end = start + 4 + length
        if len(self._held) < end:
            return None
        body = _Body(bytes(self._held[start + 4 : end]))
        del self._held[:end]
        return body


def _first(body: _Body) -> Message:
    code = body.integer(4, signed=False)
    if code == _CANCEL:
        process, key = body.integer(4), body.rest()
        if not 4 <= len(key) <= _LONGEST_KEY:
            raise ProtocolError(f"a key to cancel by has 4 to {_LONGEST_KEY} bytes")
        return frontend.CancelRequest(process, key)
    if code in (_TLS, _GSS):
        body.end()
        return frontend.EncryptionRequest("tls" if code == _TLS else "gss")
    if code >> 16 != 3:
        raise ProtocolError("the protocol here is version 3")
    parameters: dict[str, str] = {}
    while name := body.text():
        parameters[name] = body.text()
        if len(parameters) > _MAX_PARAMETERS:
            raise ProtocolError(f"a session starts with at most {_MAX_PARAMETERS} parameters")
    body.end()
    return frontend.Startup(code & 0xFFFF, parameters)


def read_password(secret: frontend.Secret) -> str:
    """The clear text of a PasswordMessage. Raises `ProtocolError` if it is none."""
    body = _Body(secret.body)
    password = body.text()
    body.end()
    return password


def read_initial_response(secret: frontend.Secret) -> tuple[str, bytes]:
    """Mechanism and data of a SASLInitialResponse. Raises `ProtocolError` if it is none."""
    body = _Body(secret.body)
    mechanism, data = body.text(), body.value()
    body.end()
    return mechanism, data or b""
