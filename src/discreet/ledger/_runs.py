"""Runs: many steps under one charge, with a durable counter. Proof: ``proofs/runs.md``."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import LedgerError, ParameterError
from discreet.ledger._access import AccountAccess
from discreet.ledger._claims import Claims
from discreet.ledger._protocol import Reservation
from discreet.ledger.crypto._signing import certified, code_version
from discreet.ledger.log import _rows
from discreet.ledger.log._store import LedgerStore
from discreet.privacy import Loss

__all__ = ["Run", "certificate_for", "check_steps"]

_MOST_STEPS = 10**9
_MOST_AT_ONCE = 100_000
_BLIND = 16
"""Unpredictable bytes before what is stored: the chain has its SHA-256, from which nobody may guess a state."""
_HEAD = struct.Struct(">Q?")


@dataclass(frozen=True, slots=True)
class _Stored:
    """The answer of a step, and the state after it."""

    answer: bytes
    state: bytes | None

    def pack(self) -> bytes:
        from discreet import noise

        head = _HEAD.pack(len(self.answer), self.state is not None)
        return noise.secret(_BLIND) + head + self.answer + (self.state or b"")

    @classmethod
    def unpack(cls, payload: bytes, where: str) -> _Stored:
        body = payload[_BLIND + _HEAD.size :]
        try:
            length, has_state = _HEAD.unpack_from(payload, _BLIND)
        except struct.error:
            length, has_state = -1, False
        if not 0 <= length <= len(body) or (not has_state and length != len(body)):
            raise LedgerError(f"{where}: a stored step cannot be read; it is damaged")
        return cls(body[:length], body[length:] if has_state else None)


class Run:
    """A run that was charged whole: training, a stream, a collection in rounds. Made by `Ledger.open_run`.

    Its steps are numbered from 1. `begin` moves a counter on disk before anything is drawn, and `store` puts the answer
    of a step, and the state that the next one needs, on disk in one transaction. Whoever opens the run again goes on
    from the counter. A step that was begun and not stored is lost: it is charged and never begun again.

    Each step happens once, whoever tries: of several processes one begins it. Where a step needs the state of the one
    before, begin it with ``after=`` that one, and a process that was overtaken is refused.

    >>> from discreet.ledger import open_ledger
    >>> from discreet.privacy import pure
    >>> with open_ledger(None, pure(3)) as ledger:
    ...     run = ledger.open_run("counter-1", pure(1), steps=10)
    ...     number, state = run.state() or (0, b"")
    ...     (step,) = run.begin(after=number)        # then draw the noise of this step
    ...     run.store(step, b"an answer", b"the next state")
    ...     again = ledger.open_run("counter-1", pure(1), steps=10)
    ...     again.begun, again.answer(1), again.state(), ledger.remaining
    (1, b'an answer', (1, b'the next state'), pure(2))
    """

    def __init__(self, access: AccountAccess, reservation: Reservation, steps: int) -> None:
        self._access = access
        self._store = access.store
        self._reservation = reservation
        self._steps = steps
        self._claims = Claims(access.store, access.account)
        self._tried: dict[int, tuple[_Stored, bytes]] = {}

    @property
    def id(self) -> str:
        """The hash of the entry that charged it."""
        return self._reservation.id

    @property
    def loss(self) -> Loss:
        """What was charged for all its steps together."""
        return self._reservation.loss

    @property
    def steps(self) -> int:
        """How many steps it has."""
        return self._steps

    @property
    def begun(self) -> int:
        """The number of the last step that anybody has begun, 0 if none was; read from the ledger now."""
        with self._access.confined(), self._store.reading(self._access.account) as page:
            self._access.admitted(page.state)
            return self._begun(page.connection)

    def begin(self, count: int = 1, *, after: int | None = None) -> range:
        """Move the counter by so many steps, durably; their numbers. Only then may their noise be drawn.

        With `after`, only if that is the last step that was begun. Costs nothing, for the run is charged. Raises
        `LedgerError` if another process has begun the next step, if no steps are left, or if the budget was frozen or
        has ended; then nothing may be drawn.
        """
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_AT_ONCE:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"count is a number of steps, from 1 to {_MOST_AT_ONCE:,}, not {count!r}")
        store = self._store
        with self._access.confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._access.account)
            self._access.admitted(page.state)
            store.unlock()
            begun = self._begun(connection)
            if after is not None and begun != after:
                raise LedgerError(
                    f"this run was begun up to step {begun:,} meanwhile, not {after:,}: read its state, and go on from "
                    "there"
                )
            if begun + count > self._steps:
                raise LedgerError(
                    f"this run has {self._steps - begun:,} of its {self._steps:,} steps left, not {count:,}; a new run "
                    "needs a new charge"
                )
            event = {"first": begun + 1, "last": begun + count}
            row = page.write("begin", event, plan_hash=self.id)
        store.seen = row
        steps = range(begun + 1, begun + count + 1)
        for step in steps:
            self._claims.add(self._name(step))
        return steps

    def store(self, step: int, answer: bytes, state: bytes | None = None) -> None:
        """Store the answer of a step that this object began, and the state after it, in one durable transaction.

        Both are as encrypted as the ledger is. After a failure of the disk the same bytes may be tried again. Raises
        `LedgerError` for other bytes, which would be a second draw, and for a step that was stored or begun elsewhere.
        """
        if not isinstance(answer, bytes) or not isinstance(state, bytes | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the answer and the state of a step are bytes")
        name, store = self._name(step), self._store
        sealed = self._claims.seal(name, self._packed(step, _Stored(answer, state)))
        with self._access.confined():
            elsewhere = store.store_large(sealed)
        with self._access.confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._access.account)
            if _rows.of_reservation(connection, name, store.where):
                raise LedgerError(f"step {step:,} of this run is stored already")
            row = page.write(
                "step", {"step": step}, plan_hash=self.id, reservation=name, payload=sealed, elsewhere=elsewhere
            )
        store.seen = row
        self._claims.drop(name)
        self._tried.pop(step, None)

    def answer(self, step: int) -> bytes | None:
        """The answer of a step that was stored, at no cost; None for one that was not, or is lost."""
        with self._access.confined(), self._store.reading(self._access.account) as page:
            self._access.admitted(page.state)
            rows = _rows.of_reservation(page.connection, self._name(step), self._store.where)
            stored = None if not rows else self._unpacked(self._store.release(page.connection, rows[0]))
        if stored is None:
            return None
        self._store.database.sync()
        return stored.answer

    def state(self) -> tuple[int, bytes] | None:
        """The number of the step that was stored last and the state after it; None if there is none."""
        with self._access.confined(), self._store.reading(self._access.account) as page:
            self._access.admitted(page.state)
            row = _rows.newest_step(page.connection, self.id, "step", self._store.where)
            stored = None if row is None else self._unpacked(self._store.release(page.connection, row))
        if row is None or stored is None or stored.state is None:
            return None
        self._store.database.sync()
        return int(self._store.event_of(row)["step"]), stored.state

    def certify(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        """The statement with the ledger's name for the charge of this run, signed."""
        return certificate_for(self._store, statement, self._reservation)

    def __repr__(self) -> str:
        return f"<run {self.id[:12]}, {self._steps:,} steps>"

    def _begun(self, connection: Any) -> int:
        row = _rows.newest_step(connection, self.id, "begin", self._store.where)
        return 0 if row is None else int(self._store.event_of(row)["last"])

    def _name(self, step: int) -> str:
        return f"{self.id}.{step:d}"

    def _packed(self, step: int, stored: _Stored) -> bytes:
        """What to store: the same bytes, blinding included, each time that the same answer and state are tried."""
        tried, packed = self._tried.setdefault(step, (stored, stored.pack()))
        return packed if tried == stored else stored.pack()

    def _unpacked(self, payload: bytes) -> _Stored:
        return _Stored.unpack(payload, self._store.where)


def check_steps(steps: object) -> None:
    """Raise `ParameterError` unless it is a number of steps."""
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= _MOST_STEPS:
        raise ParameterError(f"a run has a number of steps from 1 to {_MOST_STEPS:,}, not {steps!r}")


def certificate_for(store: LedgerStore, statement: Mapping[str, Any], reservation: Reservation) -> dict[str, Any]:
    """The statement with the ledger's name for a charge, signed."""
    return certified(
        statement,
        private=store.private_key(),
        code=code_version(),
        ledger=reservation.ledger,
        account=reservation.account or None,
        position=reservation.id,
        at=reservation.at,
    )
