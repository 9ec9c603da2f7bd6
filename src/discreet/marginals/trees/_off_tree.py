"""Least squares on a tree with measurements of districts, which lie across its areas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from discreet.marginals.trees._least_squares import LeastSquares, inner

__all__ = ["OffTree"]

Numbers = NDArray[np.float64]
Weights = Sequence[NDArray[Any] | None]


@dataclass(frozen=True, eq=False)
class OffTree:
    """Least squares on a tree, then on what districts measured: a correction of as many dimensions as districts.

    Attributes
    ----------
    squares
        Least squares on the tree alone.
    districts
        Of each measured district its weights of areas, level by level, as `LeastSquares.variance` takes them.
    variances
        Of the noise of each.

    The estimate is that of all measurements at once, by the identity of Woodbury; ``proofs/tree_least_squares.md``.
    """

    squares: LeastSquares
    districts: Sequence[Weights] = ()
    variances: Sequence[float] = ()

    @property
    def levels(self) -> int:
        """How many levels have estimates."""
        return self.squares.tree.levels

    @cached_property
    def _covariances(self) -> list[Numbers]:
        """At each level the covariances of areas with districts, by areas and districts."""
        each = [self.squares.covariances(weights) for weights in self.districts]
        return [np.stack([one[level] for one in each], axis=1) for level in range(self.levels)]

    @cached_property
    def _factor(self) -> Any:
        between = np.stack([inner(self._covariances, weights) for weights in self.districts])
        return cho_factor(between + np.diag(np.asarray(self.variances, np.float64)))

    @cached_property
    def posterior(self) -> list[Numbers]:
        """The variance of each area, level by level."""
        if not self.districts:
            return list(self.squares.posterior)
        return [
            np.maximum(own - (cross * cho_solve(self._factor, cross.T).T).sum(axis=1), 0.0)
            for own, cross in zip(self.squares.posterior, self._covariances, strict=True)
        ]

    def variance(self, weights: Weights) -> float:
        """The variance of a weighted sum of the estimates of areas of any levels."""
        alone = self.squares.variance(weights)
        if not self.districts:
            return alone
        cross = inner(self._covariances, weights)
        return max(alone - float(cross @ cho_solve(self._factor, cross)), 0.0)

    def covariance(self, weights: Weights, others: Weights) -> float:
        """The covariance of two weighted sums of the estimates of areas of any levels."""
        alone = float(inner(self.squares.covariances(weights), others))
        if not self.districts:
            return alone
        one, other = (inner(self._covariances, each) for each in (weights, others))
        return alone - float(one @ cho_solve(self._factor, other))

    def estimate(self, measured: Sequence[NDArray[Any] | None], districts: NDArray[Any] | None = None) -> list[Numbers]:
        """The estimates at each level, from what levels and districts measured; arrays by areas, then by cells."""
        levels = self.squares.estimate(measured)
        if not self.districts:
            return levels
        assert districts is not None
        shape = levels[0].shape[1:]
        flat = [each.reshape(len(each), -1) for each in levels]
        there = np.stack([inner(flat, weights) for weights in self.districts])
        moved = cho_solve(self._factor, districts.reshape(len(there), -1) - there)
        return [(each + cross @ moved).reshape(-1, *shape) for each, cross in zip(flat, self._covariances, strict=True)]
