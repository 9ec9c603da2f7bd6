"""Spending from a ledger in SQL tables: from the owner's budget, or from an account's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa

from discreet.errors import KeyReused, LedgerError, ParameterError
from discreet.ledger._access import AccountAccess
from discreet.ledger._charge_log import LoggedCharge, logged_charges
from discreet.ledger._claims import LARGEST_PAYLOAD, Claims
from discreet.ledger._protocol import MOST_REPEATS, Entry, Reservation, Stored
from discreet.ledger._runs import Run, certificate_for, check_steps
from discreet.ledger.crypto._signing import code_version
from discreet.ledger.log import _rows
from discreet.ledger.log._chain import subject_time
from discreet.ledger.log._commitments import Row
from discreet.ledger.log._store import LedgerStore, LedgerTransaction
from discreet.ledger.log._summary import kinds, latest, moments
from discreet.ledger.state._account import OWNER_ACCOUNT, Account
from discreet.ledger.state._arithmetic import charge_and_history
from discreet.ledger.state._events import Counted, Facts
from discreet.ledger.state._relations import relation_after
from discreet.privacy import Loss, Relation, currency, left

__all__ = ["AccountLedger", "checked_name"]

_NAME = re.compile(r"[!-~]{1,256}")


class AccountLedger:
    """The `Ledger` of one account, or of the whole; see the protocol for what each method promises."""

    def __init__(self, store: LedgerStore, account: str = OWNER_ACCOUNT, token_sha256: str | None = None) -> None:
        self._store = store
        self._access = AccountAccess(store, account, token_sha256)
        self._where = store.where
        self._account = account
        self._claims = Claims(store, account)

    def __repr__(self) -> str:
        whose = f"account {self._account!r} " if self._account else ""
        return f"<{type(self).__name__} {self._store.place}; {whose}{self._store.status(self._account)}>"

    @property
    def account(self) -> str:
        """Whose this is: the name of an account, or ``""`` for the owner's."""
        return self._account

    @property
    def facts(self) -> Facts:
        """What was fixed when the ledger was made, and since where it was settled or converted."""
        with self._access.confined():
            return self._store.public_facts(self._account)

    @property
    def path(self) -> str | None:
        """The file; None for a ledger in memory or on a server."""
        return self._store.database.path

    @property
    def currency(self) -> str:
        """``"pure"``, ``"approx"``, ``"rho"`` or ``"mu"``, read now."""
        return currency(self.budget)

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
        with self._access.confined():
            return self._access.admitted(self._store.state(self._account))

    def find(self, plan_hash: str) -> Stored | None:
        """The newest release of this account for this plan, or None."""
        checked_name("a plan hash", plan_hash)
        with self._access.confined(), self._store.reading(self._account, plan_hash) as page:
            self._access.admitted(page.state)
            stored = None if page.release is None else self._stored(page.connection, page.release)
        if stored is not None:
            self._store.database.sync()
        return stored

    def reserve(  # noqa: PLR0913
        self,
        plan_hash: str,
        loss: Loss,
        *,
        part: str | None = None,
        relation: Relation | None = None,
        idempotency_key: str | None = None,
        fresh: bool = False,
        counts: Counted = "people",
    ) -> Reservation | Stored:
        """Charge the account and the whole at once, durably, or serve what is stored."""
        checked_name("a plan hash", plan_hash)
        if idempotency_key is not None:
            checked_name("an idempotency key", idempotency_key)
        self._check_counted(counts)
        code_version()  # what a certificate needs and may be missing is missed before the charge
        charged, history = self._charge(loss)
        event: dict[str, Any] = {"history": history}
        if part is not None:
            event["part"] = part
        store = self._store
        with self._access.confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._account, plan_hash)
            self._access.admitted(page.state)
            fixing = self._fixing(page, relation)
            store.unlock()
            row, released = None, None if fresh else page.release
            key = idempotency_key
            asked = [] if key is None else _rows.of_key(connection, self._account, key, self._where)
            if asked:
                released = self._answer_of(connection, asked, plan_hash, event)
            elif released is None:
                row = page.write("reserve", event | fixing, plan_hash=plan_hash, idempotency_key=key)
            elif key is not None:
                _check_room(_rows.repeats_of(connection, self._account, plan_hash))
                row = page.write("repeat", {**event, "answer": released.hash}, plan_hash=plan_hash, idempotency_key=key)
        if row is not None:
            store.committed(page)
        if released is not None:
            return self._repeated(released)
        assert row is not None
        self._claims.add(row.hash)
        at = page.now if self._account == OWNER_ACCOUNT else page.account_now
        return Reservation(store.first.hash, row.hash, self._account, plan_hash, charged, at)

    def open_run(  # noqa: PLR0913
        self,
        plan_hash: str,
        loss: Loss,
        steps: int,
        *,
        sequential: bool = True,
        part: str | None = None,
        relation: Relation | None = None,
        counts: Counted = "people",
        charged: str | None = None,
    ) -> Run:
        """Charge a whole run at once, durably, or go on with the one that this account has of the plan."""
        checked_name("a plan hash", plan_hash)
        self._check_counted(counts)
        check_steps(steps)
        code_version()
        cost, history = self._charge(loss)
        event: dict[str, Any] = {"history": history, "steps": steps, "sequential": bool(sequential)}
        event |= {} if part is None else {"part": part}
        store = self._store
        with self._access.confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._account)
            self._access.admitted(page.state)
            fixing = self._fixing(page, relation)
            store.unlock()
            row = _rows.run_of(connection, self._account, plan_hash, self._where)
            is_new = row is None
            if charged is not None and (row is None or row.hash != charged):
                raise LedgerError(
                    "this account has charged no such run: go on with the ledger, the account and the policy that it "
                    "was charged under; nothing is spent here"
                )
            if row is None:
                row = page.write("run", event | fixing, plan_hash=plan_hash)
            elif {name: value for name, value in store.event_of(row).items() if name != "relation"} != event or fixing:
                raise LedgerError(
                    "this account has a run of this plan with another loss, number or kind of steps, part or relation; "
                    "open it as it was charged, or give the new run a plan hash of its own"
                )
        if is_new:
            store.committed(page)
        at = subject_time(row, self._where)
        reservation = Reservation(store.first.hash, row.hash, self._account, plan_hash, cost, at)
        return Run(self._access, reservation, steps, sequential=bool(sequential))

    def _charge(self, loss: Loss) -> tuple[Loss, Mapping[str, list[str]]]:
        """What a loss costs in the ledger's currency, as last read, or read now if that cannot express it."""
        try:
            return charge_and_history(loss, self._store.currency)
        except ParameterError:
            return charge_and_history(loss, self.currency)

    def _check_counted(self, counts: Counted) -> None:
        """Raise `LedgerError` if the ledger counts the losses of something else."""
        own = self._store.facts.counts
        if counts != own:
            raise LedgerError(
                f"{self._where} counts the losses of {own}, and this release is about {counts}; charge it to a ledger "
                f"that was made with counts={counts!r}"
            )

    def _fixing(self, page: LedgerTransaction, relation: Relation | None) -> dict[str, Relation]:
        """What a charge for a relation adds to its event. Raises `LedgerError` if the ledger is for another one."""
        fixed = self._store.facts.relation or page.state.total.relation
        relation_after(fixed, relation, charged=False)
        return {"relation": relation} if fixed is None and relation is not None else {}

    def certify(self, statement: Mapping[str, Any], reservation: Reservation) -> dict[str, Any]:
        """The statement with the ledger's name for the reservation, signed."""
        return certificate_for(self._store, statement, reservation)

    def commit(self, reservation: Reservation, payload: bytes) -> Stored:
        """Store the whole release, durably."""
        if not isinstance(payload, bytes) or len(payload) > LARGEST_PAYLOAD:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a release is stored as bytes, at most {LARGEST_PAYLOAD} of them")
        ident, store = reservation.id, self._store
        if reservation.ledger != store.first.hash:
            raise LedgerError(f"reservation {ident} is not open here: another ledger made it")
        sealed = self._claims.seal(ident, payload)
        with self._access.confined():
            elsewhere = store.store_large(sealed)
        with self._access.confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._account)
            rows = _rows.of_reservation(connection, ident, self._where)
            if [(row.kind, row.plan_hash, row.account) for row in rows] != [
                ("reserve", reservation.plan_hash, self._account)
            ]:
                raise LedgerError(f"{self._where} has a release for reservation {ident} already, or never reserved it")
            event = {"loss": store.event_of(rows[0])["history"][page.state.currency]}
            row = page.write(
                "release",
                event,
                reservation=ident,
                plan_hash=reservation.plan_hash,
                payload=sealed,
                elsewhere=elsewhere,
            )
        store.seen = row
        self._claims.drop(ident)
        return Stored(row.hash, payload, subject_time(row, self._where))

    def entries(self) -> Iterator[Entry]:
        """Every entry about this account up to now, in order, without what would tell of others."""
        self.state()
        return self._own_entries()

    def latest(self, count: int) -> list[Entry]:
        """The newest entries about this account, newest first, each checked against its own hash."""
        self.state()
        with self._access.confined():
            return latest(self._store, count, self._account)

    def log(self, count: int) -> list[LoggedCharge]:
        """The newest charges, newest first, with their questions: an account's own, and to the owner all.

        Auditors have a log of their own, of all accounts. Costs nothing.
        """
        self.state()
        with self._access.confined():
            return logged_charges(self._store, count, self._account or None)

    def kinds(self) -> dict[str, int]:
        """How many entries about this account there are of each kind, as the table says."""
        self.state()
        with self._access.confined():
            return kinds(self._store, self._account)

    def moments(self, count: int) -> list[tuple[datetime, Account]]:
        """What the account was at no more than `count` moments spread over its own entries, and now."""
        self.state()
        with self._access.confined():
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
        with self._access.confined():
            yield from self._store.entries(self._account)

    def _answer_of(self, connection: sa.Connection, asked: list[Row], plan_hash: str, event: Mapping[str, Any]) -> Row:
        """The release that answered the request which has used an idempotency key, if this is the same one."""
        key, earlier = asked[0].idempotency_key, dict(self._store.event_of(asked[0]))
        answer = earlier.pop("answer", None)
        earlier.pop("relation", None)
        if (asked[0].plan_hash, earlier) != (plan_hash, event):
            raise KeyReused(f"the idempotency key {key!r} was used for another request; use a new key for each request")
        rows = asked[1:] if answer is None else _rows.of_reservation(connection, answer, self._where)
        mine = [row for row in rows if (row.kind, row.account, row.plan_hash) == ("release", self._account, plan_hash)]
        if not mine:
            raise KeyReused(
                f"the request {key!r} was charged and has no release: another process is still answering it, or "
                "died and its spend is lost; ask again later, or pay again with a new key"
            )
        return mine[0]

    def _repeated(self, row: Row) -> Stored:
        """A release, read in a transaction that nobody waits for: it may be large."""
        with self._access.confined(), self._store.database.transaction(write=False) as connection:
            return self._stored(connection, row)

    def _stored(self, connection: sa.Connection, row: Row) -> Stored:
        head = None if row.salt is None and self._account != OWNER_ACCOUNT else row.hash
        return Stored(head, self._store.release(connection, row), subject_time(row, self._where))


def _check_room(repeats: int) -> None:
    if repeats >= MOST_REPEATS:
        raise LedgerError(
            f"a release can be repeated under at most {MOST_REPEATS} idempotency keys, which this one has been: repeat "
            "it without a key, which is free as well, or with a key that it was repeated under"
        )


def checked_name(what: str, text: str) -> None:
    """Raise `ParameterError` for what a ledger stores no name by."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{what} must be 1 to 256 printable ASCII characters without spaces")
