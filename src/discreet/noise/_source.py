"""Secure random bits: a fresh AES-256-CTR stream for every call, keyed by the operating system."""

from __future__ import annotations

import os
from typing import Protocol

__all__ = ["BitSource", "RememberedBits", "SecureBits"]

_KEY_BYTES, _NONCE_BYTES = 32, 16


class BitSource(Protocol):
    """Where a sampler takes its bits from. Tests have a seeded one; `src/` has only `SecureBits`."""

    def take(self, nbytes: int) -> bytes:
        """The next `nbytes` bytes of independent uniform bits."""
        ...


class SecureBits:
    """A stream that lives for one call, so that threads, forked processes and restored snapshots share none.

    A process forked in the middle of a call notices at its next `take` and keys itself anew.
    Source: NIST SP 800-38A (CTR mode) keyed by `os.urandom`.
    """

    __slots__ = ("_pid", "_stream")

    def __init__(self) -> None:
        self._key()

    def _key(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        self._pid = os.getpid()
        self._stream = Cipher(AES256(os.urandom(_KEY_BYTES)), CTR(os.urandom(_NONCE_BYTES))).encryptor()

    def take(self, nbytes: int) -> bytes:
        """The next `nbytes` bytes of the stream."""
        if os.getpid() != self._pid:
            self._key()
        return self._stream.update(bytes(nbytes))


class RememberedBits:
    """The stream of a key of 32 bytes: the same bits each time. The key comes from a client's secret, never from us."""

    __slots__ = ("_stream",)

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        self._stream = Cipher(AES256(key), CTR(bytes(_NONCE_BYTES))).encryptor()

    def take(self, nbytes: int) -> bytes:
        """The next `nbytes` bytes of the stream."""
        return self._stream.update(bytes(nbytes))
