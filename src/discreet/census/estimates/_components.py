"""Tables of several columns as sums of components that share no noise, so that least squares runs on each alone.

A table over columns T is measured with equal, independent noise on each cell. What it says of the sums over some of its
columns is then independent of what it says of the rest. Tables that overlap say something of the same sums: the
intersections of tables are the *generators*, and what a generator adds to those within it is its component. All tables
that measure a component measure each of its cells with one variance, so that their weighted mean is the best estimate,
and at each level of a tree it has one variance. See ``proofs/tree_least_squares.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "Components"]

Columns = tuple[int, ...]
"""Places of columns, rising."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Components:
    """The components of tables over columns of these sizes.

    Arrays have areas first and then an axis for each column of a table.

    >>> parts = Components((2, 3), ((0, 1), (0,)))
    >>> parts.generators
    ((0,), (0, 1))
    >>> parts.members((0,)), parts.scale((0, 1), (0,))
    (((0, 1), (0,)), 3)
    """

    sizes: tuple[int, ...]
    tables: tuple[Columns, ...]

    @cached_property
    def generators(self) -> tuple[Columns, ...]:
        """The intersections of tables, the smaller first."""
        closed = {frozenset(each) for each in self.tables}
        while more := {a & b for a in closed for b in closed} - closed:
            closed |= more
        return tuple(sorted((tuple(sorted(each)) for each in closed), key=lambda each: (len(each), each)))

    def members(self, generator: Columns) -> tuple[Columns, ...]:
        """The tables that measure a component."""
        return tuple(each for each in self.tables if set(generator) <= set(each))

    def cells(self, columns: Iterable[int]) -> int:
        """How many cells a table over columns has."""
        return math.prod(self.sizes[column] for column in columns)

    def scale(self, table: Columns, generator: Columns) -> int:
        """How many cells of a table each cell of a generator sums."""
        return self.cells(table) // self.cells(generator)

    def variances(self, generator: Columns, noise: Mapping[Columns, float]) -> float:
        """The variance of a cell of a component, from those of the tables' noise: infinite where no table has any."""
        weight = 0.0
        for table in self.members(generator):
            variance = noise.get(table, math.inf) * self.scale(table, generator)
            if variance == 0:
                return 0.0
            weight += 0.0 if math.isinf(variance) else 1 / variance
        return 1 / weight if weight else math.inf

    def combined(
        self, generator: Columns, noise: Mapping[Columns, float], measured: Mapping[Columns, NDArray[Any]]
    ) -> Numbers:
        """The best mean of what tables say of a component."""
        total = self.variances(generator, noise)
        mean: Numbers | None = None
        for table in self.members(generator):
            variance = noise.get(table, math.inf) * self.scale(table, generator)
            if math.isinf(variance):
                continue
            share = 1.0 if total == variance else total / variance
            if share:
                part = share * self.summed(measured[table], table, generator)
                mean = part if mean is None else mean + part
        assert mean is not None
        return self.projected(generator, mean)

    def projected(self, generator: Columns, cells: Numbers) -> Numbers:
        """The component of a table over the columns of a generator: what its smaller generators do not hold."""
        parts: dict[Columns, Numbers] = {}
        for each in (*self._within(generator), generator):
            rest = self.summed(cells, generator, each)
            for smaller in self._within(each):
                rest = rest - self.spread(parts[smaller], smaller, each) / self.scale(each, smaller)
            parts[each] = rest
        return parts[generator]

    def _within(self, generator: Columns) -> list[Columns]:
        return [each for each in self.generators if each != generator and set(each) <= set(generator)]

    def summed(self, cells: NDArray[Any], table: Columns, into: Columns) -> NDArray[Any]:
        """A table's cells summed over the columns that `into` leaves out."""
        axes = tuple(place + 1 for place, column in enumerate(table) if column not in into)
        return cells.sum(axis=axes) if axes else cells

    def spread(self, cells: NDArray[Any], generator: Columns, table: Columns) -> NDArray[Any]:
        """The cells of a generator, repeated along the columns that only the table has: axes of length 1."""
        shape = [cells.shape[0], *(self.sizes[column] if column in generator else 1 for column in table)]
        return cells.reshape(shape)

    def total(self, components: Mapping[Columns, Numbers], table: Columns) -> Numbers:
        """The cells of a table over any columns, from the components."""
        areas = len(next(iter(components.values())))
        cells = np.zeros((areas, *(self.sizes[column] for column in table)))
        for generator, component in components.items():
            shared = tuple(column for column in generator if column in table)
            part = self.summed(component, generator, shared)
            cells += self.spread(part, shared, table) / self.scale(table, shared)
        return cells

    def functional(self, generator: Columns, table: Columns, weights: Numbers) -> float:
        """The squared norm of a weighted sum of a table's cells on a component.

        The variance of the sum is that of the component's cells times this, summed over the components.
        """
        return float((self.on_component(generator, table, weights) ** 2).sum())

    def on_component(self, generator: Columns, table: Columns, weights: Numbers) -> Numbers:
        """A weighted sum of a table's cells as weights of the cells of a component, (1, cells…).

        The covariance of two sums is the variance of the component's cells times the product of these, summed.
        """
        shared = tuple(column for column in generator if column in table)
        within = self.summed(weights[None], table, shared) / self.scale(table, shared)
        shape = (1, *(self.sizes[column] for column in generator))
        own = np.broadcast_to(self.spread(within, shared, generator), shape)
        return self.projected(generator, own.astype(np.float64))

    def one_cell(self, table: Columns) -> Numbers:
        """The weights of one cell of a table: which one makes no difference to its variance."""
        one = np.zeros(tuple(self.sizes[column] for column in table))
        one.flat[0] = 1.0
        return one
