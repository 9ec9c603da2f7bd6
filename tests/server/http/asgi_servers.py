"""Servers in a thread, small applications for them, and certificates of a throw-away authority."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreet.server.connections import Certificates, ConnectionLimits
from discreet.server.http._protocol import StrictHttp
from discreet.server.http._server import HttpServer, configure

GUARD = 60.0


class AsgiServer:
    """A running server. Options of uvicorn and limits are told apart by their names."""

    def __init__(self, application: Any, certificates: Certificates | None = None, **more: Any) -> None:
        limits = {name: more.pop(name) for name in ("body", "held", "connections", "seconds") if name in more}
        http = StrictHttp(ConnectionLimits(**limits), certificates)
        self.server = HttpServer(configure(application, http, port=0, **{"lifespan": "off", **more}))
        self.thread = threading.Thread(target=self.server.run)
        self.port = 0

    def start(self) -> AsgiServer:
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        return self

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(GUARD)
        assert not self.thread.is_alive()

    @property
    def open(self) -> int:
        return len(self.server.server_state.connections)

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=GUARD)

    def exchange(self, sent: bytes, *, end: bool = False) -> bytes:
        """All that comes back, to the end, for these bytes."""
        with self.raw() as line:
            line.sendall(sent)
            if end:
                line.shutdown(socket.SHUT_WR)
            return everything(line)


def everything(line: socket.socket) -> bytes:
    received = b""
    try:
        while part := line.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    return received


def get(path: str = "/", *more: str, method: str = "GET", version: str = "1.1", body: bytes = b"") -> bytes:
    lines = [
        f"{method} {path} HTTP/{version}",
        "Host: here",
        *more,
        *([f"Content-Length: {len(body)}"] if body else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def statuses(answers: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]


def wait_until(condition: Any, seconds: float = GUARD) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


async def respond(send: Any, body: bytes, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    sized = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [sized, *headers]})
    await send({"type": "http.response.body", "body": body})


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it was given, in JSON."""
    message = await receive()
    shown = {name: repr(scope[name]) for name in sorted(scope) if name != "state"}
    await respond(send, json.dumps({**shown, "message": repr(message)}).encode())


async def stream(_scope: Any, _receive: Any, send: Any) -> None:
    """Answers in three parts, with pauses."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    for part in (b"one,", b"two,", b""):
        await send({"type": "http.response.body", "body": part, "more_body": True})
        await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": b"three"})


def write_certificate(
    folder: Path, name: str, encryption: serialization.KeySerializationEncryption | None = None
) -> tuple[Path, Path]:
    """A certificate that signs itself, for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = builder.sign(key, hashes.SHA256())
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption or serialization.NoEncryption()
        )
    )
    return certificate, private
