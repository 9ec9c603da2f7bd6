"""Substitution: pseudonyms by a keyed hash, and made-up names that a keyed hash chooses."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from discreet.anonymize.masking._mask import Mask, check_key, of_different_texts
from discreet.errors import MissingExtra, ParameterError

__all__ = ["Fake", "Pseudonym"]

_LONGEST = 52


@dataclass(frozen=True)
class Pseudonym(Mask):
    """Gives every value a code: the same in all files with the same key and purpose, and not to be guessed without it.

    The code is the start of an HMAC-SHA-256, in base 32. Who has the key can try names.

    Attributes
    ----------
    key
        A secret of 16 bytes or more.
    purpose
        Codes of another purpose are others, so that tables of different purposes cannot be joined.
    length
        Characters of a code, 5 bits each: with n values two share a code with probability n²/2^(5·length + 1).

    >>> import pyarrow as pa
    >>> codes = Pseudonym(b"a secret of 16 b", "study 7").apply(pa.chunked_array([["Ada", "Bob", "Ada"]])).to_pylist()
    >>> codes[0] == codes[2] != codes[1], len(codes[0])
    (True, 16)
    """

    key: bytes = field(repr=False)
    purpose: str = ""
    length: int = 16

    def __post_init__(self) -> None:
        """Raises `ParameterError` for a key that can be guessed and a length out of its range."""
        check_key(self.key)
        if not 8 <= self.length <= _LONGEST:
            raise ParameterError(f"a code has 8 to {_LONGEST} characters, not {self.length!r}")

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`."""
        return of_different_texts(column, self._code, pa.string())

    def _code(self, text: str) -> str:
        return base64.b32encode(_hashed(self.key, self.purpose, text)).decode().rstrip("=")[: self.length]


def _hashed(key: bytes, purpose: str, text: str) -> bytes:
    named = purpose.encode()
    return hmac.new(key, len(named).to_bytes(8, "big") + named + text.encode(), hashlib.sha256).digest()


@dataclass(frozen=True)
class Fake(Mask):
    """Gives every value a made-up name, address or other, the same for the same value and key. Needs `faker`.

    Two values may be given the same one; nobody real is meant.

    Attributes
    ----------
    key
        A secret of 16 bytes or more.
    kind
        Which of faker's providers: ``"name"``, ``"street_address"``, ``"email"``, …
    locale
        Of which country.
    """

    key: bytes = field(repr=False)
    kind: str = "name"
    locale: str = "en_US"

    def __post_init__(self) -> None:
        """Raises `ParameterError` for a key that can be guessed."""
        check_key(self.key)

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`. Raises `MissingExtra` without faker."""
        try:
            from faker import Faker  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise MissingExtra("Made-up names need faker: pip install 'discreet[fakes]'") from None
        try:
            maker: Any = Faker(self.locale)
            provider = getattr(maker, self.kind)
        except (AttributeError, ImportError):
            raise ParameterError(f"faker has no {self.kind!r} for {self.locale}") from None

        def fake(text: str) -> str:
            maker.seed_instance(int.from_bytes(_hashed(self.key, self.kind, text), "big"))
            return str(provider())

        return of_different_texts(column, fake, pa.string())
