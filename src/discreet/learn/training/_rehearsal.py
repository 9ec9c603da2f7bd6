"""A rehearsal of a training loop: the probe of its gradients, with the loop itself as what computes losses."""

from __future__ import annotations

from collections.abc import Callable, Generator
from queue import SimpleQueue
from threading import Thread
from typing import Any

from torch import Tensor

__all__ = ["rehearsal"]


class _Abandoned(Exception):
    """The loop was left."""


def rehearsal(probe: Callable[[Callable[..., Tensor]], None]) -> Generator[tuple[Tensor, ...], Tensor]:
    """Runs a probe that asks for losses of batches: yields each batch, and is sent its losses.

    The probe runs in a thread that waits while the loop works, and the other way round. Raises what the probe raises.
    """
    asked: SimpleQueue[Any] = SimpleQueue()
    answered: SimpleQueue[Any] = SimpleQueue()

    def losses(*batch: Tensor) -> Tensor:
        asked.put(batch)
        answer = answered.get()
        if answer is None:
            raise _Abandoned
        return answer

    def run() -> None:
        try:
            probe(losses)
        except BaseException as error:  # noqa: BLE001 - raised again where the loop is
            asked.put(error)
        else:
            asked.put(None)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while True:
            batch = asked.get()
            if batch is None:
                break
            if isinstance(batch, BaseException):
                raise batch
            answered.put((yield batch))
    finally:
        answered.put(None)
        thread.join()
