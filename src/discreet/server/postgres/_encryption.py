"""TLS of a connection, with what a client may bind its channel to."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from discreet.errors import ParameterError
from discreet.server.connections import Certificates

__all__ = ["ALPN", "Encryption", "encrypting", "end_point_of"]

ALPN: Final = "postgresql"
"""The name of the protocol in TLS. Source: IANA's list of ALPN protocol identifiers."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """TLS of one connection: its context, and the hash of its certificate, which a client may bind the channel to."""

    context: ssl.SSLContext
    end_point: bytes | None = None


def encrypting(certificates: Certificates, certificate: Path) -> Callable[[], Encryption]:
    """What gives the TLS of a connection that begins now, by certificates that are read again when they change.

    `certificate` is their PEM file. Where no channel can be bound to a certificate, SCRAM goes without.
    """
    current: list[Encryption] = []

    def now() -> Encryption:
        context = certificates.context
        if not current or current[0].context is not context:
            try:
                end_point = end_point_of(certificate.read_bytes())
            except (OSError, ParameterError):
                end_point = None
            current[:] = [Encryption(context, end_point)]
        return current[0]

    return now


def end_point_of(certificate: bytes) -> bytes:
    """The hash of a certificate in PEM that SCRAM-SHA-256-PLUS binds: tls-server-end-point of RFC 5929, section 4.1.

    Raises `ParameterError` for what is no certificate, or signed by a scheme without a hash of its own.
    """
    try:
        read = x509.load_pem_x509_certificate(certificate)
    except ValueError:
        raise ParameterError("this is no certificate in PEM") from None
    signed = read.signature_hash_algorithm
    if signed is None:
        raise ParameterError("no channel can be bound to this certificate: take one that is signed with RSA or ECDSA")
    name = "sha256" if signed.name in ("md5", "sha1") else signed.name
    return hashlib.new(name, read.public_bytes(Encoding.DER)).digest()
