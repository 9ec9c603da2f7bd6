"""The authorization code flow of browsers, with PKCE (OpenID Connect Core 1.0, 3.1; RFC 7636; RFC 9700)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from discreet.server.desk import BrowserSignIns
from discreet.server.http.identity._fetching import ProviderFailed, fetch_json
from discreet.server.http.identity._provider import Metadata, Provider
from discreet.server.http.identity._tokens import Identity, Refused, check_id_token

__all__ = ["CodeFlow", "Started"]

_LONGEST_CODE = 4_096


@dataclass(frozen=True, slots=True)
class Started:
    """Where a browser goes to sign in, and the secret that binds the flow to it, for a cookie."""

    location: str = field(repr=False)
    browser: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """Sign-ins of browsers at a provider.

    A flow's `state` is in the desk's file, by its hash, with the hash of the browser's secret; the nonce and the PKCE
    verifier are derived from that secret, so that neither is stored, and another browser's code is of no use.
    """

    provider: Provider
    sign_ins: BrowserSignIns
    now: Callable[[], float] = time.time

    def start(self) -> Started:
        """Begin a flow. Raises `ProviderFailed` if the provider cannot be reached."""
        endpoint = self.provider.metadata().authorization_endpoint
        flow, browser = self.sign_ins.begin_flow()
        options = self.provider.options
        asked = {
            "response_type": "code",
            "client_id": options.client_id,
            "redirect_uri": options.redirect_uri,
            "scope": " ".join(options.scopes),
            "state": flow,
            "nonce": _derived(browser, "nonce"),
            "code_challenge": _base64url(hashlib.sha256(_derived(browser, "verifier").encode()).digest()),
            "code_challenge_method": "S256",
        }
        return Started(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}", browser)

    def finish(self, answer: Mapping[str, str], browser: str | None) -> Identity:
        """Who signed in, by the parameters that the provider redirected a browser with.

        The flow ends first, so that neither `state` nor code is good twice. Raises `Refused` or `ProviderFailed`.
        """
        if browser is None or not self.sign_ins.end_flow(answer.get("state", ""), browser):
            raise Refused("state")
        metadata, code = self.provider.metadata(), answer.get("code", "")
        issuer = answer.get("iss", None if metadata.names_itself else self.provider.options.issuer)
        if issuer != self.provider.options.issuer:
            raise Refused("issuer")
        if "error" in answer or not 0 < len(code) <= _LONGEST_CODE:
            raise Refused("declined")
        token = self._exchanged(metadata, code, _derived(browser, "verifier"))
        return check_id_token(self.provider, token, _derived(browser, "nonce"), self.now())

    def _exchanged(self, metadata: Metadata, code: str, verifier: str) -> str:
        options = self.provider.options
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": options.redirect_uri,
            "code_verifier": verifier,
        }
        credentials = None
        if options.client_secret is None:
            form["client_id"] = options.client_id
        else:  # RFC 6749, 2.3.1: both are form-encoded first
            credentials = quote(options.client_id, safe=""), quote(options.client_secret, safe="")
        token = fetch_json(metadata.token_endpoint, form, credentials).get("id_token")
        if not isinstance(token, str):
            raise ProviderFailed("the identity provider answers without an ID token")
        return token


def _derived(browser: str, purpose: str) -> str:
    """43 characters that only whoever has the browser's secret knows."""
    return _base64url(hmac.digest(browser.encode("utf-8", "surrogatepass"), purpose.encode(), "sha256"))


def _base64url(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
