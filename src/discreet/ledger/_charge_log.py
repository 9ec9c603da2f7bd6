"""Who asked what, when, and for how much: the charges of a ledger with the questions that they paid for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from discreet.errors import LedgerError
from discreet.ledger._protocol import Entry
from discreet.ledger.log import _rows
from discreet.ledger.log._chain import check, entry, subject_time
from discreet.ledger.log._schema import entries, row_columns
from discreet.ledger.log._store import LedgerStore

__all__ = ["LoggedCharge", "logged_charges"]


@dataclass(frozen=True, slots=True)
class LoggedCharge:
    """A charge, and of the release that it paid for the question and the policy, as the certificate has them.

    `question` is the SQL, or the kind of another release. It is None where nothing was stored, where what was stored is
    no release of discreet, and where it is `sealed`, in a ledger that was opened without its key; `answered` says that
    something was stored, and `answered_at` when. So it is where that is `damaged`: missing, changed or not to be read,
    as `find` says in full. `policy` is the digest of the policy, and `version` the label of the data.
    """

    charge: Entry
    answered: bool
    question: str | None = None
    policy: str | None = None
    version: str | None = None
    sealed: bool = False
    damaged: bool = False
    answered_at: datetime | None = None


def logged_charges(store: LedgerStore, count: int, account: str | None = None) -> list[LoggedCharge]:
    """The newest charges, of one account if one is named, newest first, each checked against its own hash."""
    mine = [] if account is None else [entries.c.account == account]
    kinds = entries.c.kind.in_(("reserve", "run"))
    wanted = sa.select(*row_columns).where(kinds, *mine).order_by(entries.c.seq.desc()).limit(count)
    with store.database.transaction(write=False) as connection:
        rows = [check(values, store.where) for values in connection.execute(wanted)]
        return [
            _logged(store, connection, entry(store.facts, row, store.where, own=account is not None), row.hash)
            for row in rows
        ]


def _logged(store: LedgerStore, connection: sa.Connection, charge: Entry, reservation: str) -> LoggedCharge:
    stored = [row for row in _rows.of_reservation(connection, reservation, store.where) if row.kind == "release"]
    if not stored:
        return LoggedCharge(charge, answered=False)
    at = subject_time(stored[0], store.where)
    if store.locked:
        return LoggedCharge(charge, answered=True, answered_at=at, sealed=True)
    from discreet.release import parse_release_file

    try:
        payload = store.release(connection, stored[0])
    except LedgerError:  # one that is damaged hides no other, nor its own cost
        return LoggedCharge(charge, answered=True, answered_at=at, damaged=True)
    try:
        certificate = parse_release_file(payload).certificate
    except LedgerError:  # stored by another program than discreet
        return LoggedCharge(charge, answered=True, answered_at=at)
    question, policy, version = (
        text if isinstance(text, str) else None
        for text in (
            certificate.get("query", certificate.get("kind")),
            certificate.get("policy"),
            certificate.get("version"),
        )
    )
    return LoggedCharge(charge, answered=True, answered_at=at, question=question, policy=policy, version=version)
