"""A client's side of the PostgreSQL protocol, written apart from the server's: messages to bytes, and back."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence


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
