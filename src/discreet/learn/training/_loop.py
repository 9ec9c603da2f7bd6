"""The turns of a training loop: a batch for it, its losses back, and exact sums of what the rows add."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients import Column, Exact, UnitGradients, probe
from discreet.learn.training._rehearsal import rehearsal

__all__ = ["Batch", "Loop", "Microbatch"]

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


class Loop:
    """A loop that somebody else runs: it is given batches of so many places, and answers each with its losses.

    `grid` is how many steps of the whole numbers are the most that a unit adds.
    """

    def __init__(self, gradients: UnitGradients, places: int, grid: int, *, by_unit: bool) -> None:
        self._gradients, self._places, self._grid, self._by_unit = gradients, places, grid, by_unit
        self._losses: Tensor | None = None
        self._answers = False

    def step(self, losses: Tensor) -> None:
        """Takes the losses of the rows of the batch that the loop got last. Raises `ParameterError` for others."""
        if self._losses is not None or not self._answers:
            raise ParameterError("a batch takes its losses once: call step(losses) once for each batch of batches()")
        if losses.dim() != 1 or len(losses) != self._places:
            raise ParameterError(
                f"step takes a loss for each of {self._places} rows of the batch, got the shape {tuple(losses.shape)}: "
                "use reduction='none', and take no mean or sum"
            )
        self._losses = losses

    def _asked(self, batch: Batch) -> Generator[Batch, None, Tensor]:
        self._losses, self._answers = None, True
        yield batch
        self._answers = False
        losses, self._losses = self._losses, None
        if losses is None:
            raise ParameterError("the loop took a batch without step(losses): call it once for each batch")
        return losses

    def rehearsed(self, net: nn.Module, columns: tuple[Column, Column]) -> Generator[Batch]:
        """Tries the loop on made-up rows. Raises `ParameterError` where a row's integers depend on other rows."""
        arithmetic = self._gradients.arithmetic
        tried = rehearsal(
            lambda losses: probe(
                net, losses, columns, self._places, clipping=self._gradients.clipping,
                arithmetic=arithmetic if isinstance(arithmetic, Exact) else None, by_unit=self._by_unit,
            )
        )  # fmt: skip
        try:
            batch = next(tried)
            while True:
                losses = yield from self._asked(Batch(batch[0], batch[1], rehearsal=True))
                batch = tried.send(losses)
        except StopIteration:
            return
        finally:
            tried.close()

    def summed(self, batches: Iterable[Microbatch]) -> Generator[Batch, None, NDArray[np.int64]]:
        """The exact sum of what the units of the microbatches add, in whole numbers of the grid."""
        gradients = self._gradients
        exact = np.zeros(gradients.size, np.int64)
        total, held = gradients.zeros(), 0
        for x, y, slots in batches:
            if held + self._places > self._most_at_once:
                exact += self._integers(total)
                total, held = gradients.zeros(), 0
            with gradients.listening():
                losses = yield from self._asked(Batch(x, y))
                if self._by_unit:
                    gradients.add(losses, total, units=slots)
                else:
                    gradients.add(losses, total, active=slots >= 0)
            held += self._places
        return exact + self._integers(total)

    @property
    def _most_at_once(self) -> int:
        arithmetic = self._gradients.arithmetic
        return arithmetic.most_units if isinstance(arithmetic, Exact) else 1 << 30

    def _integers(self, total: Tensor) -> NDArray[np.int64]:
        """The sum in whole numbers of the grid; float sums are rounded to it."""
        if isinstance(self._gradients.arithmetic, Exact):
            return total.numpy().astype(np.int64)
        grid = self._grid / self._gradients.clipping.bound
        return np.rint(total.double().numpy() * grid).astype(np.int64)
