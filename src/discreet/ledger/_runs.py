"""Runs: many steps under one charge, with a durable counter. Proof: ``proofs/runs.md``."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

import sqlalchemy as sa

from discreet.errors import LedgerError, ParameterError
from discreet.ledger._access import AccountAccess
from discreet.ledger._claims import LARGEST_PAYLOAD, Claims
from discreet.ledger._protocol import Reservation
from discreet.ledger.crypto._signing import certified, code_version
from discreet.ledger.log import _rows
from discreet.ledger.log._charges import MOST_AT_ONCE, MOST_STEPS
from discreet.ledger.log._commitments import Row
from discreet.ledger.log._store import LedgerStore
from discreet.privacy import Loss

__all__ = ["Run", "RunState", "certificate_for", "check_steps"]

_BLIND = 16
"""Unpredictable bytes before what is stored: the chain has its SHA-256, from which nobody may guess a state."""
_HEAD = struct.Struct(">Q?")


@dataclass(frozen=True, slots=True)
class _Stored:
    """The answer of a step, and the state after it."""

    answer: bytes
    state: bytes | None

    def pack(self) -> tuple[bytes, ...]:
        """The pieces of what is stored: joined later, and once, for they may be large."""
        return _HEAD.pack(len(self.answer), self.state is not None), self.answer, self.state or b""

    @classmethod
    def unpack(cls, payload: bytes, where: str) -> _Stored:
        begin = _BLIND + _HEAD.size
        try:
            length, has_state = _HEAD.unpack_from(payload, _BLIND)
        except struct.error:
            length, has_state = -1, False
        end = begin + length
        if not begin <= end <= len(payload) or (not has_state and end != len(payload)):
            raise LedgerError(f"{where}: a stored step cannot be read; it is damaged")
        return cls(payload[begin:end], payload[end:] if has_state else None)


@dataclass(frozen=True, slots=True)
class RunState:
    """Where a run stands: the last step that anybody has begun, the one that was stored last (0: none), and its state.

    If these are two, the steps that were begun and are not stored are lost, or another process is about to store them.
    """

    begun: int
    stored: int
    state: bytes | None


class Run:
    """A run that was charged whole: training, a stream, a collection in rounds. Made by `Ledger.open_run`.

    Its steps are numbered from 1. `begin` moves a counter on disk before anything is drawn, and `store` puts the answer
    of a step, and the state that the next one needs, on disk in one transaction. Whoever opens the run again goes on
    from the counter. A step that was begun and not stored is lost: it is charged and never begun again.

    Each step happens once, whoever tries: of several processes one begins it. The steps of a *sequential* run need the
    state of the one before: they go on from what `read` returns, and a process that was overtaken meanwhile is refused,
    whether it begins a step or stores one. Steps of other runs are independent, and may be stored in any order.

    >>> from discreet.ledger import open_ledger
    >>> from discreet.privacy import pure
    >>> with open_ledger(None, pure(3)) as ledger:
    ...     run = ledger.open_run("counter-1", pure(1), steps=10)
    ...     latest = run.read()                      # its state is None before the first step
    ...     (step,) = run.begin(after=latest)        # then draw the noise of this step
    ...     run.store(step, b"an answer", b"the next state")
    ...     again = ledger.open_run("counter-1", pure(1), steps=10)
    ...     again.answer(1), again.read(), ledger.remaining
    (b'an answer', RunState(begun=1, stored=1, state=b'the next state'), pure(2))
    """

    def __init__(self, access: AccountAccess, reservation: Reservation, steps: int, *, sequential: bool) -> None:
        self._access = access
        self._store = access.store
        self._reservation = reservation
        self._steps = steps
        self._sequential = sequential
        self._claims = Claims(access.store, access.account)

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

    def read(self) -> RunState:
        """Where the run stands, in one snapshot, at no cost."""
        with self._access.confined(), self._store.reading(self._access.account) as page:
            self._access.admitted(page.state)
            begun, row = self._begun(page.connection), self._newest_stored(page.connection)
            stored = None if row is None else self._unpacked(self._store.release(page.connection, row))
        self._store.database.sync()
        return RunState(begun, self._number(row), None if stored is None else stored.state)

    def begin(self, count: int = 1, *, after: RunState | None = None) -> range:
        """Move the counter by so many steps, durably; their numbers. Only then may their noise be drawn.

        Of several steps of a sequential run each goes on from the one before, and they are stored in rising order. A
        sequential run goes on ``after=`` what `read` returned; steps that were begun before and are not stored are
        lost from then on. Costs nothing, for the run is charged. Raises `LedgerError` if the run has moved on since
        it was read, if no steps are left, or if the budget was frozen or has ended; then nothing may be drawn.
        """
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_AT_ONCE:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"count is a number of steps, from 1 to {MOST_AT_ONCE:,}, not {count!r}")
        if not isinstance(after, RunState if self._sequential else NoneType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(
                "the steps of a sequential run go on from what was read: begin(after=run.read())"
                if self._sequential
                else "the steps of this run are independent: leave after= out"
            )
        store = self._store
        with self._access.confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._access.account)
            self._access.admitted(page.state)
            store.unlock()
            begun, event = self._begun(connection), dict[str, int]()
            if after is not None:
                stored = self._number(self._newest_stored(connection))
                if (begun, stored) != (after.begun, after.stored):
                    raise LedgerError(
                        "this run has moved on since it was read: another process began or stored a step; read it "
                        "again, and go on from there"
                    )
                event["after"] = stored
            if begun + count > self._steps:
                raise LedgerError(
                    f"this run has {self._steps - begun:,} of its {self._steps:,} steps left, not {count:,}; a new run "
                    "needs a new charge"
                )
            event |= {"first": begun + 1, "last": begun + count}
            row = page.write("begin", event, plan_hash=self.id)
        store.seen = row
        steps = range(begun + 1, begun + count + 1)
        for step in steps:
            self._claims.add(self._name(step))
        return steps

    def store(self, step: int, answer: bytes, state: bytes | None = None) -> None:
        """Store the answer of a step that this object began, and the state after it, in one durable transaction.

        Both are as encrypted as the ledger is. After a failure of the disk the same bytes may be tried again. Raises
        `LedgerError` for other bytes, which would be a second draw, for a step that was stored or begun elsewhere, and
        for one of a sequential run that others have gone on without: its answer must then be shown to nobody.
        """
        if not isinstance(answer, bytes) or not isinstance(state, bytes | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the answer and the state of a step are bytes")
        payload = _Stored(answer, state).pack()
        if sum(map(len, payload)) > LARGEST_PAYLOAD - _BLIND:
            raise ParameterError(f"a step stores at most {LARGEST_PAYLOAD - _BLIND:,} bytes")
        name, store = self._name(step), self._store
        sealed = self._claims.seal(name, *payload, blind=_BLIND)
        with self._access.confined(), store.reading(self._access.account) as page:
            self._check_storable(page.connection, step)  # before a large payload is written beside the ledger
        with self._access.confined():
            elsewhere = store.store_large(sealed)
        with self._access.confined(), store.database.transaction(write=True) as connection:
            page = store.page(connection, self._access.account)
            self._check_storable(connection, step)
            row = page.write(
                "step", {"step": step}, plan_hash=self.id, reservation=name, payload=sealed, elsewhere=elsewhere
            )
        store.seen = row
        self._claims.drop(name)

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

    def certify(self, statement: Mapping[str, Any]) -> dict[str, Any]:
        """The statement with the ledger's name for the charge of this run, signed."""
        return certificate_for(self._store, statement, self._reservation)

    def __repr__(self) -> str:
        return f"<run {self.id[:12]}, {self._steps:,} steps>"

    def _check_storable(self, connection: sa.Connection, step: int) -> None:
        if _rows.of_reservation(connection, self._name(step), self._store.where):
            raise LedgerError(f"step {step:,} of this run is stored already")
        if self._sequential and step < max(self._first_open(connection), self._number(self._newest_stored(connection))):
            raise LedgerError(
                f"step {step:,} is lost: the run has gone on without it; show its answer to nobody, and read the run "
                "again"
            )

    def _begun(self, connection: sa.Connection) -> int:
        row = _rows.newest_step(connection, self.id, "begin", self._store.where)
        return 0 if row is None else int(self._store.event_of(row)["last"])

    def _first_open(self, connection: sa.Connection) -> int:
        """The first of the steps that were begun last."""
        row = _rows.newest_step(connection, self.id, "begin", self._store.where)
        return 0 if row is None else int(self._store.event_of(row)["first"])

    def _newest_stored(self, connection: sa.Connection) -> Row | None:
        return _rows.newest_step(connection, self.id, "step", self._store.where)

    def _number(self, row: Row | None) -> int:
        return 0 if row is None else int(self._store.event_of(row)["step"])

    def _name(self, step: int) -> str:
        if isinstance(step, bool) or not isinstance(step, int) or not 1 <= step <= self._steps:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a step of this run is a whole number from 1 to {self._steps:,}, not {step!r}")
        return f"{self.id}.{step:d}"

    def _unpacked(self, payload: bytes) -> _Stored:
        return _Stored.unpack(payload, self._store.where)


def check_steps(steps: object) -> None:
    """Raise `ParameterError` unless it is a number of steps."""
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise ParameterError(f"a run has a number of steps from 1 to {MOST_STEPS:,}, not {steps!r}")


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
