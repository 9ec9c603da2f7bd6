"""An identity provider: what it says of itself, and its keys, remembered for an hour."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from jwt import PyJWK

from discreet.server.http.identity._algorithms import PublicKeys, public_keys
from discreet.server.http.identity._fetching import ProviderFailed, fetch_json
from discreet.server.http.identity._options import OidcOptions, is_loopback, is_safe_url

__all__ = ["Metadata", "Provider"]

_FRESH_SECONDS = 3_600.0
_STALE_SECONDS = 86_400.0
_BETWEEN_SECONDS = 60.0
_BETWEEN_FAILURES_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Metadata:
    """The endpoints of a provider (OpenID Connect Discovery 1.0, 3)."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    names_itself: bool
    """Whether its redirects say who it is (RFC 9207)."""


class Provider:
    """A provider with its keys. Safe to share between threads.

    Its documents are read when they are asked for first, again after an hour, and when a token names a key that is not
    there: but at most once a minute, by one thread, while the others go on with the keys that there are. If it cannot
    be reached, keys serve for a day, and it is asked again after five seconds.
    """

    def __init__(self, options: OidcOptions, now: Callable[[], float] = time.monotonic) -> None:
        self.options, self._now = options, now
        self._metadata: Metadata | None = None
        self._keys = PublicKeys()
        self._read_at = self._next_at = float("-inf")
        self._reading = threading.Lock()

    def metadata(self) -> Metadata:
        """The endpoints. Raises `ProviderFailed` if they are not known and cannot be had now."""
        self._refresh_stale()
        if self._metadata is None:
            raise ProviderFailed("the identity provider cannot be reached now; try again in a moment")
        return self._metadata

    def key(self, key_id: object, algorithm: str) -> PyJWK | None:
        """The key of a token's header; None if the provider has none of this name that fits the algorithm."""
        self._refresh_stale()
        if not self._keys.has(key_id):
            self._refresh()
        return self._keys.choose(key_id, algorithm)

    def refresh(self) -> None:
        """Read the documents now, as when the server starts. Raises `ProviderFailed`."""
        with self._reading:
            self._read()

    def _refresh_stale(self) -> None:
        age = self._now() - self._read_at
        if age > _FRESH_SECONDS:
            self._refresh()
        if self._now() - self._read_at > _STALE_SECONDS:
            self._metadata, self._keys = None, PublicKeys()

    def _refresh(self) -> None:
        if not self._reading.acquire(blocking=False):
            return
        try:
            if self._now() >= self._next_at:
                self._read()
        except ProviderFailed:
            pass
        finally:
            self._reading.release()

    def _read(self) -> None:
        self._next_at = self._now() + _BETWEEN_FAILURES_SECONDS
        base = self.options.issuer.removesuffix("/")
        metadata = _metadata(fetch_json(f"{base}/.well-known/openid-configuration"), self.options.issuer)
        keys = public_keys(fetch_json(metadata.jwks_uri))
        self._metadata, self._keys = metadata, keys
        self._read_at = self._now()
        self._next_at = self._read_at + _BETWEEN_SECONDS


def _metadata(document: Mapping[str, Any], issuer: str) -> Metadata:
    """The endpoints in a discovery document. Raises `ProviderFailed` for another issuer's, and for unsafe ones."""
    if document.get("issuer") != issuer:
        raise ProviderFailed("the discovery document is another issuer's: oidc.issuer must be exactly what it says")
    loopback = is_loopback(urlsplit(issuer).hostname)
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    if not all(is_safe_url(document.get(name), loopback=loopback) for name in names):
        raise ProviderFailed("the discovery document lacks an endpoint, or names one that is not https")
    names_itself = document.get("authorization_response_iss_parameter_supported") is True
    return Metadata(*(document[name] for name in names), names_itself=names_itself)
