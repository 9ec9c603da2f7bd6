"""SCRAM-SHA-256 verifiers: what a server stores to let a client prove that it has a secret, without having it itself.

Source: RFC 5802, section 3, with SHA-256 as RFC 7677 has it, in the form that PostgreSQL stores.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

__all__ = ["ITERATIONS", "scram_verifier"]

ITERATIONS = 4096
"""As PostgreSQL has it. A token is 192 random bits, which no number of iterations need protect."""


def scram_verifier(secret: str, salt: bytes, iterations: int = ITERATIONS) -> str:
    """The verifier of an ASCII secret, ``SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey``.

    >>> scram_verifier("pencil", bytes(16)).split("$")[:2]
    ['SCRAM-SHA-256', '4096:AAAAAAAAAAAAAAAAAAAAAA==']
    """
    salted = hashlib.pbkdf2_hmac("sha256", secret.encode("ascii"), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    texts = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(iterations, *texts)
