"""What every ledger does, wherever it is kept, for those who spend, those who audit and those who own it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self

from discreet.ledger.state._events import Counted, Facts, Kind
from discreet.privacy import Loss, Relation

__all__ = ["MOST_REPEATS", "Entry", "Head", "Ledger", "Reservation", "Stored"]

MOST_REPEATS = 100
"""How many keys of requests an account may use for free answers to one plan: each is an entry for the ledger's life."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that is on disk and entitles its holder to store one release.

    Only the ledger object that made it, in the process that made it, can commit it. If that never happens the
    reservation is dead: its budget is gone. `id` is the hash of its entry, `ledger` the hash of the ledger's first.
    """

    ledger: str
    id: str
    account: str
    plan_hash: str
    loss: Loss
    at: datetime


@dataclass(frozen=True, slots=True)
class Stored:
    """A release as the ledger keeps it: the hash of its entry, its bytes, and when it was stored.

    An account has no hash of an entry of format 2, which would tell of others.
    """

    head: str | None
    payload: bytes = field(repr=False)
    at: datetime


@dataclass(frozen=True, slots=True)
class Head:
    """Where a ledger ends. Kept where the ledger's keeper cannot reach, it shows later that nothing was taken back."""

    ledger: str
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    `account` is who it is about, ``""`` for the whole. `loss` is the budget in a ``"create"`` entry, the charge in a
    ``"reserve"`` entry and in its ``"release"``, the cap in a ``"grant"``, ``"renew"`` or ``"convert"``, what moved in
    a ``"transfer"``, and None in a ``"repeat"``, which answered a request with a key for free; `spent` is what the
    whole has spent in its window after the entry. The payload is left out.

    An analyst is told nothing of others: `seq` and `previous` are None, `spent` is what the account has spent, `at` is
    the account's own time, and `hash` is a commitment that the owner can open. Of an entry of format 2, whose hash is
    none, `hash` and `reservation` are None too.
    """

    seq: int | None
    kind: Kind
    account: str
    idempotency_key: str | None
    reservation: str | None
    plan_hash: str | None
    part: str | None
    loss: Loss | None
    spent: Loss
    at: datetime
    payload_sha256: str | None
    previous: str | None
    hash: str | None
    steps: tuple[int, int] | None = None
    """The first and last step that a run has, or that an entry began or stored."""


class Ledger(Protocol):
    """A budget that outlives the process. Charge with `reserve`, then draw noise, then `commit`, then answer.

    All totals are sums of exact fractions in one currency, fixed when the ledger is made, but that its owner may
    convert one of pure ε once. A ledger may be used by many threads and processes at once. After
    `close` every method raises `LedgerError`, as it does when the ledger cannot be read, written or trusted.
    """

    @property
    def facts(self) -> Facts:
        """What was fixed when the ledger was made."""
        ...

    @property
    def currency(self) -> str:
        """``"pure"``, ``"approx"``, ``"rho"`` or ``"mu"``."""
        ...

    @property
    def budget(self) -> Loss:
        """The cap of this account, or of the whole, as one node of the currency."""
        ...

    @property
    def spent(self) -> Loss:
        """What this account, or the whole, has spent in its window, read from the ledger now."""
        ...

    @property
    def remaining(self) -> Loss:
        """What its own cap still allows, read from the ledger now. The whole may allow an account less."""
        ...

    def find(self, plan_hash: str) -> Stored | None:
        """The newest release of this account for this plan, or None. Serving it again costs nothing."""
        ...

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
        """Charge the account and the whole at once; the charge is on disk when this returns, and nothing gives it back.

        Two requests cost nothing and return what is stored: one for a plan that this account has a release of, unless
        `fresh`; and one whose `idempotency_key` this account has used before for the same plan and loss, which is
        answered as it was then, for a charge or for nothing. A key that was charged and has no release is refused: that
        reservation is open elsewhere, or dead. So is one that was used for another plan or loss, and a new one for an
        answer that the account has under `MOST_REPEATS` keys.

        `relation` says which neighbours the loss is for, and must be the ledger's; without it the caller vouches.
        `counts` says whose privacy the loss is about, and must be what the ledger counts.

        Raises `BudgetExceeded` if the loss does not fit (nothing is written), `ParameterError` if it cannot be
        expressed in the ledger's currency. After any error no noise may be drawn.
        """
        ...

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
    ) -> Any:
        """Charge a whole run of so many steps at once, durably; a `discreet.ledger.Run`.

        A run that this account has of this plan already goes on, at no cost, in whichever process asks. With the
        `charged` id of a run that one alone does, and nothing is charged. Raises what `reserve` raises, and
        `LedgerError` if that run was charged otherwise, or the account has none of that id.
        """
        ...

    def certify(self, statement: Mapping[str, Any], reservation: Reservation) -> dict[str, Any]:
        """The statement with the ledger's name for the reservation, signed."""
        ...

    def commit(self, reservation: Reservation, payload: bytes) -> Stored:
        """Store the whole release; it is on disk when this returns, and may then be answered.

        Raises `LedgerError` for a second commit and for a reservation of another ledger or process. After a failure of
        the disk the same bytes may be tried again; other bytes are refused, for they would be a second draw.
        """
        ...

    def close(self) -> None:
        """Give up the ledger; a ledger in memory is gone. Closing twice is harmless."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
