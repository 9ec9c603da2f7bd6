"""Collectors to send to, each a process with a store of its own, and what is sent to them."""

from __future__ import annotations

import http.client
import json
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet import local
from discreet.server.collector import read_store

RUN = Path(__file__).with_name("run_collector.py")
SCHEME = local.KaryRandomizedResponse(domain=50_000, epsilon=8)
"""A report is two bytes, and the count of a value is how many reports say it: exact to check."""
BINARY = "application/octet-stream"
GUARD = 600.0
"""The seconds after which a wait counts as a hang."""


def saying(value: int, times: int = 1) -> local.Reports:
    """Reports that all say one value."""
    return local.Reports(SCHEME.fingerprint, SCHEME.layout.pack(np.full(times, value, dtype=np.int64)))


def key() -> str:
    return secrets.token_hex(16)


def wait_until(condition: Callable[[], bool], pause: float = 0.05) -> None:
    """Wait for what takes as long as the machine is busy; what never comes is ended by the guard of the test."""
    while not condition():
        time.sleep(pause)


@dataclass
class Collector:
    """A running collector."""

    home: Path
    limits: dict[str, int] = field(default_factory=dict)
    fold: int = 1 << 22
    scheme: local.Scheme[Any] = SCHEME
    process: Any = None
    port: int = 0
    said: str = ""
    stack: str = "collector"

    def start(self) -> Collector:
        command = [sys.executable, str(RUN), self.stack, str(self.home), json.dumps(self.limits), str(self.fold)]
        kept = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(command, text=True, **kept)
        self.process.stdin.write(self.scheme.to_json())
        self.process.stdin.close()
        self.process.stdin = None
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)/reports", line)
        assert found, line + self.process.stdout.read()
        self.port = int(found[1])
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self) -> str:
        """End it as an operator does; what it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.said, _ = self.process.communicate()
        assert self.process.returncode == 0, self.said
        return self.said

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD)

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=GUARD)

    def post(
        self, body: bytes, name: str | None = None, kind: str = BINARY, **headers: str
    ) -> tuple[int, dict[str, Any], Any]:
        """Status, answer and headers."""
        line = self.connect()
        named = {label.replace("_", "-"): value for label, value in headers.items()}
        line.request("POST", "/reports", body, {"Content-Type": kind, "Idempotency-Key": name or key(), **named})
        answer = line.getresponse()
        content = json.loads(answer.read())
        line.close()
        return answer.status, content, answer.headers

    def get(self, path: str) -> tuple[int, str]:
        line = self.connect()
        line.request("GET", path)
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        return answer.status, text

    def said_to(self, sent: bytes, *, end: bool = False) -> bytes:
        """All that comes back, to the end, for these bytes."""
        with self.raw() as line:
            line.sendall(sent)
            if end:
                line.shutdown(socket.SHUT_WR)
            return everything(line)

    @property
    def counts(self) -> np.ndarray:
        return read_store(self.home).counts

    @property
    def reports(self) -> int:
        return read_store(self.home).reports


def everything(line: socket.socket) -> bytes:
    found = b""
    try:
        while part := line.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


def request_for(body: bytes, *more: str, length: int | None = None, line: str = "POST /reports HTTP/1.1") -> bytes:
    head = [line, "Host: here", f"Content-Type: {BINARY}", f"Idempotency-Key: {key()}", *more]
    if length is None:
        length = len(body)
    if length >= 0:
        head.append(f"Content-Length: {length}")
    return "\r\n".join([*head, "", ""]).encode() + body


def statuses(answers: bytes) -> list[int]:
    """Those of all answers on a connection."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]
