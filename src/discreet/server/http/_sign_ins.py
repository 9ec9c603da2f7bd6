"""Who sends a request: an account and its token (Basic), the owner's token, or a token of an identity provider."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.server.desk import Caller, Desk, RecentlyUsed, Refusal

__all__ = ["OWNER_TOKEN", "SignIns"]

OWNER_TOKEN = "discreet-owner-"  # noqa: S105 - what a token of the owner's begins with
_LONGEST = 8192
_REFUSED = "sign in: send an account and its token (Authorization: Basic), or a token of the identity provider (Bearer)"


@dataclass(frozen=True, slots=True)
class SignIns:
    """Callers by the Authorization header. An analyst's sign-in is remembered; the ledger asks for its token anyway."""

    account_of: Callable[[str], str] | None = None
    """From a bearer token (JWT) to the account that its claim maps to; None where no provider is configured."""
    _remembered: RecentlyUsed[Caller] = field(default_factory=lambda: RecentlyUsed[Caller](1_000))

    def remembered(self, desk: Desk, authorization: str | None) -> Caller | None:
        """The caller of a header that was seen before, without any work; None where that must be looked up."""
        return None if authorization is None else self._remembered.peek((id(desk), _digest(authorization)))

    def caller(self, desk: Desk, authorization: str | None) -> Caller:
        """The caller of a header. Raises `Refusal` ("sign-in") for none, and for whatever is not good."""
        if authorization is None or len(authorization) > _LONGEST:
            raise Refusal("sign-in", _REFUSED)
        scheme, _, value = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                account, token = _basic(value)
                caller = desk.sign_in(account, token)
                if caller.role == "analyst":
                    self._remembered.get((id(desk), _digest(authorization)), lambda: caller)
                return caller
            case "bearer" if value.startswith(OWNER_TOKEN):
                return desk.admit_owner(value.removeprefix(OWNER_TOKEN))
            case "bearer" if self.account_of is not None:
                return desk.admit(self.account_of(value), by="oidc")
            case _:
                raise Refusal("sign-in", _REFUSED)

    def forget(self, desk: Desk, authorization: str | None) -> None:
        """Look a header up again next time."""
        if authorization is not None:
            self._remembered.drop((id(desk), _digest(authorization)))


def _digest(authorization: str) -> bytes:
    return hashlib.sha256(authorization.encode("utf-8", "surrogatepass")).digest()


def _basic(value: str) -> tuple[str, str]:
    try:
        account, colon, token = base64.b64decode(value.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        raise Refusal("sign-in", _REFUSED) from None
    if not colon:
        raise Refusal("sign-in", _REFUSED)
    return account, token
