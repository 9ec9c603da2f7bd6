"""Heads: whatever is accepted, another parser understands in the same way, so that no proxy can be led to disagree."""

from __future__ import annotations

import random
from typing import Any

import h11
import pytest

from discreet.server.connections import HEAD, Refused, Request, read_head

SOUND = [
    b"GET /v1/plans?x=1 HTTP/1.1\r\nHost: desk\r\nAccept: */*\r\n\r\n",
    b"POST /v1/answers HTTP/1.1\r\nHost: desk\r\nContent-Length: 5\r\nX-Odd:\t \xe9 y \r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"POST http://d/a HTTP/1.1\r\nHost: d\r\nExpect: 100-continue\r\nContent-Length: 05\r\nConnection: close\r\n\r\n",
    b"\r\nHEAD /a HTTP/1.1\r\nhost:\r\nx: 1\r\nX: 2\r\n\r\n",
]
PARTS = [
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b" ",
        b"\t",
        b":",
        b",",
        b"\x00",
        b"\x0b",
        b"\x85",
        b"\xa0",
        b"+",
        b"-",
        b"5",
        b"0x5",
        b"5, 5",
    ),
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Content-Length: 6\r\n", b"Host: evil\r\n"),
    *(b" folded\r\n", b"Content-Length : 5\r\n", b"Transfer-Encoding:\x0bchunked\r\n", b"HTTP/1.1", b"HTTP/9.9"),
    *(b"chunked", b"\r\n\r\n", b"_", b"/"),
]


def mutated(block: bytes, chance: random.Random) -> bytes:
    head = bytearray(block.removesuffix(b"\r\n\r\n"))
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(head) + 1)
        match chance.randrange(5):
            case 0:
                head[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del head[at : at + chance.choice((1, 2, 9))]
            case 2:
                lines = head.split(b"\r\n")
                lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
                head = bytearray(b"\r\n".join(lines))
            case _:
                head[at:at] = chance.choice(PARTS)
    end = (bytes(head) + b"\r\n\r\n").find(b"\r\n\r\n")  # as much as a connection would read
    return (bytes(head) + b"\r\n\r\n")[: end + 4]


def understood(block: bytes, length: int) -> tuple[Any, int]:
    """What h11 makes of a head with a body, and how many bytes of body it finds."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(block.removeprefix(b"\r\n") + b"b" * length + b"GET / HTTP/1.1\r\n")
    request, size = connection.next_event(), 0
    while type(event := connection.next_event()) is h11.Data:
        size += len(event.data)
    assert type(event) is h11.EndOfMessage
    return request, size


def head_of(block: bytes) -> Request | Refused:
    try:
        return read_head(block)
    except Refused as refused:
        return refused


@pytest.mark.parametrize("heads", [10_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_what_is_accepted_is_understood_alike_by_another_parser(heads: int) -> None:
    chance, accepted = random.Random(heads), 0
    for _ in range(heads):
        block = mutated(chance.choice(SOUND), chance)
        head = head_of(block)
        if isinstance(head, Refused):
            assert head.answer.close
            assert 400 <= head.answer.status < 500
        elif head.length <= 1_000:
            accepted += 1
            request, size = understood(block, head.length)
            assert (request.method, size) == (head.method.encode(), head.length), block
            assert request.target.endswith(head.path.encode()) or head.path == "/", block
            assert list(request.headers) == head.fields, block
            assert (request.http_version == b"1.1") == head.new, block
    assert 0.1 < accepted / heads < 0.9


def test_sound_heads_are_read() -> None:
    heads = [read_head(block) for block in SOUND]
    assert [head.length for head in heads] == [0, 5, 0, 5, 0]
    assert [head.close for head in heads] == [False, False, True, True, False]
    assert [head.waits for head in heads] == [False, False, False, True, False]
    assert [head.path for head in heads] == ["/v1/plans?x=1", "/v1/answers", "/", "/a", "/a"]
    assert heads[1].fields[-1] == (b"x-odd", b"\xe9 y")
    assert heads[4].fields == [(b"host", b""), (b"x", b"1"), (b"x", b"2")]


def test_a_head_has_a_largest_size() -> None:
    short = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * (HEAD - 32) + b"\r\n\r\n"
    assert len(short) == HEAD
    assert read_head(short).headers["x"].startswith("y")
    with pytest.raises(Refused, match="at most 16384 bytes"):
        read_head(short.replace(b"yy", b"yyy", 1))
