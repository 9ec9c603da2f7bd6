"""Private rows as tensors, whose they are, and which of them a step takes: exact coins, one for each person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet import noise
from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Inputs, Places
from discreet.learn.correlated import CyclicPoisson, MinimumSeparation
from discreet.learn.gradients import Column
from discreet.learn.training._loop import Microbatch
from discreet.learn.training._mechanism import groups_of

__all__ = ["Sampler", "Tensors", "columns_of", "laid_out", "microbatch", "tensor_of_rows", "tensors_of_examples"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Tensors:
    """Rows in memory: the raw toolbox, which charges nobody. All of it is private.

    Attributes
    ----------
    x, y
        What a model reads and what it predicts, a row along the first axis of each: float32, or int64 for what counts.
    units
        Whose each row is, as any whole numbers; None where every row is another person.
    rows_per_unit
        The most rows that one person has, a public number; further ones are refused.
    """

    x: Tensor
    y: Tensor
    units: NDArray[np.int64] | None = None
    rows_per_unit: int = 1

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or (self.units is not None and len(self.units) != len(self.x)):
            raise ParameterError("x, y and units have a row each for every row")
        if {self.x.dtype, self.y.dtype} - {torch.float32, torch.int64}:
            raise ParameterError(
                "x and y are of float32 or int64, as the rows are that a loop is tried on: call float() or long()"
            )

    def __repr__(self) -> str:
        return "<tensors>"


def columns_of(inputs: Inputs) -> tuple[Column, Column]:
    """What a batch of records holds for a row: numbers and one-hot categories, and what is predicted."""
    width = len(inputs.numbers) + sum(each.size for each in inputs.categories)
    target = inputs.target
    return Column((width,)), Column((), None if target is None or target.is_number else target.size)


def tensor_of_rows(inputs: Inputs, numbers: Places, cells: Places) -> Tensor:
    """Numbers from −1 to 1 between their bounds, 0 where there is none; categories one-hot."""
    levels = np.where(numbers == MISSING, LEVELS // 2, numbers)
    parts = [(levels / (LEVELS // 2) - 1).astype(np.float32)]
    for i, each in enumerate(inputs.categories):
        parts.append((cells[:, i : i + 1] == np.arange(each.size)).astype(np.float32))
    return _tensor(np.concatenate(parts, axis=1))


def tensors_of_examples(examples: Examples, units: Integers | None, rows_per_unit: int) -> Tensors:
    """Rows of records, with the class of each by its place, or the number that is predicted."""
    inputs, target = examples.inputs, examples.inputs.target
    y: NDArray[np.float32] | Integers = examples.target.astype(np.int64)
    if target is not None and target.is_number:
        y = target.numbers(y).astype(np.float32)
    return Tensors(tensor_of_rows(inputs, examples.numbers, examples.cells), _tensor(y), units, rows_per_unit)


def _tensor(array: NDArray[np.float32] | Integers) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


class Sampler:
    """Chooses whose rows a step takes, and lays them out in microbatches of one fixed number of places.

    `CyclicPoisson` tosses an exact coin for each person in each step, or for those of the step's group;
    `MinimumSeparation` takes everybody, or all of the step's group. Groups are drawn for each person alone, and are
    those of this sampler: see `goes_on_after`. Nothing here looks at a value of a row.
    """

    def __init__(self, rows: Tensors, sampling: CyclicPoisson | MinimumSeparation, places: int) -> None:
        self._sampling, self.places = sampling, places
        order = np.arange(len(rows.x))
        owners = order
        if rows.units is not None:
            order = np.argsort(rows.units, kind="stable")
            _, owners = np.unique(rows.units[order], return_inverse=True)
        self._order: Integers = order.astype(np.int64)
        counts = np.bincount(owners) if len(owners) else np.zeros(0, np.int64)
        if len(counts) and int(counts.max()) > rows.rows_per_unit:
            raise ParameterError(f"a person has more rows than {rows.rows_per_unit}, the most that was said")
        self._starts: Integers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._single = rows.units is None
        groups = groups_of(sampling)
        self._groups = noise.uniform_below(groups, self.units) if groups > 1 else None

    @property
    def units(self) -> int:
        """How many people there are: private."""
        return len(self._starts) - 1

    def batches(self, step: int) -> Iterator[tuple[Integers, Integers]]:
        """The microbatches of a step, one at least: the rows that fill the places, and whose they are, slots from 0."""
        return self._laid(self._chosen(step))

    def shares(self, step: int, owners: Integers, count: int) -> list[Iterator[tuple[Integers, Integers]]]:
        """The microbatches of a step for each of `count` processes: of those whose owner it is, by the unit's number.

        All rows of a unit are in one of them.
        """
        chosen = self._chosen(step)
        return [self._laid(chosen[owners[chosen] == number]) for number in range(count)]

    def _laid(self, chosen: Integers) -> Iterator[tuple[Integers, Integers]]:
        if self._single:
            for start in range(0, max(len(chosen), 1), self.places):
                part = chosen[start : start + self.places]
                yield self._order[part], np.arange(len(part))
            return
        rows: list[Integers] = []
        slots: list[Integers] = []
        held = 0
        for unit in chosen:
            own = self._order[self._starts[unit] : self._starts[unit + 1]]
            if held + len(own) > self.places:
                yield np.concatenate(rows), np.concatenate(slots)
                rows, slots, held = [], [], 0
            slots.append(np.full(len(own), len(slots), np.int64))
            rows.append(own)
            held += len(own)
        yield (np.concatenate(rows), np.concatenate(slots)) if rows else (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def _chosen(self, step: int) -> Integers:
        among: Integers | None = None
        if self._groups is not None:
            among = np.flatnonzero(self._groups == step % groups_of(self._sampling))
        count = self.units if among is None else len(among)
        if isinstance(self._sampling, CyclicPoisson) and self._sampling.rate < 1:
            heads = np.flatnonzero(noise.bernoulli(self._sampling.rate, count))
            return heads if among is None else among[heads]
        return np.arange(count) if among is None else among


def microbatch(columns: tuple[Tensor, Tensor], rows: Integers, slots: Integers, places: int) -> Microbatch:
    """The rows in the first places of a batch, zeros in the rest, and in which slot each place's unit is."""
    x, y = laid_out(columns, rows, places)
    units = torch.full((places,), -1, dtype=torch.int64)
    units[: len(rows)] = torch.from_numpy(slots)
    return x, y, units


def laid_out(columns: Sequence[Tensor], rows: Integers, places: int) -> tuple[Tensor, ...]:
    """The rows in the first places of a batch, and zeros in the rest."""
    batch = tuple(torch.zeros((places, *each.shape[1:]), dtype=each.dtype, device=each.device) for each in columns)
    chosen = torch.from_numpy(rows)
    for part, column in zip(batch, columns, strict=True):
        part[: len(rows)] = column[chosen]
    return batch
