"""What passes between a training and the loop that computes its losses: a batch out, the losses of its rows in."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any

from torch import Tensor

from discreet.errors import ParameterError

__all__ = ["Batch", "Exchange", "Microbatch"]

Microbatch = tuple[Tensor, Tensor, Tensor]
"""x, y, and in which slot each row's unit is, −1 where the place is empty."""


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """One microbatch: rows of people in the first places, zeros in the rest. Private, but in a rehearsal.

    Attributes
    ----------
    x, y
        What a model reads and what it predicts, a row along the first axis, always as many.
    rehearsal
        Whether the rows are made up: before training, the loop is tried on such rows.
    """

    x: Tensor
    y: Tensor
    rehearsal: bool = False

    def __repr__(self) -> str:
        return f"<batch of {len(self.x)} places>"


class Exchange:
    """Gives batches to a loop, and takes the losses of each once."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._losses: Tensor | None = None
        self._is_waiting = False

    def step(self, losses: Tensor) -> None:
        """Takes the losses of the batch that is out. Raises `ParameterError` for others."""
        if self._losses is not None or not self._is_waiting:
            raise ParameterError("a batch takes its losses once: call step(losses) once for each batch of batches()")
        if losses.dim() != 1 or len(losses) != self._places:
            raise ParameterError(
                f"step takes a loss for each of {self._places} rows of the batch, got the shape {tuple(losses.shape)}: "
                "use reduction='none', and take no mean or sum"
            )
        self._losses = losses

    def ask(self, batch: Batch) -> Generator[Batch, None, Tensor]:
        """Yields the batch, and returns its losses. Raises `ParameterError` if the loop comes back without them."""
        self._losses, self._is_waiting = None, True
        yield batch
        self._is_waiting = False
        losses, self._losses = self._losses, None
        if losses is None:
            raise ParameterError("the loop took a batch without step(losses): call it once for each batch")
        return losses

    def rehearse(self, probe: Callable[[Callable[..., Tensor]], None]) -> Generator[Batch]:
        """Yields the made-up batches that a probe asks for. Raises what the probe raises."""
        tried: Any = _rehearsal(probe)
        try:
            x, y = next(tried)
            while True:
                losses = yield from self.ask(Batch(x, y, rehearsal=True))
                x, y = tried.send(losses)
        except StopIteration:
            return
        finally:
            tried.close()


class _Abandoned(Exception):
    """The loop was left."""


def _rehearsal(probe: Callable[[Callable[..., Tensor]], None]) -> Generator[tuple[Tensor, ...], Tensor]:
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
