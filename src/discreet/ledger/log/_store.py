"""Append-only event store of one ledger in SQL tables."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from discreet.errors import LedgerError, printable
from discreet.ledger._protocol import Entry, Head
from discreet.ledger.crypto._encryption import Seal
from discreet.ledger.crypto._signing import public_key
from discreet.ledger.log import _rows
from discreet.ledger.log._chain import (
    StoredElsewhere,
    Untrusted,
    account_in,
    check,
    entry,
    facts_in,
    parsed,
    row_after,
    state_in,
    subject_time,
    walk,
)
from discreet.ledger.log._commitments import Row, sha256
from discreet.ledger.log._database import Database
from discreet.ledger.log._migrations import check_continued, migrate
from discreet.ledger.log._schema import SALT_KEY, SIGNING_KEY, secrets
from discreet.ledger.state._account import OWNER_ACCOUNT, Account
from discreet.ledger.state._events import Event, Facts, Kind, LedgerState, apply
from discreet.privacy import currency
from discreet.reprs import shortened

__all__ = ["LARGEST_IN_ROW", "LedgerStore", "LedgerTransaction"]


LARGEST_IN_ROW = 2**24
"""Bytes of a payload that a row holds; larger ones are stored by their digest."""


class LedgerTransaction:
    """Where a ledger ended when a transaction looked, for one account.

    `now` is the time of the next entry: the clock's, but never before the newest entry. `account_now` is that of the
    account: never before its own newest entry, whatever the entries of others.
    """

    def __init__(
        self, store: LedgerStore, connection: sa.Connection, seen: Row, account: str, plan_hash: str | None
    ) -> None:
        self._store = store
        self.connection = connection
        self.account = account
        self.last, newest, self.release, clock = _rows.tip(connection, seen, store.where, account, plan_hash)
        facts, where = store.facts, store.where
        self.clock = clock
        self.now = max(clock, datetime.fromisoformat(self.last.at))
        self.account_now = self.now
        if account != OWNER_ACCOUNT:
            self.account_now = clock if newest is None else max(clock, subject_time(newest, where))
        at_last = state_in(facts, self.last, where)
        subject = None
        if newest is not None and account != OWNER_ACCOUNT:
            subject = at_last.account if newest is self.last else account_in(facts, newest, where)
        self.state = LedgerState(at_last.total, subject, at_last.history)

    def write(  # noqa: PLR0913
        self,
        kind: Kind,
        data: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        reservation: str | None = None,
        plan_hash: str | None = None,
        payload: bytes | None = None,
        elsewhere: bool = False,
    ) -> Row:
        """Add an event about the account, or raise what `apply` raises.

        `elsewhere` says that the payload is stored already, and not in the row.
        """
        event = Event(kind, self.account, data, self.now, self.account_now)
        self.state = apply(self._store.facts, self.state, event)
        self.last = row_after(
            self._store.facts, self.last, event, self.state, salt_key=self._store.salt_key(),
            idempotency_key=idempotency_key, reservation=reservation, plan_hash=plan_hash, payload=payload,
        )  # fmt: skip
        _rows.append(self.connection, self.last, None if elsewhere else payload)
        return self.last


class LedgerStore:
    """One open ledger, for whoever uses it."""

    def __init__(self, database: Database, seal: Seal) -> None:
        self.database = database
        self.where = database.where
        self.seal = seal
        migrate(database, seal)
        with database.transaction(write=False) as connection:
            self.first = _rows.first(connection, self.where)
            self.facts: Facts = facts_in(self.first, self.where)
            last = _rows.tip(connection, self.first, self.where).last
            self.last_read: dict[str, Account] = {OWNER_ACCOUNT: state_in(self.facts, last, self.where).total}
            """Each account, and the whole, as this object last read or charged it: what a `repr` may show."""
            rows = connection.execute(sa.select(secrets.c.name, secrets.c.value))
            self._secrets: dict[str, object] = {row.name: row.value for row in rows}
        self.began_with = state_in(self.facts, self.first, self.where).total.cap
        database.sync()
        self.seen = last
        """An entry that is durable: a ledger without it is an older copy."""
        given = seal.check()
        self.sealed = self.facts.key_check is not None
        if given is not None and given != self.facts.key_check:
            raise LedgerError(
                f"{self.where} has another key, or none; a key is given when a ledger is made, and never changes"
            )
        self.locked = self.sealed and given is None

    @contextmanager
    def reading(self, account: str = OWNER_ACCOUNT, plan_hash: str | None = None) -> Generator[LedgerTransaction]:
        """Where the ledger ends now, in one snapshot, which holds what had been seen before it was taken."""
        seen = self.seen
        with self.database.transaction(write=False) as connection:
            page = LedgerTransaction(self, connection, seen, account, plan_hash)
            self._remember(self._now(page))
            yield page

    def page(
        self, connection: sa.Connection, account: str = OWNER_ACCOUNT, plan_hash: str | None = None
    ) -> LedgerTransaction:
        """Where the ledger ends now, in a transaction that writes."""
        page = LedgerTransaction(self, connection, self.seen, account, plan_hash)
        self._remember(self._now(page))
        return page

    def committed(self, *pages: LedgerTransaction) -> None:
        """Take note that what was written through these pages is durable; the last one wrote last."""
        for page in pages:
            self._remember(page.state)
        self.seen = pages[-1].last

    def status(self, account: str) -> str:
        """What an account, or the whole, had spent when this object last looked. Asks the database nothing."""
        if self.database.closed:
            return "closed"
        known = self.last_read.get(account)
        if known is None:
            return "not read yet"
        return f"spent {shortened(repr(known.spent))} of {shortened(repr(known.cap))} as last read"

    @property
    def currency(self) -> str:
        """The currency of the ledger when this object last looked. Asks the database nothing."""
        return currency(self.last_read[OWNER_ACCOUNT].cap)

    @property
    def place(self) -> str:
        """Where the ledger is, for a `repr`: without a password, and on one line."""
        return printable(self.where.removeprefix("the ledger "))

    def _now(self, page: LedgerTransaction) -> LedgerState:
        known = None if page.state.account is None else page.state.account.at(page.account_now)
        return LedgerState(page.state.total.at(page.now), known, page.state.history)

    def _remember(self, state: LedgerState) -> None:
        for account in (state.total, state.account):
            if account is not None:
                self.last_read[account.name] = account

    def state(self, account: str) -> LedgerState:
        """The states now, in windows that have begun by the clock."""
        with self.reading(account) as page:
            return self._now(page)

    def states(self) -> tuple[LedgerState, list[LedgerState]]:
        """The whole now, and each account under it."""
        with self.reading() as page:
            at = page.now
            rows = _rows.newest_of_each(page.connection, self.where)
        accounts: list[LedgerState] = []
        for row in rows:
            state = state_in(self.facts, row, self.where)
            if state.account is not None:
                own_at = max(page.clock, subject_time(row, self.where))
                accounts.append(LedgerState(state.total, state.account.at(own_at), state.history))
        return LedgerState(page.state.total.at(at), None, page.state.history), accounts

    def public_facts(self, account: str = OWNER_ACCOUNT) -> Facts:
        """The facts now, where an older ledger was settled or converted; an account's without what others spent."""
        facts, state = (
            self.facts if account == OWNER_ACCOUNT else replace(self.facts, continued=None),
            self.state(account),
        )
        return replace(facts, currency=state.currency, relation=facts.relation or state.total.relation)

    def unlock(self) -> None:
        """Raise `LedgerError` if releases cannot be sealed and signed."""
        if self.locked:
            raise LedgerError(
                f"{self.where} is encrypted: open it with its key (key=…, or --key-file FILE on the command line) to "
                "spend from it or to read releases"
            )

    def private_key(self) -> bytes:
        """The key that signs."""
        self.unlock()
        sealed = self._secrets.get(SIGNING_KEY)
        if not isinstance(sealed, bytes):
            raise LedgerError(f"{self.where} has lost the key that signs its certificates; restore a copy of it")
        private = self.seal.opened(OWNER_ACCOUNT, SIGNING_KEY, sealed)
        if public_key(private) != self.facts.public_key:
            raise LedgerError(f"{self.where} signs with a key that is not its own; restore a copy of it")
        return private

    def salt_key(self) -> bytes:
        """The secret that the salts of new entries are derived from."""
        key = self._secrets.get(SALT_KEY)
        if not isinstance(key, bytes) or len(key) != 32:
            raise LedgerError(f"{self.where} has lost the secret that salts its entries; restore a copy of it")
        return key

    def release(self, connection: sa.Connection, row: Row) -> bytes:
        """What a checked row of a release stored."""
        payload, state = _rows.payload_of(connection, row), "missing or damaged"
        if payload is None and row.payload_sha256 is not None:
            payload = self.database.load_large(row.payload_sha256, connection)
            state = _damage(self.database, row.payload_sha256, is_there=payload is not None)
        if not isinstance(payload, bytes) or sha256(payload) != row.payload_sha256:
            raise Untrusted(
                f"{self.where}: the release in entry {row.seq} is {state}; restore a copy of the ledger, with what "
                "lies beside it: what the release cost stays spent, and it is not drawn again"
            )
        self.unlock()
        return self.seal.opened(row.account, row.reservation or "", payload)

    def entries(self, account: str | None = None) -> Iterator[Entry]:
        """Every entry up to now, or those about one account as it may see them, each checked against its own hash."""
        last = self._last().seq
        for values, _ in _rows.pages(self.database, last, payloads=False, account=account):
            yield entry(self.facts, check(values, self.where), self.where, own=account is not None)

    def head(self) -> Head:
        """Where the ledger ends now, durably: a crash does not take back an entry that was noted elsewhere."""
        last = self._last()
        self.database.sync()
        self.seen = last
        return Head(self.first.hash, last.seq, last.hash)

    def verify(self, anchors: Mapping[str, str]) -> int:
        """Walk the whole chain up to now; the number of entries. `anchors` are names of hashes that it must hold."""
        last = self._last().seq
        if self.facts.continued is not None:
            with self.database.transaction(write=False) as connection:
                check_continued(connection, self.facts.continued, self.where)
        count, missing = 0, {ident: name for name, ident in anchors.items()}
        for row in walk(self._with_large(_rows.pages(self.database, last, payloads=True)), self.where):
            count += 1
            missing.pop(row.hash, None)
        if count != last + 1:
            raise LedgerError(f"{self.where} cannot be trusted: entry {count} is bad: it is missing")
        for name in missing.values():
            raise LedgerError(
                f"{self.where} cannot be trusted: it lacks the entry that {name} notes: its newest entries were "
                "removed, or an older copy was put back. Stop releasing from these data, and find the ledger that "
                "holds it"
            )
        return count

    def store_large(self, payload: bytes) -> bool:
        """Store a payload outside the rows if it is a large one; whether it was."""
        return len(payload) > LARGEST_IN_ROW and self.database.store_large(sha256(payload), payload)

    def _with_large(self, rows: Iterable[tuple[Sequence[object], object]]) -> Iterator[tuple[Sequence[object], object]]:
        """The rows, the digest of each large payload computed from what is stored."""
        place = Row._fields.index("payload_sha256")
        for values, payload in rows:
            digest = values[place]
            if payload is None and isinstance(digest, str):
                with self.database.transaction(write=False) as connection:
                    computed = self.database.digest_large(digest, connection)
                state = _damage(self.database, digest, is_there=computed is not None)
                yield values, StoredElsewhere(computed, state)
            else:
                yield values, payload

    def _last(self) -> Row:
        with self.reading() as page:
            return page.last

    def event_of(self, row: Row) -> Mapping[str, Any]:
        """What a checked row says happened."""
        return parsed(row.body)["event"]


def _damage(database: Database, digest: str, *, is_there: bool) -> str:
    """How a payload that is not in its row, and does not have its digest, is damaged."""
    place = database.place_of_large(digest)
    return f"damaged: {place} was changed or cut off" if is_there else f"missing: {place} is gone"
