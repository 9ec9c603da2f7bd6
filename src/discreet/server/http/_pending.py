"""Answers that are being drawn while their asker does something else, in whichever worker of the server."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from discreet.server.connections import BEGUN, Bus
from discreet.server.desk import Refusal, Ticket

__all__ = ["Pending", "PendingAnswers"]

Name = tuple[str, str, str]
"""A source, an account with its role, and the hash of a plan."""

_MOST, _MOST_OF_ONE = 1_000, 50
_REMEMBERED_SECONDS = 600.0
_TOPIC = "pending"


@dataclass(slots=True)
class Pending:
    """One question: since when it is asked, how it is cancelled, and the refusal if it failed.

    `since` and `ended` are readings of the clock that all processes of a machine share. `worker` is the place of the
    other worker that answers; None is this one.
    """

    cancel: Callable[[], object]
    since: float = field(default_factory=time.monotonic)
    worker: int | None = None
    ended: float | None = None
    refusal: Refusal | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def elapsed(self) -> int:
        """Whole seconds since it was asked: all that is said of its progress."""
        return int((self.ended or time.monotonic()) - self.since)

    def end(self, refusal: Refusal | None = None) -> None:
        """Note that it has ended, and whether it failed."""
        self.refusal, self.ended = refusal, time.monotonic()
        self.done.set()


class PendingAnswers:
    """The questions of all workers by account and answer; those that ended are remembered for ten minutes."""

    def __init__(self, bus: Bus) -> None:
        self._all: OrderedDict[Name, Pending] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bus = bus
        bus.listen(_TOPIC, self._hear)
        bus.listen(BEGUN, self._hear_begun)

    def get(self, name: Name) -> Pending | None:
        """What is pending, or ended not long ago."""
        self._forget()
        return self._all.get(name)

    def start(self, name: Name, answer: Callable[[Ticket], Awaitable[object]]) -> Pending:
        """Answer, unless that is going on already. Raises `Refusal` where too much is, of the account or of all."""
        self._forget()
        there = self._all.get(name)
        if there is not None and there.ended is None and there.worker is None:
            return there
        going = [each for each, pending in self._all.items() if pending.ended is None]
        if len(going) >= _MOST or sum(each[:2] == name[:2] for each in going) >= _MOST_OF_ONE:
            raise Refusal("rate", "too many questions are being answered now; ask again in a moment", wait=5)
        ticket = Ticket()
        pending = self._put(name, Pending(ticket.cancel))
        self._bus.tell(_TOPIC, {"started": name, "since": pending.since, "worker": self._bus.place})
        task = asyncio.create_task(self._run(name, pending, answer(ticket)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return pending

    async def finish(self) -> None:
        """Wait for what is being answered."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _put(self, name: Name, pending: Pending) -> Pending:
        self._all.pop(name, None)
        self._all[name] = pending
        return pending

    def _forget(self) -> None:
        limit = time.monotonic() - _REMEMBERED_SECONDS
        ended = [name for name, each in self._all.items() if each.ended is not None]
        spare = max(0, len(ended) - _MOST)
        for place, name in enumerate(ended):
            if place < spare or (self._all[name].ended or 0.0) < limit:
                del self._all[name]

    async def _run(self, name: Name, pending: Pending, answer: Awaitable[object]) -> None:
        refusal: Refusal | None = None
        try:
            await answer
        except Refusal as refused:
            refusal = refused
        except Exception:  # noqa: BLE001 - it is told as what it is, a failure of the server
            refusal = Refusal("data", "the server failed while it answered; what was charged stays spent")
        pending.end(refusal)
        parts = None if refusal is None else [refusal.kind, str(refusal), refusal.wait]
        self._bus.tell(_TOPIC, {"ended": name, "refusal": parts})

    def _hear(self, message: Mapping[str, Any]) -> None:
        """What another worker says of a question: it answers one, it has, or its asker came here to cancel it."""
        if "started" in message:
            name = _name_in(message["started"])
            there = self._all.get(name)
            if there is None or there.ended is not None:
                cancel = partial(self._bus.tell, _TOPIC, {"cancel": name})
                self._put(name, Pending(cancel, message["since"], message["worker"]))
        elif "ended" in message:
            pending = self._all.get(_name_in(message["ended"]))
            if pending is not None and pending.worker is not None:
                parts = message["refusal"]
                pending.end(None if parts is None else Refusal(parts[0], parts[1], wait=parts[2]))
        else:
            pending = self._all.get(_name_in(message["cancel"]))
            if pending is not None and pending.worker is None:
                pending.cancel()

    def _hear_begun(self, message: Mapping[str, Any]) -> None:
        """A worker has begun where another one died: what that one answered is for somebody to ask again."""
        for pending in self._all.values():
            if pending.worker == message["worker"] and pending.ended is None:
                pending.end()


def _name_in(content: list[str]) -> Name:
    source, account, plan = content
    return source, account, plan
