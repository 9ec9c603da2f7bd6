"""Connections that send little, much, slowly or nonsense: they are gone soon, hold little, and harm nobody."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import frontends
import psycopg
import pytest
from frontends import Wire, error, kinds, query, rows
from fronts import COUNT, OFTEN, Front, terms
from test_codec import mutated

from discreet.server.postgres._channel import Channel
from discreet.server.postgres.codec.reader import MessageReader

SECONDS = 0.3


@pytest.fixture(scope="module")
def hasty() -> Iterator[Front]:
    """With short deadlines, and room for few."""
    running = Front(terms(insecure=True), limits=replace(OFTEN, connections=12, seconds=SECONDS)).start()
    yield running
    running.stop()
    assert running.status == []


def gone_after(connection: socket.socket) -> float:
    """Seconds until the server closes a connection."""
    started = time.monotonic()
    connection.settimeout(30)
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(4096):
            pass
    return time.monotonic() - started


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0\0", struct.pack("!i", 9_000) + b"\0\3\0\0user\0", frontends.SSL_REQUEST,
        frontends.startup(user="ada"), frontends.startup(user="ada") + b"p\0\0\0\x40SCRAM",
    ],
)  # fmt: skip
def test_a_sign_in_that_does_not_end_is_gone(hasty: Front, data: bytes) -> None:
    with socket.create_connection((hasty.host, hasty.port)) as connection:
        connection.sendall(data)
        assert gone_after(connection) < SECONDS + 1


def test_a_sign_in_a_byte_at_a_time_is_gone(hasty: Front) -> None:
    with socket.create_connection((hasty.host, hasty.port)) as connection:
        started = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for byte in frontends.startup(user="ada", application_name="x" * 500):
                connection.sendall(bytes([byte]))
                time.sleep(0.02)
        assert gone_after(connection) + time.monotonic() - started < SECONDS + 3


def test_a_message_that_does_not_end_is_gone_and_a_session_that_waits_stays(hasty: Front) -> None:
    with Wire(hasty.host, hasty.port) as wire:
        wire.sign_in(hasty.tokens["ada"], user="ada")
        time.sleep(SECONDS + 0.3)
        assert rows(wire.ask(query("SELECT 1"))) == [[b"1"]]
        wire.send(query("SELECT 1")[:-3])
        assert gone_after(wire.socket) < SECONDS + 1


def test_who_does_not_take_an_answer_is_cut(hasty: Front) -> None:
    """Asked again and again without being read, a session holds little of what is not taken, and ends."""
    with Wire(hasty.host, hasty.port, receive_buffer=4096) as wire:
        wire.sign_in(hasty.tokens["ada"], user="ada")
        (connection,) = (each for each in hasty.front._connections.values() if each.session is not None)
        wire.socket.settimeout(5)
        sizes: list[int] = []
        until = time.monotonic() + 15
        with contextlib.suppress(OSError):
            while connection.process in hasty.front._connections and time.monotonic() < until:
                wire.send(query("SHOW ALL") * 10)
                time.sleep(0.002)
                transport = connection.channel._transport
                sizes.append(0 if transport is None else transport.get_write_buffer_size())
        while connection.process in hasty.front._connections and time.monotonic() < until:
            time.sleep(0.02)
        assert connection.process not in hasty.front._connections
        assert 1 << 14 < max(sizes) < 1 << 18


def test_sessions_keep_their_place_and_sign_ins_make_room(hasty: Front) -> None:
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(Wire(hasty.host, hasty.port)) for _ in range(4)]
        for each, account in zip(sessions, ("ada", "bob", "ada", "bob"), strict=True):
            each.sign_in(hasty.tokens[account], user=account)
        waiting = [stack.enter_context(socket.create_connection((hasty.host, hasty.port))) for _ in range(30)]
        late = stack.enter_context(Wire(hasty.host, hasty.port))
        late.sign_in(hasty.tokens["poor"], user="poor")
        assert all(rows(each.ask(query("SELECT 2"))) == [[b"2"]] for each in (*sessions, late))
        assert gone_after(waiting[0]) < 1


def test_one_session_too_many_is_told_so(hasty: Front) -> None:
    with contextlib.ExitStack() as stack:
        time.sleep(0.1)  # for those of other tests to be gone
        for _ in range(12):
            stack.enter_context(Wire(hasty.host, hasty.port)).sign_in(hasty.tokens["ada"], user="ada")
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            psycopg.connect(hasty.dsn())


def test_many_slow_heads_leave_a_session_as_it_was(hasty: Front) -> None:
    with Wire(hasty.host, hasty.port) as wire, contextlib.ExitStack() as stack:
        wire.sign_in(hasty.tokens["ada"], user="ada")
        for _ in range(300):
            connection = stack.enter_context(socket.create_connection((hasty.host, hasty.port)))
            with contextlib.suppress(ConnectionError):
                connection.sendall(frontends.startup(user="ada")[:7])
        assert rows(wire.ask(query("SELECT 1"))) == [[b"1"]]


@pytest.mark.parametrize(
    "data",
    [
        query("x" * 70_000), frontends.framed(b"P", bytes(90_000)),
        b"Q" + struct.pack("!i", 2**31 - 1) + b"x" * 100_000, frontends.framed(b"d", b"x"), frontends.framed(b"F", b""),
        b"\xff" * 50,
    ],
    ids=["query", "parse", "claimed", "copy", "function", "noise"],
)  # fmt: skip
def test_a_session_that_breaks_the_protocol_hears_why(front: Front, data: bytes) -> None:
    with Wire(front.host, front.port) as wire:
        wire.sign_in(front.tokens["ada"], user="ada")
        wire.send(data)
        refused = error(seen := wire.until("E"))
        assert (refused["S"], refused["C"], kinds(seen)) == ("FATAL", "08P01", "E")


def test_the_longest_query_is_read(front: Front) -> None:
    with Wire(front.host, front.port) as wire:
        wire.sign_in(front.tokens["ada"], user="ada")
        longest = "SELECT 1 -- " + "x" * (65_536 - 12)
        assert rows(wire.ask(query(longest))) == [[b"1"]] or error(wire.ask(query(longest)))


def test_little_is_held_before_a_sign_in() -> None:
    """What waits to be read, the message that it belongs to, and TLS's own: together they are below 64 KiB."""
    reader = MessageReader()
    reader.feed(frontends.startup(user="ada"))
    reader.read()
    reader.feed(b"p" + struct.pack("!i", 16_384 + 4) + bytes(16_383))
    assert reader.read() is None and reader.held < 16_400

    class Transport:
        paused = 0

        def pause_reading(self) -> None:
            self.paused += 1

    async def main() -> None:
        channel = Channel(lambda _: None)
        transport: Any = Transport()
        channel._transport = transport
        size = len(channel.get_buffer(-1))
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        channel.buffer_updated(size)
        assert transport.paused == 1
        assert tracemalloc.get_traced_memory()[0] - before < 2 * size
        tracemalloc.stop()
        channel._transport = None
        record = 16_384 + 256
        assert 2 * size + 2 * record + 16_400 < 65_536

    import asyncio

    asyncio.run(main())


def run_malformed(front: Front, rounds: int, seed: int) -> None:
    """Malformed messages to sessions of a live front; each is answered, refused or cut, and others go on."""
    draw = random.Random(seed)
    with Wire(front.host, front.port) as calm:
        calm.sign_in(front.tokens["bob"], user="bob")
        sent = 0
        while sent < rounds:
            with Wire(front.host, front.port) as wire:
                if draw.random() < 0.8:
                    wire.sign_in(front.tokens["ada"], user="ada")
                wire.socket.settimeout(20)
                with contextlib.suppress(OSError):
                    for _ in range(draw.randrange(1, 12)):
                        wire.send(mutated(draw))
                        sent += 1
                    wire.socket.shutdown(socket.SHUT_WR)
                wire.until("never")
            if sent % 50 < 5:
                assert rows(calm.ask(query("SELECT 1"))) == [[b"1"]]
        assert rows(calm.ask(query("SELECT 1"))) == [[b"1"]]
    assert front.status == []


def test_malformed_messages_harm_nobody(front: Front) -> None:
    run_malformed(front, 600, 3)


@pytest.mark.soak
def test_a_hundred_thousand_malformed_messages_harm_nobody(front: Front) -> None:
    run_malformed(front, 100_000, 4)


@pytest.mark.soak
def test_a_thousand_slow_heads_are_gone_in_twenty_seconds() -> None:
    """With the limits as they come; sessions meanwhile answer at most twice as slowly at the 99th percentile."""
    front = Front(terms(insecure=True)).start()
    try:
        with Wire(front.host, front.port) as wire, contextlib.ExitStack() as stack:
            wire.sign_in(front.tokens["ada"], user="ada", options="-c discreet.epsilon=0.1")

            def slowest(times: int) -> float:
                taken: list[float] = []
                for _ in range(times):
                    started = time.perf_counter()
                    wire.ask(query(COUNT))
                    taken.append(time.perf_counter() - started)
                return sorted(taken)[int(0.99 * times)]

            slowest(50)
            alone = slowest(500)
            heads = [stack.enter_context(socket.create_connection((front.host, front.port))) for _ in range(1_000)]
            started = time.monotonic()
            for i, each in enumerate(heads):
                with contextlib.suppress(ConnectionError):
                    each.sendall(frontends.startup(user="ada")[: 7 + i % 10])
            beside = slowest(500)
            for each in heads:
                gone_after(each)
            assert time.monotonic() - started < 21
            assert beside < max(2 * alone, 0.01)
    finally:
        front.stop()


def test_a_client_that_is_gone_before_its_answer_leaves_it_stored(front: Front) -> None:
    text = "SELECT COUNT(*) AS n FROM visits WHERE cost < 4242"
    before = front.spent()
    with Wire(front.host, front.port) as wire:
        wire.sign_in(front.tokens["ada"], user="ada", options="-c discreet.epsilon=0.1")
        wire.send(query(text))
    until = time.monotonic() + 20
    while front.spent() == before and time.monotonic() < until:
        time.sleep(0.02)
    paid = front.spent()
    assert paid > before
    with psycopg.connect(front.dsn(options="-c discreet.epsilon=0.1"), autocommit=True) as connection:
        for _ in range(100):
            with contextlib.suppress(psycopg.Error):
                if connection.execute(text).fetchone():
                    break
    assert front.spent() == paid
