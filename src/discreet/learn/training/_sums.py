"""The exact sum of a step: what all people whom it takes contribute, in whole numbers."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.learn.gradients import Exact, UnitGradients
from discreet.learn.training._loop import Batch, Exchange
from discreet.learn.training._rows import Sampler, laid_out

__all__ = ["LocalSums", "Sums"]

_MOST_FLOATS = 1 << 30


class Sums(Protocol):
    """What adds up a step: the piece of training that may be done in one process or in several."""

    def sum(self, step: int) -> Generator[Batch, None, NDArray[np.int64]]:
        """Yields the microbatches of a step to the loop, and returns the sum of contributions, on the public grid."""
        ...


class LocalSums:
    """Sums of one process, over the people whom a sampler takes from its rows."""

    def __init__(  # noqa: PLR0913
        self,
        gradients: UnitGradients,
        exchange: Exchange,
        sampler: Sampler,
        columns: tuple[Tensor, Tensor],
        *,
        by_unit: bool,
        grid: int,
    ) -> None:
        self._gradients, self._exchange, self._sampler, self._columns = gradients, exchange, sampler, columns
        self._by_unit, self._grid = by_unit, grid
        arithmetic = gradients.arithmetic
        self._most_at_once = arithmetic.most_units if isinstance(arithmetic, Exact) else _MOST_FLOATS

    def sum(self, step: int) -> Generator[Batch, None, NDArray[np.int64]]:
        """As of `Sums`: one microbatch at least, also where nobody is taken."""
        gradients, places = self._gradients, self._sampler.places
        exact = np.zeros(gradients.size, np.int64)
        total, filled = gradients.zeros(), 0
        for rows, slots in self._sampler.batches(step):
            if filled + places > self._most_at_once:
                exact += self._integers(total)
                total, filled = gradients.zeros(), 0
            yield from self._add(rows, slots, total)
            filled += places
        return exact + self._integers(total)

    def _add(self, rows: NDArray[np.int64], slots: NDArray[np.int64], total: Tensor) -> Generator[Batch]:
        places = self._sampler.places
        x, y = laid_out(self._columns, rows, places)
        active = torch.zeros(places, dtype=torch.bool)
        active[: len(rows)] = True
        with self._gradients.listening():
            losses = yield from self._exchange.ask(Batch(x, y))
            if self._by_unit:
                units = torch.full((places,), -1, dtype=torch.int64)
                units[: len(rows)] = torch.from_numpy(slots)
                self._gradients.add(losses, total, units=units)
            else:
                self._gradients.add(losses, total, active=active)

    def _integers(self, total: Tensor) -> NDArray[np.int64]:
        """The sum in whole numbers of the grid; float sums are rounded to it."""
        if isinstance(self._gradients.arithmetic, Exact):
            return total.numpy().astype(np.int64)
        return np.rint(total.double().numpy() * (self._grid / self._gradients.clipping.bound)).astype(np.int64)
