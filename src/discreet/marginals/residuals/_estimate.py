"""Marginals made again of measured residuals: unbiased, with the variance of every linear question about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.errors import ParameterError
from discreet.marginals.residuals._lattice import Columns, Lattice, Numbers
from discreet.marginals.residuals._residual import centred, residual_scale, spread

__all__ = ["ResidualErrors", "residual_of", "tabulated"]


@dataclass(frozen=True, eq=False)
class ResidualErrors:
    """The errors of marginals whose residuals have noise of these variances: all known before any data.

    The noise of a residual is that of independent cells of its variance, centred along each of its columns.
    """

    lattice: Lattice
    noise: Numbers

    @cached_property
    def cell_variances(self) -> Numbers:
        """The variance of a cell of each marginal; all cells of one have the same."""
        return self.lattice.variances(self.noise)

    def covariance(self, one: Columns, weights: Numbers, other: Columns, others: Numbers) -> float:
        """The covariance of two weighted sums of cells, of the marginals over `one` and `other`.

        Raises `ParameterError` for a marginal that is not made of these residuals.
        """
        shared = tuple(column for column in one if column in other)
        parts = self.lattice.parts(shared)
        if not set(self.lattice.parts(one)) | set(self.lattice.parts(other)) <= self.lattice.places.keys():
            raise ParameterError("no marginal has these columns; name one that is measured, or some columns of one")
        return sum(
            float(self.noise[self.lattice.places[part]])
            * float((self._functional(part, one, weights) * self._functional(part, other, others)).sum())
            for part in parts
        )

    def variance(self, columns: Columns, weights: Numbers) -> float:
        """The variance of a weighted sum of the cells of a marginal. Raises as `covariance`."""
        return self.covariance(columns, weights, columns, weights)

    def product_variance(self, columns: Columns, weights: Sequence[Numbers]) -> float:
        """The variance of a sum of cells whose weights are products of one for each column, without its cells."""
        over = dict(zip(columns, weights, strict=True))
        within = {column: float(((each - each.mean()) ** 2).sum()) for column, each in over.items()}
        between = {column: float(each.mean()) ** 2 for column, each in over.items()}
        total = 0.0
        for part in self.lattice.parts(columns):
            share = float(self.noise[self.lattice.places[part]])
            for column in columns:
                share *= within[column] if column in part else between[column]
            total += share
        return total

    def product_step(self, columns: Columns, weights: Sequence[Numbers]) -> float:
        """How far one step of the grid of a residual's integers moves such a sum at most."""
        over = dict(zip(columns, weights, strict=True))
        most = 0.0
        for part in self.lattice.parts(columns):
            step = 1 / residual_scale(self.lattice.shape(part))
            for column, each in over.items():
                step *= float(np.abs(each - each.mean()).max() if column in part else abs(each.mean()))
            most = max(most, step)
        return most

    def _functional(self, part: Columns, columns: Columns, weights: Numbers) -> Numbers:
        """What weights on a marginal's cells weigh on a residual: their means over the rest, centred."""
        axes = tuple(axis for axis, column in enumerate(columns) if column not in part)
        mean = weights.mean(axis=axes) if axes else weights
        return centred(mean, range(len(part)))


def residual_of(measured: Numbers) -> Numbers:
    """The residual, from its integer query with noise: centred again, and divided by its scale.

    >>> residual_of(np.array([5.0, 0.0, -2.0])).round(3)
    array([ 1.333, -0.333, -1.   ])
    """
    return centred(measured, range(measured.ndim)) / residual_scale(measured.shape)


def tabulated(lattice: Lattice, residuals: Mapping[Columns, Numbers], columns: Columns) -> Numbers:
    """A marginal, as the sum of its residuals spread over its cells: in time linear in the cells of each."""
    cells = np.zeros(lattice.shape(columns))
    for part in lattice.parts(columns):
        cells += spread(residuals[part], part, columns, lattice.sizes)
    return cells
