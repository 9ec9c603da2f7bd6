"""JSON Web Tokens of an identity provider: a signature by its key, for this server, and now (RFC 7519, RFC 8725)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jwt
from jwt.exceptions import (
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAudienceError,
    InvalidIssuerError,
    PyJWTError,
)

from discreet.errors import DiscreetError
from discreet.server.http.identity._options import OidcOptions
from discreet.server.http.identity._provider import Provider

__all__ = ["Identity", "Reason", "Refused", "account_by_bearer", "check_id_token"]

_LONGEST_BEARER_TOKEN = 8_192
_LONGEST_ID_TOKEN = 65_536
"""Characters of a token that is looked at; that of a browser's sign-in comes from the provider itself."""

Reason = Literal[
    "malformed",
    "algorithm",
    "key",
    "signature",
    "issuer",
    "audience",
    "time",
    "kind",
    "account",
    "nonce",
    "state",
    "declined",
]
"""Why a token, or a sign-in, is refused: for the owner's log, and not for whoever sent it."""

_BEARER_TYPES = frozenset({None, "jwt", "at+jwt", "application/at+jwt"})
_ID_TOKEN_TYPES = frozenset({None, "jwt"})
_REQUIRED = ["exp", "iat", "iss", "aud", "sub"]


class Refused(DiscreetError):
    """A token, or the sign-in of a browser, that is not good here."""

    def __init__(self, reason: Reason) -> None:
        super().__init__("this sign-in by the identity provider is not good here, or has ended: sign in again")
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Identity:
    """The account that a token is for, and until when, in seconds since 1970."""

    account: str
    until: float


def account_by_bearer(provider: Provider, now: Callable[[], float] = time.time) -> Callable[[str], Identity]:
    """How bearer tokens name accounts: the hook `SignIns.account_of`. What it makes raises `Refused`.

    A token that is bound to a key of its sender's (`cnf`: RFC 8705, RFC 9449) is refused, for nothing here checks that.
    """
    options = provider.options

    def account_of(token: str) -> Identity:
        if len(token) > _LONGEST_BEARER_TOKEN:
            raise Refused("malformed")
        claims = check_token(provider, token, options.bearer_audience, types=_BEARER_TYPES, now=now())
        if "cnf" in claims:
            raise Refused("kind")
        return identity_of(options, claims)

    return account_of


def check_id_token(provider: Provider, token: str, nonce: str, now: float) -> Identity:
    """The account of the ID token that a code was exchanged for (OpenID Connect Core 1.0, 3.1.3.7).

    Raises `Refused`.
    """
    options = provider.options
    claims = check_token(provider, token, options.client_id, types=_ID_TOKEN_TYPES, now=now)
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else options.client_id) != options.client_id:
        raise Refused("audience")
    if claims.get("nonce") != nonce:
        raise Refused("nonce")
    return identity_of(options, claims)


def identity_of(options: OidcOptions, claims: Mapping[str, Any]) -> Identity:
    """The account of checked claims. Raises `Refused` where they map to none."""
    account = options.account_of(claims)
    if account is None:
        raise Refused("account")
    until = min(claims["exp"], claims["iat"] + options.longest_age) + options.leeway
    return Identity(account, until)


def check_token(
    provider: Provider, token: str, audience: str, *, types: frozenset[str | None], now: float
) -> Mapping[str, Any]:
    """The claims of a token that the provider signed for this audience, and that is good now.

    Of its header `alg`, `kid` and `typ` alone are read: keys and their addresses in it (`jwk`, `jku`, `x5c`, `x5u`) are
    not. PyJWT refuses a `crit` that it does not understand. Raises `Refused`.
    """
    header = _header(token)
    kind, algorithm = header.get("typ"), header.get("alg")
    if not (kind is None or isinstance(kind, str)) or (None if kind is None else kind.lower()) not in types:
        raise Refused("kind")
    if algorithm not in provider.options.algorithms:
        raise Refused("algorithm")
    key = provider.key(header.get("kid"), algorithm)
    if key is None:
        raise Refused("key")
    claims = _verified(token, key, algorithm, provider.options, audience)
    if "events" in claims:  # a logout token (OpenID Connect Back-Channel Logout 1.0, 2.4) is no sign-in
        raise Refused("kind")
    _check_times(claims, provider.options, now)
    return claims


def _header(token: str) -> Mapping[str, Any]:
    if len(token) > _LONGEST_ID_TOKEN or not token.isascii() or token.count(".") != 2:
        raise Refused("malformed")
    try:
        return jwt.get_unverified_header(token)
    except (PyJWTError, ValueError, RecursionError):
        raise Refused("malformed") from None


def _verified(token: str, key: jwt.PyJWK, algorithm: str, options: OidcOptions, audience: str) -> Mapping[str, Any]:
    try:
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=audience,
            issuer=options.issuer,
            options={"require": _REQUIRED, "verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )
    except InvalidAudienceError:
        raise Refused("audience") from None
    except InvalidIssuerError:
        raise Refused("issuer") from None
    except (ExpiredSignatureError, ImmatureSignatureError):
        raise Refused("time") from None
    except jwt.InvalidSignatureError:
        raise Refused("signature") from None
    except (PyJWTError, ValueError, TypeError, RecursionError):
        raise Refused("malformed") from None


def _check_times(claims: Mapping[str, Any], options: OidcOptions, now: float) -> None:
    """Raise `Refused` unless a token has been issued, not too long ago, is valid already, and has not expired."""
    expires, issued, begins = claims["exp"], claims["iat"], claims.get("nbf", claims["iat"])
    if not all(_is_time(each) for each in (expires, issued, begins)):
        raise Refused("malformed")
    late, early = now - options.leeway, now + options.leeway
    if not (late < expires and max(issued, begins) <= early and issued + options.longest_age > late):
        raise Refused("time")


def _is_time(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )
