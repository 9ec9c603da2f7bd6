"""OpenID Connect: bearer tokens of an identity provider, and the authorization code flow of browsers."""

from discreet.server.http.identity._code_flow import CodeFlow, Started
from discreet.server.http.identity._fetching import ProviderFailed
from discreet.server.http.identity._options import OidcOptions
from discreet.server.http.identity._provider import Provider
from discreet.server.http.identity._tokens import Identity, Refused, account_by_bearer

__all__ = [
    "CodeFlow",
    "Identity",
    "OidcOptions",
    "Provider",
    "ProviderFailed",
    "Refused",
    "Started",
    "account_by_bearer",
]
