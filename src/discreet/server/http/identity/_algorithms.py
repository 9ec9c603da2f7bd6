"""Signatures that tokens may have, and the public keys that fit each: never ``none``, never a shared secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import MissingExtra

try:
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError
except ImportError:
    raise MissingExtra("Tokens of an identity provider need PyJWT: pip install 'discreet[server]'") from None

__all__ = ["Algorithm", "PublicKey", "PublicKeys", "public_keys"]

Algorithm = Literal["RS256", "PS256", "ES256", "EdDSA"]
"""RFC 7518, 3.1, and RFC 8037, 3.1."""

_FITTING: Mapping[tuple[str, str | None], tuple[Algorithm, ...]] = {
    ("RSA", None): ("RS256", "PS256"),
    ("EC", "P-256"): ("ES256",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
_LEAST_RSA_BITS, _MOST_RSA_BITS = 2048, 8192
_MOST_KEYS = 100
_PRIVATE = frozenset({"d", "k", "p", "q"})


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key of the provider's, and the algorithms that it may verify."""

    id: str | None
    by_algorithm: Mapping[Algorithm, PyJWK]


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """The keys of a provider."""

    keys: Sequence[PublicKey] = ()

    def choose(self, key_id: object, algorithm: object) -> PyJWK | None:
        """The key of a token's header, which must fit the algorithm there; None if there is none.

        A token without a `kid` has the only key that fits (OpenID Connect Core 1.0, 10.1).
        """
        named = self._named(key_id)
        fitting = [verifier for key in named for each, verifier in key.by_algorithm.items() if each == algorithm]
        return fitting[0] if len(fitting) == 1 else None

    def has(self, key_id: object) -> bool:
        """Whether a key of this name is there."""
        return bool(self._named(key_id))

    def _named(self, key_id: object) -> list[PublicKey]:
        return [key for key in self.keys if key_id is None or (isinstance(key_id, str) and key.id == key_id)]


def public_keys(document: Mapping[str, Any]) -> PublicKeys:
    """The keys of a JWK Set (RFC 7517, 5) that can verify signatures here; others in it are left out.

    A key is left out if it has private or symmetric parts, is meant for something else, or has too few bits; so are
    both of two with one name, for neither can be chosen.
    """
    members = document.get("keys")
    if not isinstance(members, list):
        return PublicKeys()
    keys = [key for member in members[:_MOST_KEYS] if (key := _public_key(member)) is not None]
    return PublicKeys(tuple(keys))


def _public_key(member: object) -> PublicKey | None:
    if not isinstance(member, dict) or not _PRIVATE.isdisjoint(member):
        return None
    key_id, operations = member.get("kid"), member.get("key_ops")
    if member.get("use", "sig") != "sig" or not (key_id is None or isinstance(key_id, str)):
        return None
    if operations is not None and not (isinstance(operations, list) and "verify" in operations):
        return None
    kind, curve = member.get("kty"), member.get("crv")
    if not isinstance(kind, str) or not (curve is None or isinstance(curve, str)):
        return None
    fitting: tuple[Algorithm, ...] = _FITTING.get((kind, None if kind == "RSA" else curve), ())
    only = member.get("alg")
    try:
        verifiers: dict[Algorithm, PyJWK] = {each: PyJWK(member, each) for each in fitting if only in (None, each)}
    except (PyJWTError, ValueError, TypeError):
        return None
    if kind == "RSA" and not all(_LEAST_RSA_BITS <= key.key.key_size <= _MOST_RSA_BITS for key in verifiers.values()):
        return None
    return PublicKey(key_id, verifiers) if verifiers else None
