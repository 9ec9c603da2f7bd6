"""Clients that are slow by the hundred, and what others notice of them."""

from __future__ import annotations

import http.client
import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

SLOW = 1_000


@contextmanager
def process(*arguments: object) -> Iterator[Any]:
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, __file__, *map(str, arguments)], text=True, **pipes) as running:
        yield running


def run_server() -> None:
    from asgi_servers import AsgiServer, echo

    server = AsgiServer(echo, connections=2 * SLOW).start()
    print(server.port, flush=True)
    sys.stdin.read()
    server.stop()


def ask(port: int, seconds: float) -> None:
    """Print the seconds that one client waited for each of its answers."""
    line, measured = http.client.HTTPConnection("127.0.0.1", port), []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        line.request("GET", "/")
        line.getresponse().read()
        measured.append(time.perf_counter() - began)
    line.close()
    print(json.dumps(measured))


def is_ended(line: socket.socket) -> bool:
    """Whether the server ended it; sends one byte more of a head if not."""
    try:
        line.send(b"X", socket.MSG_DONTWAIT)
        line.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.soak
def test_a_thousand_slow_heads_are_gone_in_20_seconds() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * SLOW + 1_000), hard))
    with process("server") as server:
        port = int(server.stdout.readline())
        with process("ask", port, 15) as client:
            before = np.quantile(json.loads(client.stdout.read()), 0.99)
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(SLOW)]
        began = time.monotonic()
        took = 0.0
        for line in slow:
            line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        left = dict.fromkeys(slow)
        with process("ask", port, 15) as client:
            while left:
                for line in list(left):
                    if is_ended(line):
                        left.pop(line)
                        line.close()
                        took = time.monotonic() - began
                    time.sleep(3e-4)
            during = np.quantile(json.loads(client.stdout.read()), 0.99)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print(f"gone after {took:.1f} s; p99 {before * 1e3:.2f} ms before, {during * 1e3:.2f} ms during")
    assert took < 20 + 1  # as long as this test takes to ask each of them once
    assert during <= 2 * before


if __name__ == "__main__":
    run_server() if sys.argv[1] == "server" else ask(int(sys.argv[2]), float(sys.argv[3]))
