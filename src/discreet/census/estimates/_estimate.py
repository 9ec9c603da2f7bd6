"""The least-squares estimate of every table at every level from all measurements, with exact variances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.census.estimates._components import Columns
from discreet.census.estimates._intervals import half_widths
from discreet.census.estimates._layout import Layout, Measure
from discreet.errors import QueryError
from discreet.marginals.trees import LeastSquares, OffTree, Tree
from discreet.mechanisms import DiscreteLaplace
from discreet.prices import Additive

__all__ = ["Errors", "Estimate", "Sum"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sum:
    """A weighted sum of cells of a table, over a weighted sum of areas of any levels.

    Attributes
    ----------
    areas
        For each level the weights of its areas, None where they have none.
    table
        The columns of the table.
    weights
        Those of its cells.
    """

    areas: list[Numbers | None]
    table: Columns
    weights: Numbers

    @property
    def last(self) -> int:
        """The last level of whose areas it has any."""
        return max(level for level, each in enumerate(self.areas) if each is not None)


@dataclass(frozen=True, eq=False)
class Errors:
    """The variances of a publication: public, and known before anything is paid.

    Attributes
    ----------
    layout
        What is measured where.
    noise
        The variance of the noise of each measurement.
    heavy
        Whether the noise is discrete Laplace, of which intervals are wider.
    """

    layout: Layout
    noise: Mapping[Measure, float]
    heavy: bool = False

    @classmethod
    def of_mechanisms(cls, layout: Layout, mechanisms: Mapping[Measure, Additive]) -> Errors:
        """Those of noise that is about to be drawn, or was."""
        heavy = any(isinstance(each, DiscreteLaplace) for each in mechanisms.values())
        return cls(layout, {each: mechanism.std**2 for each, mechanism in mechanisms.items()}, heavy)

    @cached_property
    def squares(self) -> Mapping[Columns, OffTree]:
        """For each component least squares on the tree, down to the last level at which it is measured."""
        return {
            generator: self._with_districts(generator, variances)
            for generator in self.layout.components.generators
            if (variances := self._variances(generator))
        }

    @property
    def depth(self) -> int:
        """The last level at which anything is measured."""
        return max(each.levels for each in self.squares.values()) - 1

    def _with_districts(self, generator: Columns, variances: tuple[float, ...]) -> OffTree:
        squares = LeastSquares(Tree(self.layout.tree.parents[: len(variances) - 1]), variances)
        districts: list[list[NDArray[np.float64] | None]] = []
        noise: list[float] = []
        for kind in self.measured_kinds(generator):
            variance = self.layout.components.variances(generator, self.by_columns(kind))
            for weights in self.layout.weights_of(kind):
                if any(own is not None for own in weights[len(variances) :]):
                    name = ", ".join(self.layout.columns[column].name for column in generator) or "the total"
                    raise QueryError(
                        f"districts.{kind}: {name} is measured in areas larger than those of a district; give a share "
                        "to the levels below"
                    )
                districts.append(weights[: len(variances)])
                noise.append(variance)
        return OffTree(squares, districts, noise)

    def measured_kinds(self, generator: Columns) -> list[str]:
        """The kinds of districts at which a component is measured."""
        components = self.layout.components
        kinds = [kind for kind in self.layout.spec.districts if any(at == kind for at, _ in self.noise)]
        return [kind for kind in kinds if math.isfinite(components.variances(generator, self.by_columns(kind)))]

    def by_columns(self, place: str) -> dict[Columns, float]:
        """The variance of the noise of each table at a level or kind of districts; 0 for totals that are held."""
        noise = {self.layout.tables[name]: each for (at, name), each in self.noise.items() if at == place}
        if self.layout.held is not None and self.layout.spec.geography.levels[self.layout.held[0]] == place:
            noise[()] = 0.0
        return noise

    def _variances(self, generator: Columns) -> tuple[float, ...]:
        components, levels = self.layout.components, self.layout.spec.geography.levels
        every = [components.variances(generator, self.by_columns(level)) for level in levels]
        last = max((level for level, each in enumerate(every) if math.isfinite(each)), default=-1)
        return tuple(every[: last + 1])

    def is_published(self, level: int, table: Columns) -> bool:
        """Whether every part of a table is measured at a level, or below."""
        return all(each in self.squares and self.squares[each].levels > level for each in self._parts(table))

    def _parts(self, table: Columns) -> list[Columns]:
        """The components that a table is a sum of, those of which it needs no cell left out."""
        return [each for each in self.layout.components.generators if self._share(each, table) > 0]

    def _share(self, generator: Columns, table: Columns) -> float:
        components = self.layout.components
        shared = tuple(column for column in generator if column in table)
        return components.functional(generator, shared, components.one_cell(shared))

    def check_published(self, level: int, table: Columns) -> None:
        """Raise `QueryError` for a table that is not measured at a level, nor below."""
        known = any(set(table) <= set(each) for each in self.layout.tables.values())
        if not known or not self.is_published(level, table):
            name = self.layout.spec.geography.levels[level]
            columns = ", ".join(self.layout.columns[column].name for column in table) or "the total"
            raise QueryError(f"{columns}: no table measures this at level {name} or below; give one a share there")

    def cell_variance(self, level: int, table: Columns) -> Numbers:
        """The variance of each cell of a table, area by area."""
        return self.variance(level, table, self.layout.components.one_cell(table))

    def variance(self, level: int, table: Columns, weights: Numbers) -> Numbers:
        """The variance of a weighted sum of a table's cells, for each area of a level."""
        self.check_published(level, table)
        total = np.zeros(self.layout.tree.sizes[level])
        for generator, squares in self.squares.items():
            share = self.layout.components.functional(generator, table, weights)
            if share and level < squares.levels:
                total += share * squares.posterior[level]
        return total

    def half_width(self, name: str, level: str | None, area: object, confidence: float) -> float:
        """How far a cell of a table is from the truth at most, in one area or in the worst of a level."""
        geography = self.layout.spec.geography
        place = len(geography.levels) - 1 if level is None else geography.level(level)
        variances = self.cell_variance(place, self.layout.columns_of(name))
        if area is not None:
            _, at = geography.place(area, geography.levels[place])
            variances = variances[at : at + 1]
        return float(half_widths(variances, confidence, heavy=self.heavy).max())

    def half_widths(self, confidence: float) -> list[tuple[str, str, float]]:
        """For each level and table that is published there the half-width of a cell in the worst area."""
        rows: list[tuple[str, str, float]] = []
        for level in self.layout.spec.geography.levels:
            for name in self.layout.tables:
                with suppress(QueryError):
                    rows.append((level, name, self.half_width(name, level, None, confidence)))
        return rows

    def variance_of_sum(self, areas: list[Numbers | None], table: Columns, weights: Numbers) -> float:
        """The variance of a weighted sum of a table's cells, over a weighted sum of areas of any levels."""
        asked = Sum(areas, table, weights)
        self.check_published(asked.last, table)
        total = 0.0
        for generator, squares in self.squares.items():
            share = self.layout.components.functional(generator, table, weights)
            if share:
                total += share * squares.variance(_cut(areas, squares.levels))
        return total

    def covariance(self, one: Sum, other: Sum) -> float:
        """The covariance of two sums: they share measurements where their areas do."""
        total = 0.0
        for generator, squares in self.squares.items():
            share = self._shared(generator, one, other)
            if share:
                total += share * squares.covariance(_cut(one.areas, squares.levels), _cut(other.areas, squares.levels))
        return total

    def covariances(self, level: int, one: Sum, other: Sum) -> Numbers:
        """The covariance of two sums of cells in each area of a level, whatever the areas of the sums are."""
        total = np.zeros(self.layout.tree.sizes[level])
        for generator, squares in self.squares.items():
            share = self._shared(generator, one, other)
            if share and level < squares.levels:
                total += share * squares.posterior[level]
        return total

    def _shared(self, generator: Columns, one: Sum, other: Sum) -> float:
        each = self.layout.components.on_component
        first, second = (each(generator, each_sum.table, each_sum.weights) for each_sum in (one, other))
        return float((first * second).sum())


def _cut(areas: list[Numbers | None], levels: int) -> list[Numbers | None]:
    return [*areas, *[None] * levels][:levels]


@dataclass(frozen=True, eq=False)
class Estimate:
    """What all measurements say together.

    Attributes
    ----------
    errors
        Their variances.
    measured
        What each measured: an array of areas by cells.
    """

    errors: Errors
    measured: Mapping[Measure, NDArray[np.int64]]

    @property
    def layout(self) -> Layout:
        """What is measured where."""
        return self.errors.layout

    @cached_property
    def components(self) -> Mapping[Columns, list[Numbers]]:
        """The estimate of each component at each level at which it is measured, or below which it is."""
        return {generator: self._component(generator, squares) for generator, squares in self.errors.squares.items()}

    def _component(self, generator: Columns, squares: OffTree) -> list[Numbers]:
        levels: list[NDArray[Any] | None] = []
        for level, variance in zip(self.layout.spec.geography.levels, squares.squares.variances, strict=False):
            levels.append(None if math.isinf(variance) else self._combined(generator, level))
        kinds = [self._combined(generator, kind) for kind in self.errors.measured_kinds(generator)]
        return squares.estimate(levels, np.concatenate(kinds) if kinds else None)

    def _combined(self, generator: Columns, place: str) -> Numbers:
        """The best mean of what tables say of a component at a level or kind of districts."""
        noise = self.errors.by_columns(place)
        arrays: dict[Columns, NDArray[Any]] = {}
        for columns in noise:
            shape = (-1, *(self.layout.sizes[column] for column in columns))
            arrays[columns] = self._counts(place, columns).reshape(shape)
        return self.layout.components.combined(generator, noise, arrays)

    def _counts(self, place: str, columns: Columns) -> NDArray[np.int64]:
        held = self.layout.held
        if columns == () and held is not None and self.layout.spec.geography.levels[held[0]] == place:
            return held[1]
        name = next(
            name for name, each in self.layout.tables.items() if each == columns and (place, name) in self.measured
        )
        return self.measured[place, name]

    def table(self, level: int, table: Columns) -> Numbers:
        """The estimate of each cell of a table, area by area."""
        self.errors.check_published(level, table)
        return self.cells(level, table)

    def cells(self, level: int, table: Columns) -> Numbers:
        """The least estimate of cells of any columns: what nothing measured is spread over cells alike."""
        components = {each: arrays[level] for each, arrays in self.components.items() if level < len(arrays)}
        if not components:
            raise QueryError(f"nothing is measured at level {self.layout.spec.geography.levels[level]} or below")
        return self.layout.components.total(components, table)
