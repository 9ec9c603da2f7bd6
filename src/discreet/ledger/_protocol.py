"""What every ledger does, wherever it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Literal, Protocol, Self

from discreet.privacy import Loss

__all__ = ["Entry", "Kind", "Ledger", "Reservation", "Stored"]

Kind = Literal["create", "reserve", "release"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that is on disk and entitles its holder to store one release.

    Only the ledger object that made it, in the process that made it, can commit it. If that never happens the
    reservation is dead: its budget is gone. `id` is the hash of its entry, `ledger` the hash of the ledger's first.
    """

    ledger: str
    id: str
    plan_hash: str
    loss: Loss
    position: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A release as the ledger keeps it: the number of its entry, the hash of the chain up to it, and its bytes."""

    position: int
    head: str
    payload: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    `loss` is the budget in a ``"create"`` entry, the charge in a ``"reserve"`` entry, and in a ``"release"`` entry
    the charge of its reservation again; `spent` is the total after the entry. The payload is left out: see `find`.
    """

    seq: int
    kind: Kind
    reservation: str | None
    plan_hash: str | None
    loss: Loss
    spent: Loss
    at: datetime
    payload_sha256: str | None
    previous: str
    hash: str


class Ledger(Protocol):
    """A budget that outlives the process. Charge with `reserve`, then draw noise, then `commit`, then answer.

    All totals are sums of exact fractions in one currency, fixed when the ledger is made. A ledger may be used by many
    threads and processes at once. After `close` every method raises `LedgerError`, as it does when the ledger cannot
    be read, written or trusted.
    """

    @property
    def path(self) -> str | None:
        """The file, or None for a ledger in memory."""
        ...

    @property
    def currency(self) -> str:
        """``"pure"``, ``"approx"`` or ``"rho"``."""
        ...

    @property
    def budget(self) -> Loss:
        """The whole budget, as one node of the currency."""
        ...

    @property
    def spent(self) -> Loss:
        """The sum of all reservations, read from the ledger now."""
        ...

    @property
    def remaining(self) -> Loss:
        """What a reservation may still ask for, read from the ledger now."""
        ...

    def find(self, plan_hash: str) -> Stored | None:
        """The newest stored release for this plan, or None. Serving it again costs nothing."""
        ...

    def reserve(self, plan_hash: str, loss: Loss) -> Reservation:
        """Charge the budget; the charge is on disk when this returns, and nothing gives it back.

        Raises `BudgetExceeded` if the loss does not fit (nothing is written), `ParameterError` if it cannot be
        expressed in the ledger's currency. After any error no noise may be drawn.
        """
        ...

    def commit(self, reservation: Reservation, payload: bytes) -> Stored:
        """Store the whole release; it is on disk when this returns, and may then be answered.

        Raises `LedgerError` for a second commit and for a reservation of another ledger or process. After a failure of
        the disk the same bytes may be tried again; other bytes are refused, for they would be a second draw.
        """
        ...

    def entries(self) -> Iterator[Entry]:
        """Every entry in order, each checked against its own hash."""
        ...

    def verify(self) -> int:
        """Walk the whole chain, payloads included; the number of entries. `LedgerError` names the first bad one."""
        ...

    def close(self) -> None:
        """Give up the ledger; a ledger in memory is gone. Closing twice is harmless."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
