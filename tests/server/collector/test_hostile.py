"""Senders that lie, stall, flood and probe; and disks that are full."""

from __future__ import annotations

import asyncio
import gzip
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import create_autospec

import psutil
import pytest
from collectors import BINARY, GUARD, SCHEME, Collector, everything, key, request_for, saying, statuses, wait_until

from discreet import local
from discreet.server.collector import Limits
from discreet.server.collector._connection import Body, Connections
from discreet.server.collector._http import Answer, Request

BODY = bytes(saying(3, 5))


def test_pipelined_requests_are_answered_in_order(collector: Collector) -> None:
    before = collector.reports
    sent = b"".join([request_for(BODY) for _ in range(99)] + [request_for(BODY, "Connection: close")])
    assert statuses(collector.said_to(sent)) == [200] * 100
    assert collector.reports - before == 500


def test_a_half_closed_connection_gets_its_answer(collector: Collector) -> None:
    assert statuses(collector.said_to(request_for(BODY), end=True)) == [200]
    assert statuses(collector.said_to(request_for(BODY, length=len(BODY) + 5), end=True)) == []
    assert statuses(collector.said_to(b"POST /reports HTTP/1.1\r\nHos", end=True)) == []
    assert statuses(collector.said_to(b"", end=True)) == []


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request_for(BODY, "Transfer-Encoding: chunked", length=-1), 411),
        (request_for(BODY, "Transfer-Encoding: chunked"), 411),
        (request_for(BODY, "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked"), 400),
        (request_for(BODY, length=-1), 411),
        (request_for(BODY, "Content-Length: 5"), 400),
        (request_for(BODY, "Content-Length: +5", length=-1), 400),
        (request_for(BODY, "Content-Length: -5", length=-1), 400),
        (request_for(BODY, "Content-Length: 5, 5", length=-1), 400),
        (request_for(BODY, "Content-Length: " + "9" * 18, length=-1), 413),
        (request_for(BODY, "Content-Length: " + "9" * 400, length=-1), 400),
        (request_for(BODY, "Content-Length : 5", length=-1), 400),
        (request_for(BODY, " folded: line"), 400),
        (request_for(BODY, "Bad\x00: x"), 400),
        (request_for(BODY, "Bad: \x01"), 400),
        (request_for(BODY, "Bad: x\ny"), 400),
        (request_for(BODY, "Host: two"), 400),
        (request_for(BODY, "Content-Encoding: gzip"), 415),
        (request_for(BODY, line="POST /reports HTTP/2.0"), 400),
        (request_for(BODY, line="POST  /reports HTTP/1.1"), 400),
        (request_for(BODY, line="POST /reports"), 400),
        (request_for(BODY, line="post /reports HTTP/1.1"), 400),
        (request_for(BODY, line=f"POST /{'x' * 3000} HTTP/1.1"), 400),
        (request_for(BODY, *[f"X-{i}: y" for i in range(100)]), 431),
        (request_for(BODY, "X: " + "y" * 20_000), 431),
        (request_for(BODY, "X: " + "y" * 1_000_000), 431),
        (request_for(BODY, "X:" + " " * 15_000 + "\x01"), 400),
        (b"\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200) + b"\r\n\r\n", 400),
        (request_for(gzip.compress(bytes(10_000_000)), "Content-Encoding: gzip"), 415),
    ],
    ids=map(str, range(30)),
)  # fmt: skip
def test_unusual_requests_are_refused_and_the_connection_ends(strict: Collector, sent: bytes, status: int) -> None:
    assert statuses(strict.said_to(sent)) == [status]
    assert strict.reports == 0


def test_a_body_longer_than_it_says_is_no_second_batch(strict: Collector) -> None:
    answers = statuses(strict.said_to(request_for(BODY[:-1]) + b"\r\n\r\n"))
    assert answers == [400, 400]
    assert statuses(strict.said_to(request_for(BODY + BODY, length=len(BODY) - 1) + b"\r\n\r\n")) == [400, 400]
    assert strict.reports == 0


def test_a_sender_that_waits_is_told_to_go_on(collector: Collector) -> None:
    with collector.raw() as line:
        head = request_for(b"", "Expect: 100-continue", "Connection: close", length=len(BODY))
        line.sendall(head)
        assert line.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.sendall(BODY)
        assert statuses(everything(line)) == [200]
    with collector.raw() as line:
        line.sendall(request_for(b"", "Expect: 100-continue", length=1 << 40))
        assert statuses(everything(line)) == [413]


def test_who_is_slow_is_cut_and_others_are_not(strict: Collector) -> None:
    slow = [strict.raw() for _ in range(20)]
    for i, line in enumerate(slow):
        line.sendall(request_for(b"x", length=1000) if i % 2 else b"POST /reports HTTP/1.1\r\nHost: x\r\n")
    left = set(slow)
    while left:
        for line in list(left):
            try:
                line.sendall(b"x")
            except OSError:
                left.discard(line)
        assert strict.get("/healthz")[0] == 200
        time.sleep(0.1)
    for line in slow:
        line.close()


@pytest.mark.parametrize("broken", [False, True])
def test_who_does_not_read_is_cut(strict: Collector, broken: bool) -> None:
    process = psutil.Process(strict.process.pid)
    before = process.num_fds()
    with strict.raw() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(0.2)
        try:
            line.sendall(b"no request at all\r\n\r\n" if broken else b"")
            for _ in range(10_000):
                line.sendall(b"GET /scheme HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
        except OSError:
            pass  # there is no room for more, or it is cut
        wait_until(lambda: process.num_fds() <= before)
    assert strict.get("/healthz")[0] == 200


def test_who_sends_many_requests_at_once_does_not_keep_others_waiting() -> None:
    """Requests of several connections are answered in turn, however many have come on one."""
    answered: list[str] = []

    async def handler(request: Request, _: Body) -> Answer:
        answered.append(request.path)
        return Answer(200, {})

    async def talk() -> None:
        connections, lines = Connections(handler, Limits()), []
        for path, times in (("/many", 1000), ("/one", 1)):
            reader = asyncio.StreamReader()
            reader.feed_data(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * times)
            reader.feed_eof()
            lines.append(connections.talk(reader, create_autospec(asyncio.StreamWriter, instance=True)))
        await asyncio.gather(*lines)

    asyncio.run(talk())
    assert answered == ["/many", "/one", *["/many"] * 999]


def test_a_long_document_is_not_copied_for_each_who_asks(tmp_path: Path) -> None:
    scheme = local.KaryRandomizedResponse(domain=[f"{i:0100d}" for i in range(80_000)], epsilon=8)
    collector = Collector(tmp_path, scheme=scheme).start()
    process = psutil.Process(collector.process.pid)
    before = process.memory_info().rss
    lines = [socket.socket() for _ in range(20)]
    for line in lines:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(GUARD)
        line.connect(("127.0.0.1", collector.port))
        line.sendall(b"GET /scheme HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert all(line.recv(1) for line in lines)  # each answer has begun
    assert collector.get("/healthz")[0] == 200
    assert process.memory_info().rss - before < 40_000_000
    answer = collector.said_to(b"GET /scheme HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n" + scheme.to_json().encode())
    for line in lines:
        line.close()
    head = collector.said_to(b"HEAD /scheme HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
    assert f"Content-Length: {len(scheme.to_json())}\r\n".encode() in head
    assert head.endswith(b"\r\n\r\n")
    assert collector.stop() == ""


def test_more_than_can_be_held_is_told_to_come_again(start: Callable[..., Collector]) -> None:
    collector = start(body=1 << 16, held=1 << 16, seconds=3600)
    lines = [collector.raw() for _ in range(3)]
    for line in lines:
        line.sendall(request_for(bytes(15_000), length=20_000))
    wait_until(lambda: collector.post(bytes(saying(1, 15_000)))[0] == 503)
    status, _, headers = collector.post(bytes(saying(1, 15_000)))
    assert (status, headers["Retry-After"]) == (503, "1")
    for line in lines:
        line.close()
    wait_until(lambda: collector.post(bytes(saying(1, 15_000)))[0] == 200)


@pytest.mark.parametrize(("lines", "room"), [(300, 50), pytest.param(10_000, 1_000, marks=pytest.mark.soak)])
def test_a_flood_of_connections(start: Callable[..., Collector], lines: int, room: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, lines + 2_000), hard))
    collector = start(connections=room)
    flood: list[socket.socket] = []
    try:
        for i in range(lines):
            flood.append(collector.raw())
            if i % (lines // 10) == 0:
                assert collector.post(BODY)[0] == 200
        process = psutil.Process(collector.process.pid)
        assert process.num_fds() <= room + 256
        assert process.memory_info().rss < 1 << 28
        assert collector.post(BODY)[0] == 200
    finally:
        for line in flood:
            line.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert collector.stop() == ""
    assert collector.reports == 55


def test_where_all_connections_are_busy_others_are_told_so(start: Callable[..., Collector]) -> None:
    collector = start(connections=3, seconds=3600)
    busy = [collector.raw() for _ in range(3)]
    for line in busy:
        line.sendall(request_for(b"", "Expect: 100-continue", length=1000))
        assert statuses(line.recv(1 << 16)) == [100]
    assert collector.get("/healthz")[0] == 503
    for line in busy:
        line.close()
    wait_until(lambda: collector.get("/healthz")[0] == 200)


def test_told_to_stop_it_ends_what_has_begun(start: Callable[..., Collector]) -> None:
    collector = start()
    with collector.raw() as line, collector.raw() as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert statuses(idle.recv(1 << 16)) == [200]
        line.sendall(request_for(b"", "Expect: 100-continue", length=len(BODY)))
        assert statuses(line.recv(1 << 16)) == [100]
        line.sendall(BODY[:10])
        collector.process.send_signal(signal.SIGTERM)
        assert idle.recv(1) == b""
        line.sendall(BODY[10:])
        answer = everything(line)
    assert statuses(answer) == [200]
    assert b"Connection: close" in answer
    collector.process.wait()  # one that ends already would be killed by another signal
    assert collector.stop() == ""
    assert collector.reports == 5


def test_a_full_disk_loses_nothing(start: Callable[..., Collector]) -> None:
    collector = start(fold=10_000)
    told, name, big = 0, key(), bytes(saying(5, 5_000))
    assert collector.post(BODY, name)[0] == 200
    resource.prlimit(collector.process.pid, resource.RLIMIT_FSIZE, (1 << 18, resource.RLIM_INFINITY))
    for _ in range(200):
        again = key()
        status, answer, headers = collector.post(big, again)
        if status == 503:
            break
        told += answer["reports"]
    assert status == 503
    assert headers["Retry-After"] == "10"
    assert collector.get("/healthz")[0] == 503
    assert collector.post(BODY, name)[0] in (200, 503)
    resource.prlimit(collector.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_until(lambda: collector.get("/healthz")[0] == 200)  # it tries by itself
    assert collector.post(big, again)[1]["reports"] == 5_000
    said = collector.stop()
    assert "senders are asked to retry" in said
    assert "is written again" in said
    assert collector.reports == 5 + told + 5_000


def test_many_senders_at_once(collector: Collector) -> None:
    before, answers = collector.reports, []

    def send() -> None:
        line = collector.connect()
        for _ in range(30):
            line.request("POST", "/reports", BODY, {"Content-Type": BINARY, "Idempotency-Key": key()})
            answer = line.getresponse()
            answer.read()
            answers.append(answer.status)
        line.close()

    threads = [threading.Thread(target=send) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 600
    assert collector.reports - before == 3_000


def test_the_same_batch_at_once_is_counted_once(collector: Collector) -> None:
    before, name, told = collector.reports, key(), []
    threads = [threading.Thread(target=lambda: told.append(collector.post(BODY, name)[1])) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each["repeated"] for each in told) == [False] + [True] * 19
    assert collector.reports - before == len(saying(3, 5))
    assert collector.get("/scheme")[1] == SCHEME.to_json()
