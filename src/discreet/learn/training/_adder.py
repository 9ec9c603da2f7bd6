"""Adding up what the units of microbatches contribute, and the rehearsal that shows the loop keeps them apart."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.learn.gradients import LEAST_BOUND, Column, Exact, Normalised, UnitGradients, probe
from discreet.learn.training._loop import Batch, Exchange, Microbatch

__all__ = ["Adder"]

_MOST_FLOATS = 1 << 30


class Adder:
    """Asks a loop for the losses of microbatches of so many places, and adds up what their units contribute.

    `grid` is how many steps of the whole numbers are the most that a unit's gradient adds. With a
    `weight`, sums have one entry more: how many more units were within the clip than beyond it, times the weight.
    """

    def __init__(  # noqa: PLR0913
        self,
        gradients: UnitGradients,
        exchange: Exchange,
        places: int,
        grid: int,
        *,
        by_unit: bool,
        weight: int = 0,
    ) -> None:
        self._gradients, self._exchange, self._places, self._grid = gradients, exchange, places, grid
        self._by_unit, self._weight = by_unit, weight
        arithmetic = gradients.arithmetic
        self._most_at_once = arithmetic.most_units if isinstance(arithmetic, Exact) else _MOST_FLOATS

    def rehearse(self, net: nn.Module, columns: tuple[Column, Column]) -> Generator[Batch]:
        """Tries the loop on made-up rows. Raises `ParameterError` where a row's integers depend on other rows."""
        arithmetic, clipping = self._gradients.arithmetic, self._gradients.clipping
        if self._weight:  # the side of the clip that a norm is on may not move: try what shows the norm of each row
            clipping = Normalised(1.0, LEAST_BOUND)
        yield from self._exchange.rehearse(
            lambda losses: probe(
                net, losses, columns, self._places, clipping=clipping,
                arithmetic=arithmetic if isinstance(arithmetic, Exact) else None, by_unit=self._by_unit,
            )
        )  # fmt: skip

    def sum(self, batches: Iterable[Microbatch]) -> Generator[Batch, None, NDArray[np.int64]]:
        """The exact sum of what the units of the microbatches contribute."""
        gradients, places, device = self._gradients, self._places, self._gradients.device
        exact = np.zeros(gradients.size, np.int64)
        total, filled, more = gradients.zeros(), 0, 0
        for x, y, slots in batches:
            if filled + places > self._most_at_once:
                exact += self._integers(total)
                total, filled = gradients.zeros(), 0
            with gradients.listening(places):
                losses = yield from self._exchange.ask(Batch(x.to(device), y.to(device)))
                there = slots.to(device)
                if self._by_unit:
                    within = gradients.add(losses, total, units=there)
                else:
                    within = gradients.add(losses, total, active=there >= 0)
            if self._weight:
                more += within
            filled += places
        exact += self._integers(total)
        return np.append(exact, np.int64(self._weight * more)) if self._weight else exact

    def _integers(self, total: Tensor) -> NDArray[np.int64]:
        """The sum in whole numbers of the grid; float sums are rounded to it."""
        if isinstance(self._gradients.arithmetic, Exact):
            return total.cpu().numpy().astype(np.int64)
        return np.rint(total.double().cpu().numpy() * (self._grid / self._gradients.clipping.bound)).astype(np.int64)
