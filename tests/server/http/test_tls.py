"""TLS: handshakes that stall or fail, and certificates that are renewed."""

from __future__ import annotations

import pickle
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from asgi_servers import AsgiServer, echo, everything, get, statuses, stream, wait_until, write_certificate
from cryptography.hazmat.primitives import serialization

from discreet.errors import ParameterError
from discreet.server.connections import Certificates, _certificates

Serve = Callable[..., AsgiServer]


def connect(server: AsgiServer) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context.wrap_socket(server.raw())


def shown(server: AsgiServer) -> bytes:
    """The certificate that a new connection is shown."""
    with connect(server) as line:
        return line.getpeercert(binary_form=True) or b""


def test_requests_inside_tls(serve: Serve, tmp_path: Path) -> None:
    server = serve(echo, Certificates(*write_certificate(tmp_path, "one")))
    with connect(server) as line:
        assert line.version() == "TLSv1.3"
        assert line.selected_alpn_protocol() == "http/1.1"
        line.sendall(get() + get("/", "Connection: close", method="POST", body=b"x" * 300_000))
        answers = everything(line)
    assert statuses(answers) == [200, 200]
    assert answers.count(b"'https'") == 2
    wait_until(lambda: not server.open)


def test_the_options_of_uvicorn_work_too(serve: Serve, tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path, "one")
    server = serve(stream, ssl_certfile=str(certificate), ssl_keyfile=str(key))
    with connect(server) as line:
        line.sendall(get("/", "Connection: close"))
        assert everything(line).endswith(b"5\r\nthree\r\n0\r\n\r\n")


def test_what_is_no_handshake_is_cut(serve: Serve, tmp_path: Path) -> None:
    server = serve(echo, Certificates(*write_certificate(tmp_path, "one")), seconds=1)
    assert statuses(server.exchange(get())) == []
    assert statuses(server.exchange(b"\x16\x03\x01\x02\x00\x01" + bytes(600))) == []
    slow = [server.raw() for _ in range(20)]
    for line in slow[::2]:
        line.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    began = time.monotonic()
    assert [everything(line) for line in slow] == [b""] * 20
    for line in slow:
        line.close()
    assert time.monotonic() - began < 10
    wait_until(lambda: not server.open)
    assert shown(server)


def test_handshakes_count_among_the_connections(serve: Serve, tmp_path: Path) -> None:
    server = serve(echo, Certificates(*write_certificate(tmp_path, "one")), seconds=3600, connections=5)
    slow = [server.raw() for _ in range(20)]
    assert shown(server)  # the one that has waited for longest made room
    gone = 0
    for line in slow:
        line.settimeout(0.2)
        with suppress(TimeoutError):
            gone += line.recv(1) == b""
        line.close()
    assert gone >= 15


def test_a_certificate_is_renewed_while_it_runs(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_certificates, "_CHECK_SECONDS", 0.05)
    lines: list[str] = []
    certificate, key = write_certificate(tmp_path, "one")
    certificates = Certificates(certificate, key, on_status=lines.append)
    server = serve(echo, certificates)
    first = shown(server)
    with connect(server) as old:
        old_key = key.read_bytes()
        write_certificate(tmp_path, "two")
        new_key = key.read_bytes()
        key.write_bytes(old_key)  # half of it is there
        time.sleep(0.1)
        assert shown(server) == first
        assert len(lines) == 1 and "the old one stays in use" in lines[0]
        key.write_bytes(new_key)
        time.sleep(0.1)
        second = shown(server)
        assert second != first
        assert lines[1:] == ["the TLS certificate was read again"]
        old.sendall(get("/", "Connection: close"))
        assert statuses(everything(old)) == [200]
    key.unlink()
    certificates.reload()
    assert shown(server) == second
    assert "No such file" in lines[-1]
    assert not any(str(tmp_path) in line for line in lines)


def test_files_that_are_no_pair_are_refused(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path, "one")
    copied = pickle.loads(pickle.dumps(Certificates(certificate, key)))
    assert copied.context.minimum_version is ssl.TLSVersion.TLSv1_2
    for wrong in (tmp_path / "none", certificate):
        with pytest.raises(ParameterError, match="no certificate with its unencrypted private key"):
            Certificates(certificate, wrong)
    with pytest.raises(ParameterError, match="is encrypted"):
        Certificates(*write_certificate(tmp_path, "two", serialization.BestAvailableEncryption(b"secret")))


def test_a_stop_ends_handshakes(serve: Serve, tmp_path: Path) -> None:
    server = serve(echo, Certificates(*write_certificate(tmp_path, "one")), seconds=3600)
    with server.raw() as line:
        wait_until(lambda: server.open)
        server.server.should_exit = True
        assert everything(line) == b""
    server.stop()
    line.close()
    assert isinstance(line, socket.socket)
