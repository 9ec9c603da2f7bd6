"""A ledger in SQL tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from discreet.errors import BudgetExceeded, LedgerError, ParameterError
from discreet.ledger import _rows
from discreet.ledger._chain import Row, check, entry, sha256, walk
from discreet.ledger._filter import add, charge, refusal, within
from discreet.ledger._protocol import Entry, Reservation, Stored
from discreet.ledger._sqlite import Database
from discreet.ledger._table import bring_forward, is_current
from discreet.privacy import Loss, currency, left

__all__ = ["SqlLedger"]

_PLAN_HASH = re.compile(r"[!-~]{1,256}")
_LARGEST_PAYLOAD = 900_000_000


class SqlLedger:
    """The `Ledger` over a `Database`; see the protocol for what each method promises."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._where = database.where
        self._pending: dict[str, tuple[int, str | None]] = {}
        with database.transaction(write=False) as connection:
            current = is_current(connection, self._where)
        if not current:
            with database.transaction(write=True) as connection:
                bring_forward(connection, self._where)
        with database.transaction(write=False) as connection:
            self._first = _rows.first(connection, self._where)
            self._seen = _rows.tip(connection, self._first, self._where)
        self._budget = entry(self._first, self._where).loss

    @property
    def path(self) -> str | None:
        """The file, or None for a ledger in memory."""
        return self._db.path

    @property
    def currency(self) -> str:
        """``"pure"``, ``"approx"`` or ``"rho"``."""
        return currency(self._budget)

    @property
    def budget(self) -> Loss:
        """The whole budget."""
        return self._budget

    @property
    def spent(self) -> Loss:
        """The sum of all reservations, read now."""
        return entry(self._newest(), self._where).spent

    @property
    def remaining(self) -> Loss:
        """What a reservation may still ask for, read now."""
        return left(self._budget, self.spent)

    def find(self, plan_hash: str) -> Stored | None:
        """The newest stored release for this plan, or None."""
        _check_plan_hash(plan_hash)
        with self._db.transaction(write=False) as connection:
            _rows.tip(connection, self._seen, self._where)
            found = _rows.newest_release(connection, plan_hash)
        if found is None:
            return None
        row, payload = check(found[0], self._where), found[1]
        if not isinstance(payload, bytes) or sha256(payload) != row.payload_sha256:
            raise LedgerError(f"{self._where}: the release in entry {row.seq} is damaged; restore a copy of the ledger")
        return Stored(row.seq, row.hash, payload)

    def reserve(self, plan_hash: str, loss: Loss) -> Reservation:
        """Charge the budget, durably."""
        _check_plan_hash(plan_hash)
        charged = charge(loss, self.currency)
        with self._db.transaction(write=True) as connection:
            tip = _rows.tip(connection, self._seen, self._where)
            spent = entry(tip, self._where).spent
            after = add(spent, charged)
            if not within(after, self._budget):
                raise BudgetExceeded(refusal(charged, left(self._budget, spent), self._budget))
            row = _rows.append(
                connection, tip, "reserve", reservation=None, plan_hash=plan_hash, loss=charged, spent=after
            )
        self._seen = row
        self._pending[row.hash] = (os.getpid(), None)
        return Reservation(self._first.hash, row.hash, plan_hash, charged, row.seq)

    def commit(self, reservation: Reservation, payload: bytes) -> Stored:
        """Store the whole release, durably."""
        if not isinstance(payload, bytes) or len(payload) > _LARGEST_PAYLOAD:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a release is stored as bytes, at most {_LARGEST_PAYLOAD} of them")
        ident = reservation.id
        self._claim(reservation, sha256(payload))
        with self._db.transaction(write=True) as connection:
            tip = _rows.tip(connection, self._seen, self._where)
            rows = _rows.of_reservation(connection, ident, self._where)
            if [row.kind for row in rows] != ["reserve"] or rows[0].plan_hash != reservation.plan_hash:
                raise LedgerError(f"{self._where} has a release for reservation {ident} already, or never reserved it")
            row = _rows.append(
                connection,
                tip,
                "release",
                reservation=ident,
                plan_hash=reservation.plan_hash,
                loss=entry(rows[0], self._where).loss,
                spent=entry(tip, self._where).spent,
                payload=payload,
            )
        self._seen = row
        self._pending.pop(ident, None)
        return Stored(row.seq, row.hash, payload)

    def entries(self) -> Iterator[Entry]:
        """Every entry up to now, in order, each checked against its own hash."""
        for values, _ in _rows.pages(self._db, self._newest().seq, payloads=False):
            yield entry(check(values, self._where), self._where)

    def verify(self) -> int:
        """Walk the whole chain; the number of entries."""
        last = self._newest().seq
        count = sum(1 for _ in walk(_rows.pages(self._db, last, payloads=True), self._where))
        if count != last + 1:
            raise LedgerError(f"{self._where} cannot be trusted: entry {count} is bad: it is missing")
        return count

    def close(self) -> None:
        """Give up the ledger; a ledger in memory is gone."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()

    def _newest(self) -> Row:
        with self._db.transaction(write=False) as connection:
            row = _rows.tip(connection, self._seen, self._where)
        self._seen = row
        return row

    def _claim(self, reservation: Reservation, digest: str) -> None:
        """Tie the reservation to the one payload that may be stored for it, before anything is written."""
        here = os.getpid()
        process, tried = self._pending.get(reservation.id, (None, None))
        if process != here or reservation.ledger != self._first.hash or tried not in (None, digest):
            raise LedgerError(
                f"reservation {reservation.id} is not open here: it has its release already, or another release was "
                "tried for it, or another ledger or process made it; make a new reservation before you draw noise again"
            )
        self._pending[reservation.id] = (here, digest)


def _check_plan_hash(plan_hash: str) -> None:
    if not isinstance(plan_hash, str) or not _PLAN_HASH.fullmatch(plan_hash):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("a plan hash must be 1 to 256 printable ASCII characters without spaces")
