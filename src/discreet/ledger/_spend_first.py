"""The order of every release: reserve, draw, store, answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from discreet.errors import DataError
from discreet.ledger._protocol import Ledger, Stored
from discreet.ledger.state._events import Counted
from discreet.privacy import Loss, Relation
from discreet.release import Certify

__all__ = ["Request", "spend_first"]


class _Storable(Protocol):
    def to_bytes(self) -> bytes: ...


_R = TypeVar("_R", bound=_Storable)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a ledger: see `Ledger.reserve`."""

    plan_hash: str
    loss: Loss
    part: str | None = None
    relation: Relation | None = None
    idempotency_key: str | None = None
    fresh: bool = False
    counts: Counted = "people"


def spend_first(ledger: Ledger, request: Request, drawn: Callable[[Certify], _R], read: Callable[[bytes], _R]) -> _R:
    """Answer a request with what is stored, at no cost; or charge it, and only then draw, store and answer.

    `drawn` draws the noise and makes the release, `read` restores one from its bytes. Costs the loss of the request.
    Raises what `Ledger.reserve` raises, with nothing spent, and what `drawn` and `Ledger.commit` raise: then the charge
    stays, and nothing was answered. Where memory runs out it is `DataError`, which does not say how much was asked for:
    that is a size of something private.
    """
    reservation = ledger.reserve(
        request.plan_hash, request.loss,
        part=request.part, relation=request.relation, idempotency_key=request.idempotency_key, fresh=request.fresh,
        counts=request.counts,
    )  # fmt: skip
    if isinstance(reservation, Stored):
        return read(reservation.payload)
    release = _drawn(drawn, lambda statement: ledger.certify(statement, reservation))
    ledger.commit(reservation, release.to_bytes())
    return release


def _drawn(drawn: Callable[[Certify], _R], certify: Certify) -> _R:
    try:
        return drawn(certify)
    except MemoryError:
        pass
    raise DataError("there is not enough memory for this answer; nothing was answered, and the charge stays")
