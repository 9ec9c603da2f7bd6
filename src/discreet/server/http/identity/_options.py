"""What an owner configures of an identity provider: ``[oidc]`` in the server's file."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args
from urllib.parse import SplitResult, urlsplit

from discreet.errors import ParameterError
from discreet.server.http.identity._algorithms import Algorithm

__all__ = ["OidcOptions", "is_loopback", "is_safe_url"]

_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}")
_LONGEST_AGE = 7 * 86_400


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """An identity provider, and how its claims name accounts. Raises `ParameterError` for what cannot be used.

    Attributes
    ----------
    issuer
        The provider's identifier: an https URL, under which its discovery document lies (OpenID Connect Discovery 1.0,
        4). Plain http is taken for a loopback address alone.
    client_id, client_secret
        How this server is registered there. Without a secret it is a public client, which PKCE protects (RFC 7636).
    public_url
        The origin at which browsers reach this server. The provider redirects to its ``/v1/sign-in/callback``. None:
        no browser signs in, and bearer tokens alone are taken.
    audience
        The `aud` of bearer tokens; None for `client_id`.
    claim
        The claim that names an account. ``email`` is taken where the provider says that it verified it.
    accounts
        Accounts by the values of the claim; where it is given, others have none. None: the value is the account's name.
    algorithms
        Signatures that are taken, of those in `Algorithm`.
    scopes
        What is asked for when a browser signs in.
    longest_age
        Seconds since its issue after which a token is refused, whatever its `exp` says.
    leeway
        Seconds by which clocks may differ.
    """

    issuer: str
    client_id: str
    claim: str
    client_secret: str | None = field(default=None, repr=False)
    public_url: str | None = None
    audience: str | None = None
    accounts: Mapping[str, str] | None = None
    algorithms: tuple[Algorithm, ...] = get_args(Algorithm)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    longest_age: int = 86_400
    leeway: int = 10

    def __post_init__(self) -> None:
        if not is_safe_url(self.issuer, loopback=True) or urlsplit(self.issuer).query:
            raise ParameterError(
                "oidc.issuer is the https URL of an identity provider, without a query; http is for loopback alone"
            )
        if self.public_url is not None and _origin_of(self.public_url) != self.public_url:
            raise ParameterError(
                "oidc.public_url is an origin in lower case, as https://dp.example.org, without a path or a usual port"
            )
        unknown = sorted(set(self.algorithms) - set(get_args(Algorithm)))
        if unknown or not self.algorithms:
            raise ParameterError(f"oidc.algorithms are some of {', '.join(get_args(Algorithm))}, got {unknown}")
        if not self.client_id or not self.claim or self.audience == "":
            raise ParameterError("oidc.client_id, claim and audience must not be empty")
        if "openid" not in self.scopes:
            raise ParameterError('oidc.scopes must have "openid" in them')
        if not 60 <= self.longest_age <= _LONGEST_AGE:
            raise ParameterError(f"oidc.longest_age has from 60 to {_LONGEST_AGE:,} seconds, got {self.longest_age}")
        if not 0 <= self.leeway <= 120:
            raise ParameterError(f"oidc.leeway has from 0 to 120 seconds, got {self.leeway}")
        bad = [name for name in (self.accounts or {}).values() if not _ACCOUNT.fullmatch(name)]
        if bad:
            raise ParameterError(f"oidc.accounts: {bad[0]!r} is no name of an account")

    @property
    def bearer_audience(self) -> str:
        """The `aud` that a bearer token must have."""
        return self.client_id if self.audience is None else self.audience

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends browsers back to. Raises `ParameterError` without a `public_url`."""
        if self.public_url is None:
            raise ParameterError("oidc.public_url is not set, so that no browser can sign in")
        return f"{self.public_url}/v1/sign-in/callback"

    def account_of(self, claims: Mapping[str, object]) -> str | None:
        """The account that checked claims map to; None for none.

        >>> options = OidcOptions("https://id.example", "discreet", "preferred_username")
        >>> options.account_of({"preferred_username": "ada"}), options.account_of({"preferred_username": ""})
        ('ada', None)
        """
        value = claims.get(self.claim)
        if not isinstance(value, str) or (self.claim == "email" and claims.get("email_verified") is not True):
            return None
        account = value if self.accounts is None else self.accounts.get(value)
        return account if account is not None and _ACCOUNT.fullmatch(account) else None


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine itself, by its address or as ``localhost``."""
    if host is None:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_safe_url(url: object, *, loopback: bool) -> bool:
    """Whether a URL is https without user information or fragment; plain http where `loopback` and it is there."""
    parts = _split(url)
    if parts is None or parts.hostname is None or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and loopback and is_loopback(parts.hostname))


def _origin_of(url: str) -> str | None:
    """The origin of a URL as browsers send it (RFC 6454, 6.2); None for one that is not safe."""
    parts = _split(url)
    if parts is None or parts.hostname is None or not is_safe_url(url, loopback=True):
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, {"https": 443, "http": 80}[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _split(url: object) -> SplitResult | None:
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
