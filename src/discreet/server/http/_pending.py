"""Answers that are being drawn while their asker does something else."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from discreet.server.desk import Refusal, Ticket

__all__ = ["Pending", "PendingAnswers"]

_MOST, _MOST_OF_ONE = 1_000, 50
_REMEMBERED_SECONDS = 600.0


@dataclass(slots=True)
class Pending:
    """One question: since when it is asked, its ticket, and the refusal if it failed."""

    ticket: Ticket
    since: float = field(default_factory=time.monotonic)
    ended: float | None = None
    refusal: Refusal | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def elapsed(self) -> int:
        """Whole seconds since it was asked: all that is said of its progress."""
        return int((self.ended or time.monotonic()) - self.since)


class PendingAnswers:
    """The questions of this process by account and answer; those that ended are remembered for ten minutes."""

    def __init__(self) -> None:
        self._all: OrderedDict[tuple[str, str, str], Pending] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def get(self, name: tuple[str, str, str]) -> Pending | None:
        """What is pending, or ended not long ago, under a source, an account and the hash of a plan."""
        self._forget()
        return self._all.get(name)

    def start(self, name: tuple[str, str, str], answer: Callable[[Ticket], Awaitable[object]]) -> Pending:
        """Answer, unless that is going on already. Raises `Refusal` where too much is, of the account or of all."""
        self._forget()
        there = self._all.get(name)
        if there is not None and there.ended is None:
            return there
        going = [each for each, pending in self._all.items() if pending.ended is None]
        if len(going) >= _MOST or sum(each[:2] == name[:2] for each in going) >= _MOST_OF_ONE:
            raise Refusal("rate", "too many questions are being answered now; ask again in a moment", wait=5)
        self._all.pop(name, None)
        pending = self._all[name] = Pending(Ticket())
        task = asyncio.create_task(self._run(pending, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return pending

    async def finish(self) -> None:
        """Wait for what is being answered."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _forget(self) -> None:
        limit = time.monotonic() - _REMEMBERED_SECONDS
        ended = [name for name, each in self._all.items() if each.ended is not None]
        spare = max(0, len(ended) - _MOST)
        for place, name in enumerate(ended):
            if place < spare or (self._all[name].ended or 0.0) < limit:
                del self._all[name]

    async def _run(self, pending: Pending, answer: Callable[[Ticket], Awaitable[object]]) -> None:
        try:
            await answer(pending.ticket)
        except Refusal as refusal:
            pending.refusal = refusal
        except Exception:  # noqa: BLE001 - it is told as what it is, a failure of the server
            pending.refusal = Refusal("data", "the server failed while it answered; what was charged stays spent")
        finally:
            pending.ended = time.monotonic()
            pending.done.set()
