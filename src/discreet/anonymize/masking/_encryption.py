"""Encryption that the holder of a key can undo: to any text (AES-SIV), and to a text of the same form (FF1)."""

from __future__ import annotations

import base64
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from discreet.anonymize.masking._mask import Mask, of_different_texts
from discreet.errors import MissingExtra, ParameterError

__all__ = ["Encrypt", "EncryptFormat"]

_SMALLEST_DOMAIN = 1_000_000


@dataclass(frozen=True)
class Encrypt(Mask):
    """Encrypts values, equal ones equally, so that tables can be joined; `decrypt` undoes it. AES-SIV, RFC 5297.

    How often a value occurs is seen, and may tell which it is.

    Attributes
    ----------
    key
        32, 48 or 64 secret bytes.
    purpose
        Another purpose encrypts otherwise.

    >>> import pyarrow as pa
    >>> hidden = Encrypt(bytes(range(32)), "study 7")
    >>> hidden.decrypt(hidden.apply(pa.chunked_array([["Ada", None]]))).to_pylist()
    ['Ada', None]
    """

    key: bytes = field(repr=False)
    purpose: str = ""

    def __post_init__(self) -> None:
        """Raises `ParameterError` for a key of another length."""
        if not isinstance(self.key, bytes) or len(self.key) not in (32, 48, 64):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(
                "the key of AES-SIV is 32, 48 or 64 secret bytes, as secrets.token_bytes(64) makes them"
            )

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`."""
        cipher = AESSIV(self.key)
        named = [self.purpose.encode()]

        def hidden(text: str) -> str:
            # AES-SIV takes no empty text: a byte stands before each.
            return base64.urlsafe_b64encode(cipher.encrypt(b"=" + text.encode(), named)).decode()

        return of_different_texts(column, hidden, pa.string())

    def decrypt(self, column: pa.Array | pa.ChunkedArray[Any]) -> pa.Array:
        """The texts that were encrypted. Raises `ParameterError` for others, another key or another purpose."""
        cipher = AESSIV(self.key)
        named = [self.purpose.encode()]

        def shown(text: str) -> str:
            with suppress(InvalidTag, ValueError):
                return cipher.decrypt(base64.urlsafe_b64decode(text), named)[1:].decode()
            raise ParameterError("a value was not encrypted with this key and purpose")

        chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        return of_different_texts(chunked, shown, pa.string())


@dataclass(frozen=True)
class EncryptFormat(Mask):
    """Encrypts texts to texts of the same length over the same alphabet: FF1 of NIST SP 800-38G. Needs `libffx`.

    FF3 is not offered: NIST withdrew it in 2025. A domain of fewer than a million texts is refused, for all of it
    can be tried out.

    Attributes
    ----------
    key
        16, 24 or 32 secret bytes.
    alphabet
        The characters that texts have.
    tweak
        Public bytes that make other ciphertexts.
    """

    key: bytes = field(repr=False)
    alphabet: str = "0123456789"
    tweak: bytes = b""

    def __post_init__(self) -> None:
        """Raises `ParameterError` for a key of another length and an alphabet that is none."""
        if not isinstance(self.key, bytes) or len(self.key) not in (16, 24, 32):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the key of FF1 is 16, 24 or 32 secret bytes, as secrets.token_bytes(32) makes them")
        if len(self.alphabet) < 2 or len(set(self.alphabet)) < len(self.alphabet):
            raise ParameterError("an alphabet has two different characters or more, each once")

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`. Raises `MissingExtra` without libffx."""
        return self._changed(column, "encrypt")

    def decrypt(self, column: pa.Array | pa.ChunkedArray[Any]) -> pa.Array:
        """The texts that were encrypted; another key gives other texts."""
        return self._changed(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), "decrypt")

    def _changed(self, column: pa.ChunkedArray[Any], method: str) -> pa.Array:
        try:
            from ffx import FF1  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise MissingExtra("Encryption that keeps a format needs libffx: pip install 'discreet[formats]'") from None
        cipher: Any = FF1(self.key, alphabet=self.alphabet)
        known = set(self.alphabet)

        def changed(text: str) -> str:
            if not set(text) <= known:
                raise ParameterError("a value has characters that are not in the alphabet: name them all")
            if len(self.alphabet) ** len(text) < _SMALLEST_DOMAIN:
                raise ParameterError(
                    f"there are fewer than {_SMALLEST_DOMAIN:,} texts as short as one of its values: use Pseudonym"
                )
            return str(getattr(cipher, method)(text, tweak=self.tweak))

        return of_different_texts(column, changed, pa.string())
