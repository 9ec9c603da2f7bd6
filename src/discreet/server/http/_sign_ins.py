"""Who sends a request: an account and its token (Basic), the owner's token, a provider's token, or a session."""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.server.desk import BrowserSignIns, Caller, Desk, RecentlyUsed, Refusal

if TYPE_CHECKING:
    from discreet.server.http.identity import Identity

__all__ = ["METRICS_TOKEN", "OWNER_TOKEN", "Credentials", "SignIns", "refused_identity"]

OWNER_TOKEN = "discreet-owner-"  # noqa: S105 - what a token of the owner's begins with
METRICS_TOKEN = "discreet-metrics-"  # noqa: S105 - what a token that reads the metrics alone begins with
_CHECKED_SECONDS = 300.0
_LONGEST = 8192 + len("Bearer ")
_REFUSED = "sign in: send an account and its token (Authorization: Basic), or a token of the identity provider (Bearer)"
_ENDED = "this session has ended: sign in again"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request shows: its Authorization header, or else the secret of its browser's session."""

    authorization: str | None
    session: str | None = field(default=None, repr=False)

    @property
    def digest(self) -> bytes:
        """A hash by which a caller is remembered."""
        text = f"header {self.authorization}" if self.session is None else f"session {self.session}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class _Remembered:
    caller: Caller
    until: float = float("inf")


@dataclass(frozen=True, slots=True)
class SignIns:
    """Callers by their credentials.

    An analyst's sign-in is remembered: the ledger asks anyway whether the account still has the token that it had then.
    By a provider's token it is remembered until that ends, and five minutes at most, for keys are withdrawn.
    """

    account_of: Callable[[str], Identity] | None = None
    """From a bearer token (JWT) to the account that its claim maps to; None where no provider is configured."""
    sessions: BrowserSignIns | None = None
    """The sessions of browsers; None where none can sign in."""
    _remembered: RecentlyUsed[_Remembered] = field(default_factory=lambda: RecentlyUsed[_Remembered](1_000))

    def remembered(self, desk: Desk, shown: Credentials) -> Caller | None:
        """The caller of an Authorization header that was seen before, without any work; None where there is some."""
        return None if shown.authorization is None else self._peek(desk, shown)

    def caller(self, desk: Desk, shown: Credentials) -> Caller:
        """The caller of credentials. Raises `Refusal` ("sign-in") for none, and for whatever is not good."""
        if shown.session is not None and self.sessions is not None:
            account = self.sessions.account_of(shown.session)
            if account is None:
                raise Refusal("sign-in", _ENDED)
            known = self._peek(desk, shown)
            return known or self._remember(desk, shown, desk.admit(account, "browser", shown.session))
        authorization = shown.authorization
        if authorization is None or len(authorization) > _LONGEST:
            raise Refusal("sign-in", _REFUSED)
        scheme, _, value = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                account, token = _basic(value)
                return self._remember(desk, shown, desk.sign_in(account, token, with_each_request=True))
            case "bearer" if value.startswith(OWNER_TOKEN):
                return desk.admit_owner(value.removeprefix(OWNER_TOKEN))
            case "bearer" if self.account_of is not None:
                identity = self._identity(desk, value)
                until = min(identity.until, time.time() + _CHECKED_SECONDS)
                return self._remember(desk, shown, desk.admit(identity.account, "oidc", value), until)
            case _:
                raise Refusal("sign-in", _REFUSED)

    def forget(self, desk: Desk, shown: Credentials) -> None:
        """Look credentials up again next time."""
        self._remembered.drop((id(desk), shown.digest))

    def _peek(self, desk: Desk, shown: Credentials) -> Caller | None:
        known = self._remembered.peek((id(desk), shown.digest))
        return known.caller if known is not None and time.time() < known.until else None

    def _remember(self, desk: Desk, shown: Credentials, caller: Caller, until: float = float("inf")) -> Caller:
        """Remember an analyst. An auditor's ledger would not ask again whether the account is still there."""
        if caller.role == "analyst":
            self.forget(desk, shown)
            self._remembered.get((id(desk), shown.digest), lambda: _Remembered(caller, until))
        return caller

    def _identity(self, desk: Desk, token: str) -> Identity:
        from discreet.server.http.identity import Refused

        if self.account_of is None:
            raise Refusal("sign-in", _REFUSED)
        try:
            return self.account_of(token)
        except Refused as error:
            raise refused_identity(desk, error) from None


def refused_identity(desk: Desk, error: Exception) -> Refusal:
    """The refusal of a provider's token or sign-in, in the desk's log with its reason: in the answer there is none."""
    desk.refuse("", "sign-in", "sign-in", getattr(error, "reason", "provider"))
    refusal = Refusal("sign-in", str(error))
    refusal.logged = True
    return refusal


def _basic(value: str) -> tuple[str, str]:
    try:
        account, colon, token = base64.b64decode(value.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        raise Refusal("sign-in", _REFUSED) from None
    if not colon:
        raise Refusal("sign-in", _REFUSED)
    return account, token
