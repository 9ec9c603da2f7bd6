"""How a session starts: TLS, SCRAM, tokens, versions; and that a refusal tells nothing."""

from __future__ import annotations

import contextlib
import secrets
import socket
import ssl
import struct
import time
from pathlib import Path

import frontends
import psycopg
import pytest
from frontends import Wire
from fronts import Front, certificate, encryption, terms

from discreet.errors import ParameterError
from discreet.privacy import pure
from discreet.server.connections import Certificates
from discreet.server.postgres import ALPN, Encryption, encrypting, end_point_of


def connect(front: Front, account: str = "ada", **more: str) -> psycopg.Connection:
    return psycopg.connect(front.dsn(account, **more), autocommit=True)


def refusal(front: Front, account: str = "ada", **more: str) -> str:
    with pytest.raises(psycopg.OperationalError) as error:
        connect(front, account, **more).close()
    return str(error.value).split("FATAL:")[-1].strip()


@pytest.mark.parametrize("binding", ["require", "prefer", "disable"])
def test_tls_with_and_without_a_bound_channel(secure: Front, certificates: tuple[Path, Path], binding: str) -> None:
    options = {"sslmode": "verify-full", "sslrootcert": str(certificates[0]), "channel_binding": binding}
    with connect(secure, host="localhost", **options) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("SELECT session_user").fetchone() == ("ada",)


def test_a_channel_cannot_be_bound_without_the_certificate_that_is_served(tmp_path: Path) -> None:
    """Whoever stands between with a certificate of its own has another hash than the client."""
    served, other = tmp_path / "served", tmp_path / "other"
    served.mkdir(), other.mkdir()
    end_point = end_point_of(certificate(other)[0].read_bytes())
    false = Encryption(encryption(certificate(served))().context, end_point)
    front = Front(terms(encryption=lambda: false)).start()
    try:
        assert "sign-in failed" in refusal(front, sslmode="require", channel_binding="require")
        with connect(front, sslmode="require", channel_binding="disable") as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        front.stop()


def test_without_tls_nobody_signs_in(secure: Front) -> None:
    assert refusal(secure, sslmode="disable").startswith("sessions here are encrypted")


def test_a_client_that_insists_on_tls_goes_without_it(front: Front) -> None:
    with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
        connect(front, sslmode="require")


def test_the_token_itself_inside_tls(certificates: tuple[Path, Path]) -> None:
    front = Front(terms(encryption=encryption(certificates), insecure=True, clear_text=True)).start()
    try:
        with connect(front, sslmode="require") as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        password = secrets.token_hex(24)
        wrong = [refusal(front, account, sslmode="require", password=password) for account in ("ada", "eve")]
        assert wrong[0] == wrong[1]
        assert refusal(front, sslmode="disable").startswith("tokens are sent inside TLS alone")
    finally:
        front.stop()


def test_every_refusal_of_a_sign_in_is_the_same(secure: Front) -> None:
    secure.tokens["gone"] = secure.ledger.grant("gone", pure(1)) or ""
    secure.ledger.revoke("gone")
    wrong = secrets.token_hex(24)
    messages = {
        refusal(secure, account, sslmode="require", password=password)
        for account, password in (
            ("ada", wrong), ("eve", wrong), ("gone", secure.tokens["gone"]), ("ada", secure.tokens["bob"]),
("x" * 300, wrong), ("ada'; --", wrong), ("owner", wrong), ("poor", secure.tokens["ada"]),
        )
    }  # fmt: skip
    assert len(messages) == 1
    assert "sign-in failed" in messages.pop()


def test_the_defaults_of_an_account_tell_no_name() -> None:
    front = Front(terms(insecure=True, defaults={"ada": {"discreet.epsilon": "lots"}, "bob": {"discreet.rho": "0.5"}}))
    front.start()
    try:
        assert exchange(front, "ada") == exchange(front, "eve")
        with connect(front, "bob") as connection:
            assert connection.execute("SHOW discreet.rho").fetchone() == ("0.5",)
    finally:
        front.stop()


def exchange(front: Front, account: str) -> list[tuple[str, int]]:
    """The shape of an exchange with a wrong token."""
    with Wire(front.host, front.port) as wire:
        wire.send(frontends.startup(user=account, database="visits"))
        seen = wire.until("R")
        first = b"n=,r=abcdef"
        wire.send(frontends.secret(b"SCRAM-SHA-256\0" + struct.pack("!i", len(first) + 3) + b"n,," + first))
        seen += wire.until("R")
        wire.send(frontends.secret(frontends.proved("wrong", seen[-1][1][4:], first, b"n,,")))
        seen += wire.until("E")
    return [(kind, len(body)) for kind, body in seen]


def test_an_unknown_account_is_asked_what_a_known_one_is(front: Front) -> None:
    assert exchange(front, "ada") == exchange(front, "eve") == exchange(front, "bob") == exchange(front, "")


def test_an_unknown_account_has_the_same_salt_each_time(front: Front) -> None:
    def salt(account: str) -> bytes:
        with Wire(front.host, front.port) as wire:
            wire.send(frontends.startup(user=account))
            wire.until("R")
            wire.send(frontends.secret(b"SCRAM-SHA-256\0" + struct.pack("!i", 9) + b"n,,n=,r=a"))
            return wire.until("R")[-1][1].split(b",s=")[1]

    assert salt("eve") == salt("eve") != salt("mallory")
    assert salt("ada") == salt("ada") != salt("bob")


def test_unknown_accounts_take_as_long_as_known_ones(front: Front) -> None:
    times: dict[str, list[float]] = {"ada": [], "eve": []}
    for _ in range(15):
        for account, taken in times.items():
            started = time.perf_counter()
            exchange(front, account)
            taken.append(time.perf_counter() - started)
    known, unknown = (sorted(taken)[len(taken) // 4] for taken in times.values())
    assert 1 / 3 < known / unknown < 3


@pytest.mark.parametrize(
    ("minor", "more", "negotiated", "key_bytes"),
    [(0, {}, None, 4), (2, {}, None, 32), (9, {}, struct.pack("!ii", 3 << 16 | 2, 0), 32),
     (0, {"_pq_.compression": "on"}, struct.pack("!ii", 3 << 16, 1) + b"_pq_.compression\0", 4)],
)  # fmt: skip
def test_versions_of_the_protocol(
    front: Front, minor: int, more: dict[str, str], negotiated: bytes | None, key_bytes: int
) -> None:
    with Wire(front.host, front.port) as wire:
        seen = wire.sign_in(front.tokens["ada"], minor, user="ada", **more)
        assert next((body for kind, body in seen if kind == "v"), None) == negotiated
        assert [len(body) - 4 for kind, body in seen if kind == "K"] == [key_bytes]
        assert frontends.rows(wire.ask(frontends.query("SELECT 1"))) == [[b"1"]]


@pytest.mark.skipif(psycopg.pq.version() < 180000, reason="libpq 18 has the parameter; the messages are tested above")
def test_libpq_asks_for_the_newest_protocol(front: Front) -> None:
    with connect(front, max_protocol_version="latest") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("more", "sqlstate"),
    [
        ({"nothing": "1"}, "42704"), ({"options": "-c nothing=1"}, "42704"), ({"options": "-x"}, "42601"),
        ({"replication": "true"}, "0A000"), ({"client_encoding": "LATIN1"}, "22023"),
        ({"options": "-c discreet.epsilon=-1"}, "22023"),
    ],
)  # fmt: skip
def test_a_start_that_is_refused(front: Front, more: dict[str, str], sqlstate: str) -> None:
    with Wire(front.host, front.port) as wire:
        wire.send(frontends.startup(user="ada", **more))
        assert (frontends.error(seen := wire.until("E"))["C"], frontends.kinds(seen)) == (sqlstate, "E")


def test_options_set_settings(front: Front) -> None:
    options = r"-c discreet.rho=0.01 --discreet.delta=1e-6 -c application_name=a\ b"
    with connect(front, options=options) as connection:
        assert connection.execute("SHOW discreet.rho").fetchone() == ("0.01",)
        assert connection.info.parameter_status("application_name") == "a b"
        connection.execute("SET discreet.rho = 1; RESET ALL")
        assert connection.execute("SHOW discreet.rho").fetchone() == ("0.01",)


def test_bytes_that_came_before_tls_are_refused(secure: Front) -> None:
    """What somebody between puts in the clear behind the request would be taken for the client's own."""
    with Wire(secure.host, secure.port) as wire:
        wire.send(frontends.SSL_REQUEST, frontends.startup(user="ada"))
        seen = wire.until("E")
    assert frontends.error(seen)["C"] == "08P01"


def test_what_is_no_tls_ends_the_connection(secure: Front) -> None:
    with socket.create_connection((secure.host, secure.port), timeout=20) as plain:
        plain.sendall(frontends.SSL_REQUEST)
        assert plain.recv(1) == b"S"
        plain.sendall(frontends.startup(user="ada"))
        with contextlib.suppress(ConnectionResetError):
            assert plain.recv(100)[:1] in (b"", b"\x15")


def test_gss_is_declined_and_tls_agreed_on(secure: Front, certificates: tuple[Path, Path]) -> None:
    with socket.create_connection((secure.host, secure.port), timeout=20) as plain:
        plain.sendall(frontends.GSS_REQUEST)
        assert plain.recv(1) == b"N"
        plain.sendall(frontends.SSL_REQUEST)
        assert plain.recv(1) == b"S"
        context = ssl.create_default_context(cafile=certificates[0])
        with context.wrap_socket(plain, server_hostname="localhost") as encrypted:
            encrypted.sendall(frontends.startup(user="ada"))
            offered = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"
            assert encrypted.recv(100) == frontends.framed(b"R", struct.pack("!i", 10) + offered)


def test_an_account_keeps_its_name(front: Front) -> None:
    with connect(front) as connection:
        for text in ("SET ROLE bob", "SET SESSION AUTHORIZATION bob"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(text)


def test_the_hash_of_a_certificate_is_by_its_own_signature(tmp_path: Path) -> None:
    assert len(end_point_of(certificate(tmp_path)[0].read_bytes())) == 32
    with pytest.raises(ParameterError):
        end_point_of(b"no certificate")


def test_a_renewed_certificate_is_bound(tmp_path: Path) -> None:
    paths = certificate(tmp_path)
    certificates = Certificates(*paths, protocols=(ALPN,))
    now = encrypting(certificates, paths[0])
    first = now()
    assert now() is first
    certificate(tmp_path)
    certificates.reload()
    second = now()
    assert second.context is not first.context
    assert second.end_point == end_point_of(paths[0].read_bytes()) != first.end_point
