"""SCRAM-SHA-256 on the server's side: the vectors of its RFC, a client written apart, and what an attacker tries."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
from base64 import b64decode, b64encode

import pytest
from frontends import proved
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.ledger.crypto._scram import scram_verifier
from discreet.server.postgres.codec.frontend import ProtocolError
from discreet.server.postgres.codec.scram import PLAIN, PLUS, Verifier, challenge

SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
PENCIL = Verifier.parse(scram_verifier("pencil", SALT, 4096))
NONCE = rb"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
END_POINT = hashlib.sha256(b"certificate").digest()


def test_the_vectors_of_rfc_7677() -> None:
    asked = challenge(PLAIN, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", PENCIL, NONCE, None)
    assert asked.message == rb"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = (
        rb"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        rb"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert asked.finish(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("name", [b"", b"user", b"=2Cx"])
def test_the_name_in_the_message_is_not_read(name: bytes) -> None:
    bare = b"n=" + name + b",r=abc"
    asked = challenge(PLAIN, b"n,," + bare, PENCIL, NONCE, None)
    assert asked.finish(proved("pencil", asked.message, bare, b"n,,")) is not None


def test_a_bound_channel() -> None:
    bare, header = b"n=,r=abc", b"p=tls-server-end-point,,"
    asked = challenge(PLUS, header + bare, PENCIL, NONCE, END_POINT)
    assert asked.finish(proved("pencil", asked.message, bare, header, END_POINT)) is not None
    assert asked.finish(proved("pencil", asked.message, bare, header, bytes(32))) is None
    assert asked.finish(proved("pencil", asked.message, bare, b"n,,")) is None
    assert asked.finish(proved("pencil", asked.message, bare, header)) is None


def test_a_client_that_was_led_to_believe_that_no_channel_can_be_bound_is_refused() -> None:
    with pytest.raises(ProtocolError, match="believe otherwise"):
        challenge(PLAIN, b"y,,n=,r=abc", PENCIL, NONCE, END_POINT)
    asked = challenge(PLAIN, b"y,,n=,r=abc", PENCIL, NONCE, None)
    assert asked.finish(proved("pencil", asked.message, b"n=,r=abc", b"y,,")) is not None
    assert asked.finish(proved("pencil", asked.message, b"n=,r=abc", b"n,,")) is None


@pytest.mark.parametrize("password", ["Pencil", "", "pencil "])
def test_a_wrong_token_proves_nothing(password: str) -> None:
    asked = challenge(PLAIN, b"n,,n=,r=abc", PENCIL, NONCE, None)
    assert asked.finish(proved(password, asked.message, b"n=,r=abc", b"n,,")) is None


def test_a_proof_is_not_replayed() -> None:
    asked = challenge(PLAIN, b"n,,n=,r=abc", PENCIL, NONCE, None)
    final = proved("pencil", asked.message, b"n=,r=abc", b"n,,")
    again = challenge(PLAIN, b"n,,n=,r=abc", PENCIL, NONCE[::-1], None)
    assert asked.finish(final) is not None and again.finish(final) is None


def test_the_stored_key_alone_signs_nobody_in() -> None:
    """Whoever reads the ledger has the stored key, and needs the client's key."""
    asked = challenge(PLAIN, b"n,,n=,r=abc", PENCIL, NONCE, None)
    without = b"c=" + b64encode(b"n,,") + b",r=abc" + NONCE
    signature = hmac.digest(PENCIL.stored_key, b"n=,r=abc," + asked.message + b"," + without, "sha256")
    forged = bytes(a ^ b for a, b in zip(PENCIL.stored_key, signature, strict=True))
    assert asked.finish(without + b",p=" + b64encode(forged)) is None


@pytest.mark.parametrize(
    ("mechanism", "first", "end_point"),
    [
        ("SCRAM-SHA-1", b"n,,n=,r=abc", None),
        (PLUS, b"p=tls-server-end-point,,n=,r=abc", None),
        (PLUS, b"n,,n=,r=abc", END_POINT),
        (PLUS, b"y,,n=,r=abc", END_POINT),
        (PLUS, b"p=tls-unique,,n=,r=abc", END_POINT),
        (PLAIN, b"p=tls-server-end-point,,n=,r=abc", END_POINT),
        (PLAIN, b"n,a=eve,n=,r=abc", None),
        (PLAIN, b"n,,m=x,n=,r=abc", None),
        (PLAIN, b"n,,n=,r=", None),
        (PLAIN, b"n,,n=,r=a\x7f", None),
        (PLAIN, b"n,,n=,r=a b", None),
        (PLAIN, b"n,,r=abc,n=", None),
        (PLAIN, b"", None),
        (PLAIN, b"\xff" * 99, None),
    ],
)
def test_a_first_message_that_is_none_is_refused(mechanism: str, first: bytes, end_point: bytes | None) -> None:
    with pytest.raises(ProtocolError):
        challenge(mechanism, first, PENCIL, NONCE, end_point)


@pytest.mark.parametrize(
    "final", [b"", b"c=biws,r=x", b"c=biws,r=x,p=AAAA", b"c=!,r=x,p=" + b64encode(bytes(32)), b"p=,c=,r="]
)
def test_a_last_message_that_is_none_is_refused(final: bytes) -> None:
    with pytest.raises(ProtocolError):
        challenge(PLAIN, b"n,,n=,r=abc", PENCIL, NONCE, None).finish(final)


@given(st.sampled_from([PLAIN, PLUS]), st.binary(max_size=80), st.binary(max_size=120))
def test_any_bytes_are_refused_or_prove_nothing(mechanism: str, first: bytes, final: bytes) -> None:
    for data in (first, b"n,,n=,r=" + first, b"p=tls-server-end-point,,n=,r=" + first):
        with contextlib.suppress(ProtocolError):
            assert challenge(mechanism, data, PENCIL, NONCE, END_POINT).finish(final) is None


def test_the_verifier_of_nobody_looks_like_any_other() -> None:
    nobody, again, other = Verifier.mock(b"s", "eve"), Verifier.mock(b"s", "eve"), Verifier.mock(b"s", "mallory")
    assert nobody == again and nobody.salt != other.salt and nobody.salt != Verifier.mock(b"t", "eve").salt
    shapes = {
        len(challenge(PLAIN, b"n,,n=,r=abc", each, NONCE, None).message)
        for each in (nobody, other, Verifier.parse(scram_verifier("token", SALT)))
    }
    assert len(shapes) == 1


def test_a_verifier_is_read_as_it_is_written_and_shows_no_key() -> None:
    text = scram_verifier("pencil", SALT, 4096)
    read = Verifier.parse(text)
    assert (read.iterations, read.salt) == (4096, SALT)
    assert repr(read) == f"Verifier(iterations=4096, salt={SALT!r})"


@pytest.mark.parametrize(
    "text",
    [
        "", "md5abc", "SCRAM-SHA-256$4096:a$b:c", "SCRAM-SHA-256$0:W22Z$AAAA:AAAA",
        "SCRAM-SHA-256$4096:!!!!$" + "A" * 44 + ":" + "A" * 44,
    ],
)  # fmt: skip
def test_what_is_no_verifier_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Verifier.parse(text)
