"""The exact sum of a step: what all people whom it takes contribute, in whole numbers."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from discreet.learn.training._adder import Adder
from discreet.learn.training._distributed import Processes
from discreet.learn.training._loop import Batch, Microbatch
from discreet.learn.training._rows import Sampler, microbatch

__all__ = ["LocalSums", "SharedSums", "Sums"]


class Sums(Protocol):
    """What adds up a step: the piece of training that may be done in one process or in several."""

    @property
    def units(self) -> int:
        """How many people there are: private."""
        ...

    def sum(self, step: int) -> Generator[Batch, None, NDArray[np.int64]]:
        """Yields the microbatches of a step to the loop, and returns the sum of contributions, on the public grid."""
        ...


class LocalSums:
    """Sums of one process, over the people whom a sampler takes from its rows."""

    def __init__(self, adder: Adder, sampler: Sampler, columns: tuple[Tensor, Tensor]) -> None:
        self._adder, self._sampler, self._columns = adder, sampler, columns

    @property
    def units(self) -> int:
        """As of `Sums`."""
        return self._sampler.units

    def sum(self, step: int) -> Generator[Batch, None, NDArray[np.int64]]:
        """As of `Sums`: one microbatch at least, also where nobody is taken."""
        taken = self._sampler.batches(step)
        return (yield from self._adder.sum(_laid_out(taken, self._columns, self._sampler.places)))


class SharedSums:
    """Sums of several processes, each over the units that belong to it."""

    def __init__(self, adder: Adder, sampler: Sampler, columns: tuple[Tensor, Tensor], processes: Processes) -> None:
        self._adder, self._sampler, self._columns, self._processes = adder, sampler, columns, processes

    @property
    def units(self) -> int:
        """As of `Sums`."""
        return self._sampler.units

    def sum(self, step: int) -> Generator[Batch, None, NDArray[np.int64]]:
        """As of `Sums`."""
        processes, places = self._processes, self._sampler.places
        shares = [list(each) for each in self._sampler.shares(step, processes.owners, processes.count)]
        own = processes.scatter([(len(each), _laid_out(each, self._columns, places)) for each in shares])
        exact = yield from self._adder.sum(own)
        return processes.gather(exact)


def _laid_out(
    batches: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]], columns: tuple[Tensor, Tensor], places: int
) -> Iterable[Microbatch]:
    return (microbatch(columns, rows, slots, places) for rows, slots in batches)
