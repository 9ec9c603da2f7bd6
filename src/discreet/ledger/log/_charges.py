"""Check that each reservation has at most one release, and that each step of a run is stored once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.log._commitments import Row, parsed

__all__ = ["MOST_AT_ONCE", "MOST_STEPS", "Charges"]

MOST_STEPS = 10**9
"""Of a run."""
MOST_AT_ONCE = 100_000
"""Steps that are begun together."""

_NEEDS, _MAY, _NO = "needs", "may", "no"
_COLUMNS = {
    "reserve": (_NEEDS, _NO, _NO, _MAY),
    "release": (_NEEDS, _NEEDS, _NEEDS, _NO),
    "repeat": (_NEEDS, _NO, _NO, _NEEDS),
    "run": (_NEEDS, _NO, _NO, _NO),
    "begin": (_NEEDS, _NO, _NO, _NO),
    "step": (_NEEDS, _NEEDS, _NEEDS, _NO),
}
"""For each kind, whether a row has a plan, a reservation, a payload and an idempotency key; others have none."""


@dataclass(slots=True)
class _Run:
    account: str
    steps: int
    sequential: bool
    begun: int = 0
    stored: int = 0
    """The step that was stored last."""
    open: set[int] = field(default_factory=set[int])
    """The steps that were begun and are not stored."""


class Charges:
    """The charges of a ledger up to a row: those without a release, which releases there are, and runs."""

    def __init__(self) -> None:
        self._open: dict[str | None, tuple[str | None, str, Mapping[str, list[str]]]] = {}
        self._released: set[int] = set()
        self._runs: dict[str | None, _Run] = {}

    def check(self, row: Row, data: Mapping[str, Any], last: Row, currency: str) -> None:
        """Raise `LedgerError` unless the row may follow; `data` is its event, `last` the row before.

        `currency` is the ledger's before the row.
        """
        present = (row.plan_hash, row.reservation, row.payload_sha256, row.idempotency_key)
        for value, rule in zip(present, _COLUMNS.get(row.kind, (_NO,) * 4), strict=True):
            if (value is None and rule == _NEEDS) or (value is not None and rule == _NO):
                raise LedgerError(f"a {row.kind!r} entry has other columns than these")
        match row.kind:
            case "reserve":
                self._open[row.hash] = (row.plan_hash, row.account, data["history"])
            case "release":
                self._release(row, data, currency)
            case "repeat" if hash((data["answer"], row.account, row.plan_hash)) not in self._released:
                raise LedgerError("it repeats a release that its account does not have for this plan")
            case "run":
                steps, sequential = data["steps"], data["sequential"]
                if not _is_number(steps) or steps > MOST_STEPS or not isinstance(sequential, bool):
                    raise LedgerError("a run states its number of steps, and whether they are sequential")
                self._runs[row.hash] = _Run(row.account, steps, sequential)
            case "begin" | "step":
                self._step(row, data)
            case "transfer" if "from" in data:
                given = parsed(last.body)["event"]
                taken = (data["from"], row.account, data["loss"])
                if last.kind != "transfer" or taken != (last.account, given["to"], given["loss"]):
                    raise LedgerError("the entry before it is not the other half of this transfer")
            case _:
                pass

    def _release(self, row: Row, data: Mapping[str, Any], currency: str) -> None:
        reserved = self._open.pop(row.reservation, None)
        if reserved is None:
            raise LedgerError(f"a {row.kind!r} entry does not belong there")
        plan, account, history = reserved
        if (plan, account, history[currency]) != (row.plan_hash, row.account, data["loss"]):
            raise LedgerError("it is a release of something other than what was reserved")
        self._released.add(hash((row.hash, row.account, row.plan_hash)))

    def _step(self, row: Row, data: Mapping[str, Any]) -> None:
        run = self._runs.get(row.plan_hash)
        if run is None or run.account != row.account:
            raise LedgerError("it is about a run that its account does not have")
        if row.kind == "begin":
            first, last = data["first"], data["last"]
            follows = _is_number(first) and _is_number(last) and first == run.begun + 1 and first <= last <= run.steps
            if not follows or last - first >= MOST_AT_ONCE:
                raise LedgerError("its steps are not those that come next in the run")
            if run.sequential:
                if data["after"] != run.stored:
                    raise LedgerError("it goes on from a step that is not the one that was stored last")
                run.open.clear()  # a process that was overtaken can no longer store a step
            run.begun = last
            run.open.update(range(first, last + 1))
            return
        step = data["step"]
        if run.sequential and step <= run.stored:
            raise LedgerError("it stores a step of a sequential run after a later one")
        if step not in run.open or row.reservation != f"{row.plan_hash}.{step}":
            raise LedgerError("it stores a step that was not begun, or was stored before")
        run.open.remove(step)
        run.stored = step


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
