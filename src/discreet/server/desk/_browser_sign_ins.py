"""Browsers that sign in by an identity provider: flows that have begun, and sessions. The file has hashes alone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from discreet import noise
from discreet.server.desk._state import State

__all__ = ["FLOW_SECONDS", "SESSION_SECONDS", "BrowserSignIns"]

FLOW_SECONDS = 600
"""Seconds between asking the provider and its redirect."""

SESSION_SECONDS = 8 * 3600
"""Seconds that a session lasts; nothing makes it longer."""

_MOST_FLOWS = 100_000


@dataclass(frozen=True, slots=True)
class BrowserSignIns:
    """Flows and sessions in the desk's file.

    >>> sign_ins = BrowserSignIns(State(None))
    >>> secret = sign_ins.begin_session("ada")
    >>> sign_ins.account_of(secret), sign_ins.end_session(secret), sign_ins.account_of(secret)
    ('ada', 'ada', None)
    """

    state: State
    now: Callable[[], float] = time.time

    def begin_flow(self) -> tuple[str, str]:
        """The `state` of a new flow (RFC 6749, 10.12), and the secret of the browser that it is bound to."""
        flow, browser, now = noise.secret(24).hex(), noise.secret(24).hex(), self.now()
        with self.state.transaction() as connection:
            connection.execute("DELETE FROM flows WHERE until <= ?", (now,))
            row = (_hashed(flow), _hashed(browser), now + FLOW_SECONDS)
            place = connection.execute(
                "INSERT INTO flows (state_sha256, browser_sha256, until) VALUES (?, ?, ?)", row
            ).lastrowid
            connection.execute("DELETE FROM flows WHERE id <= ?", ((place or 0) - _MOST_FLOWS,))
        return flow, browser

    def end_flow(self, flow: str, browser: str) -> bool:
        """Whether this browser began the flow, and it is not too late. A flow ends once, whoever ends it."""
        with self.state.transaction() as connection:
            row = connection.execute(
                "DELETE FROM flows WHERE state_sha256 = ? RETURNING browser_sha256, until", (_hashed(flow),)
            ).fetchone()
        return row is not None and row[0] == _hashed(browser) and row[1] > self.now()

    def begin_session(self, account: str, previous: str | None = None) -> str:
        """The secret of a new session, 192 random bits. The browser's `previous` one ends."""
        secret, now = noise.secret(24).hex(), self.now()
        with self.state.transaction() as connection:
            ended = "" if previous is None else _hashed(previous)
            connection.execute("DELETE FROM sessions WHERE until <= ? OR secret_sha256 = ?", (now, ended))
            row = (_hashed(secret), account, now + SESSION_SECONDS)
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", row)
        return secret

    def account_of(self, secret: str) -> str | None:
        """The account of a session that has not ended, or None."""
        with self.state.transaction(write=False) as connection:
            row = connection.execute(
                "SELECT account FROM sessions WHERE secret_sha256 = ? AND until > ?", (_hashed(secret), self.now())
            ).fetchone()
        return None if row is None else row[0]

    def end_session(self, secret: str) -> str | None:
        """End a session; the account that it was of, or None if there is none."""
        with self.state.transaction() as connection:
            row = connection.execute(
                "DELETE FROM sessions WHERE secret_sha256 = ? RETURNING account", (_hashed(secret),)
            ).fetchone()
        return None if row is None else row[0]


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
