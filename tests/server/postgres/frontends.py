"""A client's side of the PostgreSQL protocol, written apart from the server's: messages to bytes, and back."""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Self


def framed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def c_string(text: str) -> bytes:
    return text.encode() + b"\0"


def startup(minor: int = 0, **parameters: str) -> bytes:
    pairs = b"".join(c_string(name) + c_string(value) for name, value in parameters.items())
    return framed(b"", struct.pack("!i", 3 << 16 | minor) + pairs + b"\0")


SSL_REQUEST = struct.pack("!ii", 8, 80877103)
GSS_REQUEST = struct.pack("!ii", 8, 80877104)


def cancel(process: int, key: bytes) -> bytes:
    return framed(b"", struct.pack("!ii", 80877102, process) + key)


def query(text: str) -> bytes:
    return framed(b"Q", c_string(text))


def parse(name: str, text: str, types: Sequence[int] = ()) -> bytes:
    return framed(b"P", c_string(name) + c_string(text) + struct.pack(f"!H{len(types)}I", len(types), *types))


def bind(
    portal: str, statement: str, formats: Sequence[int], values: Sequence[bytes | None], results: Sequence[int] = ()
) -> bytes:
    body = c_string(portal) + c_string(statement) + struct.pack(f"!H{len(formats)}H", len(formats), *formats)
    body += struct.pack("!H", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return framed(b"B", body + struct.pack(f"!H{len(results)}H", len(results), *results))


def describe(target: str, name: str) -> bytes:
    return framed(b"D", target.encode() + c_string(name))


def execute(portal: str = "", rows: int = 0) -> bytes:
    return framed(b"E", c_string(portal) + struct.pack("!i", rows))


def close(target: str, name: str) -> bytes:
    return framed(b"C", target.encode() + c_string(name))


def secret(body: bytes) -> bytes:
    return framed(b"p", body)


SYNC, FLUSH, TERMINATE = framed(b"S", b""), framed(b"H", b""), framed(b"X", b"")


def messages(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The kind and the body of each message of a server."""
    at = 0
    while at < len(data):
        length = int.from_bytes(data[at + 1 : at + 5], "big")
        yield chr(data[at]), data[at + 5 : at + 1 + length]
        at += 1 + length


def fields(body: bytes) -> dict[str, str]:
    """The fields of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def proved(password: str, asked: bytes, first_bare: bytes, header: bytes, bound: bytes = b"") -> bytes:
    """A client's last message, of an implementation of its own."""
    parts = dict(part.split(b"=", 1) for part in asked.split(b","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b64decode(parts[b"s"]), int(parts[b"i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    without = b"c=" + b64encode(header + bound) + b",r=" + parts[b"r"]
    signature = hmac.digest(hashlib.sha256(key).digest(), first_bare + b"," + asked + b"," + without, "sha256")
    return without + b",p=" + b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))


class Wire:
    """A connection to a server, message by message."""

    def __init__(self, host: str, port: int, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(30)
        self.socket.connect((host, port))
        self._held = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def message(self) -> tuple[str, bytes]:
        """The next message. Raises `EOFError` at the end."""
        while len(self._held) < 5 or len(self._held) < 1 + int.from_bytes(self._held[1:5], "big"):
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self._held += data
        end = 1 + int.from_bytes(self._held[1:5], "big")
        message, self._held = (chr(self._held[0]), self._held[5:end]), self._held[end:]
        return message

    def until(self, kind: str = "Z") -> list[tuple[str, bytes]]:
        """The messages up to one of a kind, or to the end of the connection."""
        seen: list[tuple[str, bytes]] = []
        try:
            while not seen or seen[-1][0] != kind:
                seen.append(self.message())
        except (EOFError, ConnectionResetError):
            seen.append(("", b""))
        return seen

    def sign_in(self, token: str, minor: int = 0, **parameters: str) -> list[tuple[str, bytes]]:
        """SCRAM without a channel; the messages that follow it up to ReadyForQuery."""
        self.send(startup(minor, **parameters))
        seen = self.until("R")
        first = b"n=,r=abcdef"
        self.send(secret(c_string("SCRAM-SHA-256") + struct.pack("!i", len(first) + 3) + b"n,," + first))
        asked = self.until("R")[-1][1][4:]
        self.send(secret(proved(token, asked, first, b"n,,")))
        return seen[:-1] + self.until("Z")

    def ask(self, *parts: bytes) -> list[tuple[str, bytes]]:
        """Send, and read to ReadyForQuery."""
        self.send(*parts)
        return self.until("Z")


def kinds(seen: Sequence[tuple[str, bytes]]) -> str:
    """The kinds of messages, one letter each."""
    return "".join(kind for kind, _ in seen)


def error(seen: Sequence[tuple[str, bytes]]) -> dict[str, str]:
    """The fields of the first error."""
    return next((fields(body) for kind, body in seen if kind == "E"), {})


def rows(seen: Sequence[tuple[str, bytes]]) -> list[list[bytes | None]]:
    """The cells of all rows."""
    table: list[list[bytes | None]] = []
    for kind, body in seen:
        if kind != "D":
            continue
        at, cells = 2, list[bytes | None]()
        for _ in range(int.from_bytes(body[:2], "big")):
            length = int.from_bytes(body[at : at + 4], "big", signed=True)
            cells.append(None if length < 0 else body[at + 4 : at + 4 + length])
            at += 4 + max(length, 0)
        table.append(cells)
    return table


def tag(seen: Sequence[tuple[str, bytes]]) -> list[str]:
    """The tags of the commands that were completed."""
    return [body[:-1].decode() for kind, body in seen if kind == "C"]
