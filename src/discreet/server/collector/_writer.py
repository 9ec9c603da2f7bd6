"""Group commit: while one write is on its way to the disk, batches gather for the next."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable

from discreet.errors import DiscreetError
from discreet.server.collector._store import Batch, Outcome, Store

__all__ = ["Writer"]

_MOST_BATCHES, _MOST_BYTES = 4_096, 1 << 24
_AGAIN = 2.0
_Waiting = tuple[Batch, "asyncio.Future[Outcome | None]"]


class Writer:
    """A thread that owns a store and writes the batches put into its queue, all that wait at once.

    `on_status` is called on that thread with a line when the store can no longer be written, and when it can again.
    """

    def __init__(self, store: Store, on_status: Callable[[str], object]) -> None:
        self._store, self._on_status = store, on_status
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self.healthy = True
        self._thread = threading.Thread(target=self._run, name="writer")
        self._thread.start()

    def put(self, batch: Batch) -> asyncio.Future[Outcome | None]:
        """The outcome of a batch, once it is on disk; `None` if it could not be written."""
        future: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
        with self._changed:
            self._waiting.append((batch, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Write the waiting batches, add them up, and close the store."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        try:
            self._store.close()
        except DiscreetError as error:
            self._on_status(f"{error}; what was acknowledged is there, and is added up another time")

    def _run(self) -> None:
        while (group := self._next()) is not None:
            if not group:
                self._try(self._store.probe)
                continue
            outcomes = self._written([batch for batch, _ in group])
            loop = group[0][1].get_loop()
            try:
                loop.call_soon_threadsafe(_settle, [future for _, future in group], outcomes)
            except RuntimeError:  # the loop is gone, and nobody waits
                continue
            if self.healthy:
                self._try(self._store.fold)

    def _next(self) -> list[_Waiting] | None:
        """The waiting batches; an empty list when it is time to try the disk again; `None` at the end."""
        group: list[_Waiting] = []
        size = 0
        with self._changed:
            while not (self._waiting or self._closing):
                if not self._changed.wait(None if self.healthy else _AGAIN):
                    return []
            if not self._waiting:
                return None
            while self._waiting and len(group) < _MOST_BATCHES and size < _MOST_BYTES:
                group.append(self._waiting.popleft())
                size += group[-1][0].reports.rows.nbytes
        return group

    def _written(self, batches: list[Batch]) -> list[Outcome | None]:
        try:
            outcomes = self._store.write(batches)
        except Exception as error:  # noqa: BLE001 (whatever it is, senders get an answer, and the thread goes on)
            self._now(error)
            return [None] * len(batches)
        self._now(None)
        return [*outcomes]

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001
            self._now(error)
        else:
            self._now(None)

    def _now(self, error: Exception | None) -> None:
        if (error is None) != self.healthy:
            reason = str(error) if isinstance(error, DiscreetError) else type(error).__name__
            self._on_status("the store is written again" if error is None else f"{reason}; senders are asked to retry")
        self.healthy = error is None


def _settle(futures: list[asyncio.Future[Outcome | None]], outcomes: list[Outcome | None]) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():
            future.set_result(outcome)
