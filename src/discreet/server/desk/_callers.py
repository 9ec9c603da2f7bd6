"""Who asks at the desk: an account that has shown its token, or the owner."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass, field

from discreet import noise
from discreet.errors import SignInRefused
from discreet.ledger import AccountLedger, LedgerAudit, OwnedLedger, Role
from discreet.server.desk._refusals import Refusal
from discreet.server.desk._state import State

__all__ = ["OWNER", "Caller", "OwnerSignIns", "caller_of", "challenge_secret"]

OWNER = "owner"
"""How the owner is called in answers of the desk. An account of this name is another matter: its name is its own."""

_CODE_SECONDS = 15 * 60.0
_TOKEN_SECONDS = 12 * 3600.0
_METRICS_SECONDS = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Caller:
    """An account that has signed in, with its side of the ledger. The owner's has the name ``""``.

    `token_sha256` is the hash of the token that the account had then: with another one it has to sign in again.
    """

    account: str
    role: Role
    ledger: AccountLedger | LedgerAudit | OwnedLedger = field(repr=False)
    token_sha256: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of the account; the owner's is `OWNER`."""
        return self.account or OWNER

    @property
    def spending(self) -> AccountLedger:
        """The ledger that this caller spends from. Raises `Refusal` for an auditor."""
        if not isinstance(self.ledger, AccountLedger):
            raise Refusal("role", f"the account {self.account!r} is an auditor's, who may read and not ask")
        return self.ledger

    @property
    def audit(self) -> LedgerAudit:
        """The whole ledger, for auditors and the owner. Raises `Refusal` for an analyst."""
        if not isinstance(self.ledger, LedgerAudit):
            raise Refusal("role", "this is for auditors and the owner of the data alone; ask them")
        return self.ledger

    @property
    def owned(self) -> OwnedLedger:
        """The ledger in its owner's hands. Raises `Refusal` for anybody else."""
        if not isinstance(self.ledger, OwnedLedger):
            raise Refusal("role", "this is for the owner of the data alone; ask them")
        return self.ledger


def caller_of(ledger: OwnedLedger, account: str, token: str | None) -> Caller:
    """The caller with an account and its token. Raises `SignInRefused`, in like time, for whatever is not both.

    An account without a token is for whoever may open the ledger, which is nobody who comes to the desk.
    """
    held = ledger.account_named(account)
    admitted = ledger.open_as(account, token)
    if held is None or held.token_sha256 is None:
        raise SignInRefused(f"the account {account!r} has no token, and may not be used from elsewhere")
    role = "analyst" if isinstance(admitted, AccountLedger) else "auditor"
    return Caller(account, role, admitted, held.token_sha256)


@dataclass(frozen=True, slots=True)
class OwnerSignIns:
    """Codes that sign the owner in once, and the tokens they are exchanged for; the file has hashes of both."""

    state: State

    def new_code(self, code: str | None = None) -> str:
        """A code that is good once, for 15 minutes: a new one, or that of another desk of the same owner."""
        return self._new("code", _CODE_SECONDS, code)

    def exchange(self, code: str, token: str | None = None) -> str:
        """A token for the owner, good for 12 hours: a new one, or that of another desk of the same owner.

        Raises `Refusal` for a code that is not, or no longer, good.
        """
        with self.state.transaction() as connection:
            used = connection.execute(
                "DELETE FROM sign_ins WHERE secret_sha256 = ? AND kind = 'code' AND until > ? RETURNING 1",
                (_hashed(code), time.time()),
            ).fetchone()
        if used is None:
            raise Refusal("sign-in", "this code is not good, or was used: start the server again for a new one")
        return self._new("token", _TOKEN_SECONDS, token)

    def is_owner(self, token: str) -> bool:
        """Whether a token is the owner's, and still good."""
        return self._is_good("token", token)

    def new_metrics_token(self) -> str:
        """A token that reads the metrics and nothing else, good for a year, in place of the one before it."""
        with self.state.transaction() as connection:
            connection.execute("DELETE FROM sign_ins WHERE kind = 'metrics'")
        return self._new("metrics", _METRICS_SECONDS)

    def reads_metrics(self, token: str) -> bool:
        """Whether a token is the one that reads the metrics."""
        return self._is_good("metrics", token)

    def _is_good(self, kind: str, secret: str) -> bool:
        with self.state.transaction(write=False) as connection:
            row = connection.execute(
                "SELECT secret_sha256 FROM sign_ins WHERE secret_sha256 = ? AND kind = ? AND until > ?",
                (_hashed(secret), kind, time.time()),
            ).fetchone()
        return row is not None and hmac.compare_digest(row[0], _hashed(secret))

    def _new(self, kind: str, seconds: float, secret: str | None = None) -> str:
        secret = secret or noise.secret(24).hex()
        with self.state.transaction() as connection:
            connection.execute("DELETE FROM sign_ins WHERE until <= ?", (time.time(),))
            row = (_hashed(secret), kind, time.time() + seconds)
            connection.execute("INSERT OR REPLACE INTO sign_ins VALUES (?, ?, ?)", row)
        return secret


def challenge_secret(state: State) -> bytes:
    """32 bytes that stay with the desk's file, for the challenges of accounts that there are not.

    A front asks them for the same proof as others, with a salt of their own that is the same each time.
    """
    with state.transaction() as connection:
        connection.execute("INSERT OR IGNORE INTO secrets VALUES ('challenges', ?)", (noise.secret(32),))
        row = connection.execute("SELECT value FROM secrets WHERE name = 'challenges'").fetchone()
    return bytes(row[0])


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
