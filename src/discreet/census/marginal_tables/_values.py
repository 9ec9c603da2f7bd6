"""Published values of marginals: never negative, fitted to what was measured, and adding up within groups of columns.

Columns are put into groups, by what was asked for alone: each marginal is within one, and a group of several marginals
has few cells. The residuals within a group are fitted by one log-linear model of all its columns, so that its tables
are sums of the same cells. Groups that share columns are fitted each on their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from discreet.census.marginal_tables._measurement import widest
from discreet.errors import QueryError
from discreet.marginals import on_simplex
from discreet.marginals.residuals import DIRECT_CELLS, Columns, Lattice, Numbers, log_linear, tabulated

__all__ = ["FittedValues", "column_groups"]

_MOST_FITTED = 2**18
"""Above so many cells a group is not fitted: its values are the nearest numbers from 0 that have its total."""
_MOST_REMEMBERED = 2**24


def column_groups(lattice: Lattice, cells: int = DIRECT_CELLS) -> tuple[Columns, ...]:
    """Sets of columns, of which each marginal is within one: one marginal each, or several of at most so many cells.

    From the marginal of the fewest cells on, the smallest column is added by which another marginal is within a group.

    >>> column_groups(Lattice((2, 3, 2, 40), ((0, 1), (1, 2), (0, 2), (2, 3))), 24)
    ((0, 1, 2), (2, 3))
    """
    rising = sorted(widest(lattice), key=lambda each: (lattice.cells(each), each))
    left = dict.fromkeys(rising)
    widths = sorted({len(each) for each in rising})
    columns = sorted((size, column) for column, size in enumerate(lattice.sizes) if size > 1)
    groups: list[Columns] = []
    for each in rising:
        if each not in left:
            continue
        group, size = each, lattice.cells(each)
        for factor, column in columns:
            if size * factor > cells:
                break
            if column not in group and _adds(group, column, left, widths):
                group, size = tuple(sorted((*group, column))), size * factor
        groups.append(group)
        for width in widths:
            for within in combinations(group, width):
                left.pop(within, None)
    return tuple(groups)


def _adds(group: Columns, column: int, left: Mapping[Columns, None], widths: list[int]) -> bool:
    """Whether a marginal that is left is within a group and one more column."""
    return any(
        tuple(sorted((*within, column))) in left
        for width in widths
        if width > 0
        for within in combinations(group, width - 1)
    )


@dataclass(frozen=True, eq=False)
class FittedValues:
    """The values of all marginals, each group's fitted when it is first asked for.

    Attributes
    ----------
    lattice
        The marginals.
    residuals, noise
        The estimate of each residual, and the variance of its noise by its place.
    """

    lattice: Lattice
    residuals: Mapping[Columns, Numbers]
    noise: Numbers

    @cached_property
    def groups(self) -> tuple[Columns, ...]:
        """The columns of each group: tables within one add up."""
        return column_groups(self.lattice)

    @cached_property
    def _sets(self) -> tuple[frozenset[int], ...]:
        return tuple(map(frozenset, self.groups))

    @cached_property
    def _fitted(self) -> dict[Columns, Numbers]:
        return {}

    def over(self, columns: Columns) -> Numbers:
        """The cells of the marginal over columns, by the first group that has all of them; none is negative.

        Raises `QueryError` where none does.
        """
        core = self.lattice.core(columns)
        group = next((each for each, held in zip(self.groups, self._sets, strict=True) if held.issuperset(core)), None)
        if group is None:
            raise QueryError("no marginal that was asked for has all these columns")
        axes = tuple(axis for axis, column in enumerate(group) if column not in core)
        return self._cells(group).sum(axis=axes).reshape(self.lattice.shape(columns))

    def _cells(self, group: Columns) -> Numbers:
        fitted = self._fitted
        if group not in fitted:
            cells = self._fit(group)
            while fitted and sum(each.size for each in fitted.values()) + cells.size > _MOST_REMEMBERED:
                fitted.pop(next(iter(fitted)))
            fitted[group] = cells
        return fitted[group]

    def _fit(self, group: Columns) -> Numbers:
        shape = self.lattice.shape(group)
        if self.lattice.cells(group) > _MOST_FITTED:
            total = max(float(self.residuals[()]), 0.0)
            return on_simplex(tabulated(self.lattice, self.residuals, group).ravel(), total).reshape(shape)
        places = {column: place for place, column in enumerate(group)}
        parts = [each for each in self.lattice.parts(group) if each in self.residuals]
        inside = {each: tuple(places[column] for column in each) for each in parts}
        return log_linear(
            shape,
            {inside[each]: np.asarray(self.residuals[each]) for each in parts},
            {inside[each]: float(self.noise[self.lattice.places[each]]) for each in parts},
        )
