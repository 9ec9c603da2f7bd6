"""Spending from a ledger in SQL tables: from the whole, by its owner, or from an account."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa

from discreet.errors import LedgerError, ParameterError
from discreet.ledger._protocol import MOST_REPEATS, Entry, Reservation, Stored
from discreet.ledger.crypto._signing import certified, code_version
from discreet.ledger.log import _rows
from discreet.ledger.log._chain import Untrusted
from discreet.ledger.log._commitments import Row, sha256
from discreet.ledger.log._store import LedgerStore
from discreet.ledger.log._summary import kinds, latest, moments
from discreet.ledger.state._account import WHOLE, Account
from discreet.ledger.state._arithmetic import charge_and_history
from discreet.ledger.state._events import Facts, LedgerState
from discreet.ledger.state._relations import relation_after
from discreet.privacy import Loss, Relation, left

__all__ = ["AccountLedger"]

_NAME = re.compile(r"[!-~]{1,256}")
_LARGEST_PAYLOAD = 900_000_000


class AccountLedger:
    """The `Ledger` of one account, or of the whole; see the protocol for what each method promises."""

    def __init__(self, store: LedgerStore, account: str = WHOLE, token_sha256: str | None = None) -> None:
        self._store = store
        self._token = token_sha256
        self._where = store.where
        self._account = account
        self._pending: dict[str, tuple[int, str | None, bytes]] = {}

    @property
    def account(self) -> str:
        """Whose this is: the name of an account, or ``""`` for the owner's."""
        return self._account

    @property
    def facts(self) -> Facts:
        """What was fixed when the ledger was made, and since for one of an older format."""
        with self._confined():
            return self._store.public_facts(self._account)

    @property
    def path(self) -> str | None:
        """The file; None for a ledger in memory or on a server."""
        return self._store.database.path

    @property
    def currency(self) -> str:
        """``"pure"``, ``"approx"``, ``"rho"`` or ``"mu"``."""
        return self._store.facts.currency

    @property
    def budget(self) -> Loss:
        """The cap, read now."""
        return self.state().cap

    @property
    def spent(self) -> Loss:
        """What was spent in this window, read now."""
        return self.state().spent

    @property
    def remaining(self) -> Loss:
        """What the cap still allows, read now."""
        state = self.state()
        return left(state.cap, state.spent)

    def state(self) -> Account:
        """The account, or the whole, as it is now."""
        with self._confined():
            return self._admitted(self._store.state(self._account))

    def find(self, plan_hash: str) -> Stored | None:
        """The newest release of this account for this plan, or None."""
        _checked("a plan hash", plan_hash)
        with self._confined(), self._store.reading(self._account, plan_hash) as page:
            self._admitted(page.state)
            found = None if page.release is None else self._stored(page.connection, page.release)
        if found is not None:
            self._store.database.sync()
        return found

    def reserve(  # noqa: PLR0913
        self,
        plan_hash: str,
        loss: Loss,
        *,
        part: str | None = None,
        relation: Relation | None = None,
        idempotency_key: str | None = None,
        fresh: bool = False,
    ) -> Reservation | Stored:
        """Charge the account and the whole at once, durably, or serve what is stored."""
        _checked("a plan hash", plan_hash)
        if idempotency_key is not None:
            _checked("an idempotency key", idempotency_key)
        code_version()  # what a certificate needs and may be missing is missed before the charge
        charged, history = charge_and_history(loss, self.currency)
        event: dict[str, Any] = {"history": history}
        if part is not None:
            event["part"] = part
        store = self._store
        with self._confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._account, plan_hash)
            self._admitted(page.state)
            fixed = store.facts.relation or page.state.whole.relation
            relation_after(fixed, relation, charged=False)
            if idempotency_key is not None:
                asked = _rows.of_key(connection, self._account, idempotency_key, self._where)
                if asked:
                    return self._again(connection, asked, plan_hash, event)
            stored = None if fresh or page.release is None else self._stored(connection, page.release)
            if stored is None:
                store.unlock()
                fixing = {"relation": relation} if fixed is None and relation is not None else {}
                row = page.write("reserve", event | fixing, plan_hash=plan_hash, idempotency_key=idempotency_key)
            elif idempotency_key is None or page.release is None:
                return stored
            else:
                _check_room(_rows.repeats_of(connection, self._account, plan_hash))
                repeated = {**event, "answer": page.release.hash}
                row = page.write("repeat", repeated, plan_hash=plan_hash, idempotency_key=idempotency_key)
        store.seen = row
        if stored is not None:
            return stored
        self._pending[row.hash] = (os.getpid(), None, b"")
        at = page.now if self._account == WHOLE else page.account_now
        return Reservation(store.first.hash, row.hash, self._account, plan_hash, charged, at)

    def certify(self, statement: Mapping[str, Any], reservation: Reservation) -> dict[str, Any]:
        """The statement with the ledger's name for the reservation, signed."""
        return certified(
            statement,
            private=self._store.private_key(),
            code=code_version(),
            ledger=reservation.ledger,
            account=reservation.account or None,
            position=reservation.id,
            at=reservation.at,
        )

    def commit(self, reservation: Reservation, payload: bytes) -> Stored:
        """Store the whole release, durably."""
        if not isinstance(payload, bytes) or len(payload) > _LARGEST_PAYLOAD:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a release is stored as bytes, at most {_LARGEST_PAYLOAD} of them")
        ident, store = reservation.id, self._store
        sealed = self._claim(reservation, payload)
        with self._confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._account)
            rows = _rows.of_reservation(connection, ident, self._where)
            if [(row.kind, row.plan_hash, row.account) for row in rows] != [
                ("reserve", reservation.plan_hash, self._account)
            ]:
                raise LedgerError(f"{self._where} has a release for reservation {ident} already, or never reserved it")
            event = {"loss": store.event_of(rows[0])["history"][self.currency]}
            row = page.write("release", event, reservation=ident, plan_hash=reservation.plan_hash, payload=sealed)
        store.seen = row
        self._pending.pop(ident, None)
        return Stored(row.hash, payload)

    def entries(self) -> Iterator[Entry]:
        """Every entry about this account up to now, in order, without what would tell of others."""
        self.state()
        return self._own_entries()

    def latest(self, count: int) -> list[Entry]:
        """The newest entries about this account, newest first, each checked against its own hash."""
        self.state()
        with self._confined():
            return latest(self._store, count, self._account)

    def kinds(self) -> dict[str, int]:
        """How many entries about this account there are of each kind, as the table says."""
        self.state()
        with self._confined():
            return kinds(self._store, self._account)

    def moments(self, count: int) -> list[tuple[datetime, Account]]:
        """What the account was at no more than `count` moments spread over its own entries, and now."""
        self.state()
        with self._confined():
            return moments(self._store, count, self._account)

    def close(self) -> None:
        """Give up the ledger; a ledger in memory is gone."""
        self._store.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()

    def _own_entries(self) -> Iterator[Entry]:
        with self._confined():
            yield from self._store.entries(self._account)

    @contextmanager
    def _confined(self) -> Generator[None]:
        """A ledger that cannot be trusted is so for an account without the number of the bad entry, which counts."""
        try:
            yield
        except Untrusted:
            if self._account == WHOLE:
                raise
            raise LedgerError(
                f"{self._where} cannot be trusted: it was changed by something other than discreet. Ask nothing more, "
                "and tell its owner, who can check it"
            ) from None

    def _admitted(self, state: LedgerState) -> Account:
        """Whose this is, the whole or the account. Raises `LedgerError` if its token is another one by now."""
        if self._account == WHOLE:
            return state.whole
        if state.account is None:
            raise LedgerError(f"{self._where} has no account {self._account!r}")
        if state.account.token_sha256 not in (None, self._token):
            raise LedgerError(
                f"the account {self._account!r} has had another token since it was opened; open it again with that one"
            )
        return state.account

    def _again(self, connection: sa.Connection, asked: list[Row], plan_hash: str, event: Mapping[str, Any]) -> Stored:
        """What answered the request that has used an idempotency key, if this is the same one."""
        key, said = asked[0].idempotency_key, dict(self._store.event_of(asked[0]))
        answer = said.pop("answer", None)
        said.pop("relation", None)
        if (asked[0].plan_hash, said) != (plan_hash, event):
            raise LedgerError(
                f"the idempotency key {key!r} was used for another request; use a new key for each request"
            )
        found = asked[1:] if answer is None else _rows.of_reservation(connection, answer, self._where)
        mine = [row for row in found if (row.kind, row.account, row.plan_hash) == ("release", self._account, plan_hash)]
        if not mine:
            raise LedgerError(
                f"the request {key!r} was charged and has no release: another process is about to answer it, or "
                "died, and then its spend is gone and never drawn; ask again later, or pay anew with a new key"
            )
        return self._stored(connection, mine[0])

    def _stored(self, connection: sa.Connection, row: Row) -> Stored:
        head = None if row.salt is None and self._account != WHOLE else row.hash
        return Stored(head, self._store.release(connection, row))

    def _claim(self, reservation: Reservation, payload: bytes) -> bytes:
        """Tie the reservation to the one payload that may be stored for it, before anything is written; it, sealed."""
        here, digest = os.getpid(), sha256(payload)
        process, tried, sealed = self._pending.get(reservation.id, (None, None, b""))
        if process != here or reservation.ledger != self._store.first.hash or tried not in (None, digest):
            raise LedgerError(
                f"reservation {reservation.id} is not open here: it has its release already, or another release was "
                "tried for it, or another ledger or process made it; make a new reservation before you draw noise again"
            )
        if tried is None:
            sealed = self._store.seal.closed(self._account, reservation.id, payload)
            self._pending[reservation.id] = (here, digest, sealed)
        return sealed


def _check_room(repeats: int) -> None:
    if repeats >= MOST_REPEATS:
        raise LedgerError(
            f"this answer was given for free under {MOST_REPEATS} idempotency keys, which are remembered for the "
            "ledger's life, and no more are: ask without a key, which costs nothing either, or with one of those"
        )


def _checked(what: str, text: str) -> None:
    if not isinstance(text, str) or not _NAME.fullmatch(text):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{what} must be 1 to 256 printable ASCII characters without spaces")
