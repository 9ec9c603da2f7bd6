"""An account's access to a ledger: its token is checked, and errors tell it nothing of others."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from discreet.errors import LedgerError, SignInRefused
from discreet.ledger.log._chain import Untrusted
from discreet.ledger.log._store import LedgerStore
from discreet.ledger.state._account import OWNER_ACCOUNT, Account
from discreet.ledger.state._events import LedgerState

__all__ = ["AccountAccess"]


@dataclass(frozen=True, slots=True)
class AccountAccess:
    """The access of one account, or of the owner to the whole, with the hash of the token that opened it."""

    store: LedgerStore
    account: str = OWNER_ACCOUNT
    token_sha256: str | None = field(default=None, repr=False)

    @contextmanager
    def confined(self) -> Generator[None]:
        """Hide from an account the number of a bad entry, which would tell how many entries others have."""
        try:
            yield
        except Untrusted:
            if self.account == OWNER_ACCOUNT:
                raise
            raise LedgerError(
                f"{self.store.where} cannot be trusted: it was changed by something other than discreet. Ask nothing "
                "more, and tell its owner, who can check it"
            ) from None

    def admitted(self, state: LedgerState) -> Account:
        """The whole or the account. Raises `SignInRefused` if the account is gone or has another token by now."""
        if self.account == OWNER_ACCOUNT:
            return state.total
        if state.account is None:
            raise SignInRefused(f"{self.store.where} has no account {self.account!r}")
        if state.account.token_sha256 not in (None, self.token_sha256):
            raise SignInRefused(
                f"the account {self.account!r} has had another token since it was opened; open it again with that one"
            )
        return state.account
