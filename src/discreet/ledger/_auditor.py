"""Reading a whole ledger: for auditors, who see all but what was released, and for its owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from discreet.errors import LedgerError
from discreet.ledger._charge_log import LoggedCharge, logged_charges
from discreet.ledger._protocol import Entry, Head
from discreet.ledger.log import _rows
from discreet.ledger.log._commitments import Row, digests, own_columns, salted, sha256
from discreet.ledger.log._store import LedgerStore
from discreet.ledger.log._summary import kinds, latest, moments
from discreet.ledger.state._account import OWNER_ACCOUNT, Account
from discreet.ledger.state._arithmetic import History
from discreet.ledger.state._events import Facts

__all__ = ["LedgerAudit", "check_opening", "opening_of"]


_NAMES = ("entry", "hash", "place", "salt")


def opening_of(row: Row, where: str) -> dict[str, Any]:
    """The opening of a checked row, as plain JSON; raises `LedgerError` for an entry of format 2."""
    if row.salt is None:
        raise LedgerError(
            f"{where}: this entry is of an older format, whose hashes cannot be opened without telling of others; "
            "`discreet ledger export` has it for the owner and for auditors"
        )
    place = digests(row)[1].hex()
    return {"hash": row.hash, "salt": row.salt[: len(row.salt) // 2], "place": place, "entry": own_columns(row)}


def check_opening(opening: object, position: str) -> Mapping[str, Any]:
    """What the entry says whose hash is `position`, as a certificate holds it, if the opening proves it.

    The result has `kind`, `account`, `plan_hash`, `payload_sha256`, `reservation`, `idempotency_key` and, as JSON text,
    the `body`: the event, and the account after it. That the entry is in the ledger's chain is for those to check who
    may read all of it: `discreet ledger check --anchor`.

    Costs nothing. Raises `LedgerError` for an opening of something else, or none.

    >>> from discreet.ledger import open_ledger
    >>> from discreet.privacy import pure
    >>> with open_ledger(None, pure(3)) as ledger:
    ...     ada = ledger.open_account("ada", ledger.grant("ada", pure(1)))
    ...     position = ada.reserve("plan-1", pure(0.25)).id
    ...     entry = check_opening(ledger.opening(position), position)
    >>> entry["kind"], entry["account"], entry["plan_hash"]
    ('reserve', 'ada', 'plan-1')
    """
    match opening:
        case {"entry": dict() as entry, "hash": str(), "place": str(place), "salt": str(salt), **rest} if not rest:
            columns = cast("dict[str, Any]", entry)
            if _hash(columns, salt, place) == position:
                return columns
        case _:
            raise LedgerError(
                f"an opening is a JSON object with {', '.join(_NAMES)}; `discreet ledger prove` prints it"
            )
    raise LedgerError("the opening is not of this position: it is of another entry, or was changed")


def _hash(columns: Mapping[str, Any], salt: str, place: str) -> str | None:
    try:
        return sha256(salted(bytes.fromhex(salt), columns) + bytes.fromhex(place))
    except (TypeError, ValueError, RecursionError):
        return None


class LedgerAudit:
    """All entries, accounts, questions and totals of a ledger, and whether it is whole. It spends nothing."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._store.place}; {self._store.status(OWNER_ACCOUNT)}>"

    @property
    def facts(self) -> Facts:
        """What was fixed when the ledger was made."""
        return self._store.public_facts()

    @property
    def total(self) -> Account:
        """The budget that all accounts share, as it is now."""
        return self._store.state(OWNER_ACCOUNT).total

    @property
    def accounts(self) -> dict[str, Account]:
        """Every account under the owner's budget, as it is now, by its name."""
        return {s.account.name: s.account for s in self._store.states()[1] if s.account is not None}

    @property
    def history(self) -> History:
        """What one person may have lost since the ledger was made, in each currency that can express all of it.

        All are true at once, and `discreet.privacy.filters.Odometer` reads an ε off any of them.
        """
        return self._store.state(OWNER_ACCOUNT).lifetime

    @property
    def head(self) -> Head:
        """Where the ledger ends now. Note it where the ledger's keeper cannot reach: see `verify`."""
        return self._store.head()

    def entries(self) -> Iterator[Entry]:
        """Every entry up to now, in order, each checked against its own hash."""
        return self._store.entries()

    def latest(self, count: int) -> list[Entry]:
        """The newest entries, newest first, each checked against its own hash."""
        return latest(self._store, count)

    def log(self, count: int) -> list[LoggedCharge]:
        """The newest charges of all accounts, newest first, with the questions that they paid for, not the answers."""
        return logged_charges(self._store, count)

    def kinds(self) -> dict[str, int]:
        """How many entries there are of each kind, as the table says."""
        return kinds(self._store)

    def moments(self, count: int, account: str = OWNER_ACCOUNT) -> list[tuple[datetime, Account]]:
        """The owner's budget, or an account's, at no more than `count` moments spread over the ledger, and now."""
        return moments(self._store, count, account)

    def opening(self, position: str) -> dict[str, Any]:
        """What proves to whoever has the hash of an entry what that entry says of whom it is about, as plain JSON.

        `position` is as a certificate has it. Nothing in an opening tells of others: see `check_opening`. Raises
        `LedgerError` if the ledger holds no such entry, or one of an older format.
        """
        with self._store.database.transaction(write=False) as connection:
            row = _rows.of_hash(connection, position, self._store.where)
        if row is None:
            raise LedgerError(f"{self._store.where} has no entry of this hash: it is of another ledger, or was removed")
        return opening_of(row, self._store.where)

    def verify(self, anchors: Mapping[str, str] | None = None) -> int:
        """Walk the whole chain, payloads included; the number of entries. `LedgerError` names the first bad one.

        `anchors` are hashes of entries that were noted elsewhere, each under the name that an error calls it by: the
        hash of a `head`, or the position in a certificate. A chain that lacks one was cut off or put back. Without any,
        that cannot be known.
        """
        return self._store.verify(anchors or {})
