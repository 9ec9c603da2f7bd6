"""SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, as a server that holds a verifier and no password.

Sources: RFC 5802 and RFC 7677 (the exchange), RFC 5929 section 4 (tls-server-end-point), PostgreSQL manual, section
"SASL Authentication" and pg_authid (the form of a verifier).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from typing import Final

from discreet.errors import ParameterError
from discreet.server.postgres.codec.frontend import ProtocolError

__all__ = ["PLAIN", "PLUS", "Challenge", "Verifier", "challenge"]

PLAIN, PLUS = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_ITERATIONS: Final = 4_096
_SALT_BYTES: Final = 16
_VERIFIER = re.compile(r"SCRAM-SHA-256\$(\d{1,9}):([^$:]+)\$([^$:]+):([^$:]+)")
_FIRST = re.compile(rb"(n|y|p=[A-Za-z0-9.-]+),(a=[^,]*)?,(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]+)(?:,.*)?)", re.DOTALL)
_FINAL = re.compile(rb"(c=([^,]+),r=([^,]+)(?:,.*)?),p=([^,]+)", re.DOTALL)
_END_POINT = b"p=tls-server-end-point"


@dataclass(frozen=True, slots=True)
class Verifier:
    """What tells who knows a token, and does not tell the token."""

    iterations: int
    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """Read ``SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey``. Raises `ParameterError` for another text."""
        match = _VERIFIER.fullmatch(text)
        try:
            if match is None or int(match[1]) < 1:
                raise ValueError
            salt, stored, server = (b64decode(match[i], validate=True) for i in (2, 3, 4))
        except ValueError:
            raise ParameterError("a SCRAM verifier reads SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey") from None
        if len(stored) != 32 or len(server) != 32:
            raise ParameterError("the keys of a SCRAM verifier have 32 bytes each")
        return cls(int(match[1]), salt, stored, server)

    @classmethod
    def mock(cls, secret: bytes, name: str) -> Verifier:
        """A verifier of nobody's token, the same for a name each time, so that no name shows whether it is known."""
        salt, stored, server = (_hmac(secret, label + name.encode(errors="replace")) for label in (b"a", b"b", b"c"))
        return cls(_ITERATIONS, salt[:_SALT_BYTES], stored, server)


@dataclass(frozen=True, slots=True)
class Challenge:
    """The server's first message, and what it must remember to read the client's last one."""

    message: bytes
    verifier: Verifier = field(repr=False)
    first_bare: bytes = field(repr=False)
    nonce: bytes = field(repr=False)
    bound: bytes = field(repr=False)

    def finish(self, data: bytes) -> bytes | None:
        """The server's last message if the client knows the token, else None. Raises `ProtocolError` if malformed."""
        match = _FINAL.fullmatch(data)
        if match is None:
            raise ProtocolError("this is no last message of SCRAM")
        bound, proof = _base64(match[2]), _base64(match[4])
        if len(proof) != 32:
            raise ProtocolError("a proof of SCRAM-SHA-256 has 32 bytes")
        signed = b",".join((self.first_bare, self.message, match[1]))
        client_key = bytes(a ^ b for a, b in zip(proof, _hmac(self.verifier.stored_key, signed), strict=True))
        proved = hmac.compare_digest(hashlib.sha256(client_key).digest(), self.verifier.stored_key)
        same = hmac.compare_digest(bound, self.bound) and hmac.compare_digest(match[3], self.nonce)
        return b"v=" + b64encode(_hmac(self.verifier.server_key, signed)) if proved and same else None


def challenge(mechanism: str, data: bytes, verifier: Verifier, nonce: bytes, end_point: bytes | None) -> Challenge:
    """Answer the client's first message.

    `nonce` is unpredictable and printable, without commas; `end_point` is the hash of the certificate of this
    connection, or None where no channel can be bound. The name in the message is not read: libpq leaves it empty, and
    the startup packet has it. Raises `ProtocolError` for a malformed message, for a mechanism that was not offered, and
    for a client that could bind the channel and believes that the server cannot: somebody between took
    the offer away.
    """
    if mechanism not in ((PLAIN,) if end_point is None else (PLUS, PLAIN)):
        raise ProtocolError("this mechanism of SASL was not offered")
    match = _FIRST.fullmatch(data)
    if match is None:
        raise ProtocolError("this is no first message of SCRAM")
    flag = match[1]
    if match[2] is not None:
        raise ProtocolError("nobody signs in for somebody else here")
    if (mechanism == PLUS) != flag.startswith(b"p=") or (mechanism == PLUS and flag != _END_POINT):
        raise ProtocolError(f"{PLUS} binds tls-server-end-point, and {PLAIN} binds nothing")
    if flag == b"y" and end_point is not None:
        raise ProtocolError(f"{PLUS} is offered, and this client was led to believe otherwise")
    bound = data[: match.start(3)] + (end_point or b"" if mechanism == PLUS else b"")
    both = match[4] + nonce
    message = b"r=%s,s=%s,i=%d" % (both, b64encode(verifier.salt), verifier.iterations)
    return Challenge(message, verifier, match[3], both, bound)


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _base64(text: bytes) -> bytes:
    try:
        return b64decode(text, validate=True)
    except Base64Error:
        raise ProtocolError("a field of SCRAM is not in base64") from None
