"""Encryption at rest: releases and the key that signs are unreadable without the ledger's own key.

Each account's releases have a key of their own, HKDF-SHA256 of the ledger's 32 bytes. A sealed value is a nonce of 96
random bits and AES-256-GCM of the rest, bound to what it belongs to. What the chain hashes is the sealed value: it can
be checked without the key. Not sealed are the entries themselves: who spent how much on which plan, and when.
"""

from __future__ import annotations

from discreet.errors import LedgerError, ParameterError

__all__ = ["Seal"]

_NONCE = 12


class Seal:
    """Seals and opens values of one ledger; without a key it leaves them as they are."""

    def __init__(self, key: bytes | None) -> None:
        if key is not None and (not isinstance(key, bytes) or len(key) != 32):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the key of a ledger is 32 bytes; make one with secrets.token_bytes(32)")
        self._key = key

    def check(self) -> str | None:
        """What a ledger keeps to know its key again; it tells nothing of the key. None without a key."""
        return None if self._key is None else self._derived("check").hex()

    def closed(self, account: str, context: str, *values: bytes) -> bytes:
        """The values, one after the other, as they are stored for an account, bound to `context`.

        They may be large: at most two more of all of them are held at a time.
        """
        if self._key is None:
            return values[0] if len(values) == 1 else b"".join(values)
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import GCM

        from discreet import noise

        nonce = noise.secret(_NONCE)
        cipher = Cipher(AES(self._derived(f"account {account}")), GCM(nonce)).encryptor()
        cipher.authenticate_additional_data(context.encode())
        parts = [nonce, *map(cipher.update, values), cipher.finalize()]
        return b"".join([*parts, cipher.tag])

    def opened(self, account: str, context: str, value: bytes) -> bytes:
        """The inverse of `closed`; raises `LedgerError` if the value is not what was sealed there."""
        if self._key is None:
            return value
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        cipher, sealed = AESGCM(self._derived(f"account {account}")), memoryview(value)
        try:
            return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], context.encode())
        except (InvalidTag, ValueError):
            raise LedgerError(
                "something sealed does not open with the ledger's key: it was changed, or belongs elsewhere; restore a "
                "copy of the ledger"
            ) from None

    def _derived(self, purpose: str) -> bytes:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        assert self._key is not None
        return HKDF(SHA256(), 32, None, f"discreet ledger 1 {purpose}".encode()).derive(self._key)
