"""Estimated tables of several attributes, each from all the tables that people reported and that contain it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import DataError, ParameterError, printable
from discreet.local._domain import Domain
from discreet.local._estimate import Floats, projected, wilson
from discreet.local._reports import Integers
from discreet.local.multidimensional._cell_oracle import CellOracle
from discreet.rational import Number

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CountedTable", "Marginal", "MarginalsEstimate"]


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """The shares of people in each cell of a table. It follows from reports alone.

    Attributes
    ----------
    names
        The attributes, one for each axis.
    domains
        The values along each axis.
    table
        Unbiased estimates; each can fall outside of 0 … 1.
    stderr
        The standard error of each, for the population that people were drawn from: that of the clients' randomness, of
        which table a client was drawn into, and of the choice of people together.
    noise
        The part of each that is of the clients' randomness alone, as the scheme has it for people with the nearest
        table that is one.
    reports
        How many reports speak of these attributes.
    effective
        How many people, counted once each, would make the part of the error that is of the choice of people.
    """

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    table: Floats
    stderr: Floats
    noise: Floats
    reports: int
    effective: float

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each cell's share of the population that people were drawn from, within 0 … 1.

        By the normal approximation, which a thousand reports bear out up to ε = 6; where lies are rarer than one a cell
        in all reports, 0.95 is nearer 0.88 for cells that nobody has. Each cell has its own interval. Raises
        `ParameterError` unless 0 < level < 1. Source: Wilson 1927.
        """
        return wilson(self.table, self.noise, self.effective, level)

    def consistent(self) -> Floats:
        """The nearest table in squares that is 0 or more and sums to 1. Post-processing: costs no privacy, is biased.

        Tables that share attributes agree less after it than before. Source: Held, Wolfe and Crowder 1974.
        """
        return projected(self.table.ravel()).reshape(self.table.shape)

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: value, as ``os=linux, age=3``, frequency, stderr, and the interval's low and high."""
        import pyarrow as pa

        low, high = self.interval(level)
        values = [
            ", ".join(
                f"{name}={domain.value(place)}"
                for name, domain, place in zip(self.names, self.domains, places, strict=True)
            )
            for places in np.ndindex(self.table.shape)
        ]
        numbers = {"frequency": self.table, "stderr": self.stderr, "low": low, "high": high}
        return pa.table({"value": values, **{name: pa.array(each.ravel()) for name, each in numbers.items()}})


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable:
    """What was reported of one table: its attributes by number, its oracle, and the share of reports in each cell."""

    places: tuple[int, ...]
    oracle: CellOracle
    reports: int
    cells: Floats


@dataclass(frozen=True, slots=True, eq=False)
class MarginalsEstimate:
    """Estimates of every table of `ways` attributes or fewer. They follow from reports alone.

    Attributes
    ----------
    names, domains
        The attributes, and the values of each.
    ways
        The most attributes of a table.
    reports
        How many reports there were, of all tables together.
    counted
        What was reported of each table.
    """

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    ways: int
    reports: int
    counted: tuple[CountedTable, ...]

    def marginal(self, *names: str) -> Marginal:
        """The table of these attributes, an axis each, in this order.

        A table of fewer than `ways` attributes is the mean of what each reported table that has them all says, weighted
        by its reports over the variance that one has where all reports are equally likely; both are public. Raises
        `ParameterError` for names that are no attributes, are there twice, none or more than `ways`, and `DataError` if
        nobody has reported a table that has them.
        """
        if not 1 <= len(names) <= self.ways or len(set(names)) != len(names):
            raise ParameterError(f"name 1 to {self.ways} attributes, each once; larger tables were not collected")
        if unknown := [name for name in names if name not in self.names]:
            raise ParameterError(
                f"there is no attribute {printable(str(unknown[0]))!r}; there are "
                f"{', '.join(repr(printable(name)) for name in self.names[:20])}"
            )
        places = tuple(self.names.index(name) for name in names)
        tables = [table for table in self.counted if set(places) <= set(table.places) and table.reports]
        if not tables:
            raise DataError("nobody has reported a table with these attributes yet; there is nothing to estimate from")
        return self._together(names, places, tables)

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: value, as ``os=linux, age=3``, frequency, stderr, low, high; for each attribute and reported table.

        Those that nobody has reported yet are left out.
        """
        import itertools

        import pyarrow as pa

        orders = dict.fromkeys((1, self.ways))
        named = [each for order in orders for each in itertools.combinations(self.names, order)]
        there = [{self.names[place] for place in table.places} for table in self.counted if table.reports]
        every = [self.marginal(*each) for each in named if any(set(each) <= names for names in there)]
        return pa.concat_tables([each.to_arrow(level) for each in every])

    def _together(self, names: tuple[str, ...], places: tuple[int, ...], tables: list[CountedTable]) -> Marginal:
        domains = tuple(self.domains[place] for place in places)
        shape = tuple(domain.size for domain in domains)
        count = math.prod(shape)
        sums, square, noise, chosen, total = np.zeros(count), np.zeros(count), np.zeros(count), 0.0, 0.0
        for table in tables:
            size = table.oracle.scheme.domain.size
            frequencies, _, _ = table.oracle.sums(table.cells, np.arange(size), size)
            held, groups = projected(frequencies), self._groups(table.places, places)
            shares = np.bincount(groups, weights=held, minlength=count)
            _, second, spread = table.oracle.sums(table.oracle.cell_probabilities(held), groups, count)
            weight = table.reports / spread
            sums += weight * np.bincount(groups, weights=frequencies, minlength=count)
            square += weight**2 * np.maximum(second - shares**2, 0) / table.reports
            noise += weight**2 * np.maximum(second - shares, 0) / table.reports
            chosen += weight**2 / table.reports
            total += weight
        reports = sum(table.reports for table in tables)
        table, stderr, error = (each.reshape(shape) / total for each in (sums, np.sqrt(square), np.sqrt(noise)))
        return Marginal(names, domains, table, stderr, error, reports, total**2 / chosen)

    def _groups(self, table: tuple[int, ...], places: tuple[int, ...]) -> Integers:
        """For each cell of a table, the number of the cell that it falls into in the table of some places."""
        axes = np.indices(tuple(self.domains[place].size for place in table)).reshape(len(table), -1)
        cells = np.zeros(axes.shape[1], dtype=np.int64)
        for place in places:
            cells = cells * self.domains[place].size + axes[table.index(place)]
        return cells
