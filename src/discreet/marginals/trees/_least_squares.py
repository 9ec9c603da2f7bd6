"""Least squares on a tree of areas: two passes, exact variances, and the variance of any linear question.

Each level is measured with one variance, or not at all. Then the best linear unbiased estimate of every area follows
from a pass up, which weighs what an area measured against the sum of its children, and a pass down, which gives the
difference between an area and its children to these by their variances. Source: Hay, Rastogi, Miklau and Suciu 2010,
Theorem 3, for equal variances and degrees; ``proofs/tree_least_squares.md`` for these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.marginals.trees._tree import Tree

__all__ = ["LeastSquares", "inner"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The gains and variances of least squares on a tree. They are public: they follow from the tree and the noise.

    Attributes
    ----------
    tree
        The areas.
    variances
        Of the noise of what is measured at each level: infinite where nothing is, 0 where the number is known. The last
        level is measured.
    upward
        The variance of each area from what is below it and its own measurement, level by level.
    posterior
        The variance of each area from all measurements.

    Raises `ParameterError` for variances that are not one a level, are negative, or infinite at the last level.
    """

    tree: Tree
    variances: tuple[float, ...]
    upward: tuple[Numbers, ...] = field(init=False)
    posterior: tuple[Numbers, ...] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.variances) != self.tree.levels or not all(each >= 0 for each in self.variances):
            raise ParameterError(f"variances must be {self.tree.levels} numbers from 0, one for each level")
        if not math.isfinite(self.variances[-1]):
            raise ParameterError("the last level of a tree must be measured; cut the tree off below what is")
        object.__setattr__(self, "upward", self._upward())
        object.__setattr__(self, "posterior", self._posterior())

    def _upward(self) -> tuple[Numbers, ...]:
        levels = [np.full(self.tree.sizes[-1], self.variances[-1])]
        for level in reversed(range(self.tree.levels - 1)):
            below, own = self.tree.up(level, levels[-1]), self.variances[level]
            levels.append(below if math.isinf(own) else _both(own, below))
        return tuple(levels[::-1])

    def _posterior(self) -> tuple[Numbers, ...]:
        levels = [self.upward[0]]
        for level in range(1, self.tree.levels):
            own, gain = self.upward[level], self._gain(level)
            given = np.maximum(own - gain * own, 0)
            levels.append(given + gain**2 * self.tree.down(level, levels[-1]))
        return tuple(levels)

    def _gain(self, level: int) -> Numbers:
        """Which part of what an area misses each of its children gets."""
        own = self.upward[level]
        total = self.tree.down(level, self.tree.up(level - 1, own))
        return np.divide(own, total, out=np.zeros_like(own), where=total > 0)

    def estimate(self, measured: Sequence[NDArray[Any] | None]) -> list[Numbers]:
        """The estimates at each level, from arrays of areas, or of areas by cells; None where nothing was measured."""
        last = measured[-1]
        assert last is not None
        levels = [np.array(last, np.float64)]
        for level in reversed(range(self.tree.levels - 1)):
            below, own = self.tree.up(level, levels[-1]), measured[level]
            if own is not None and not math.isinf(self.variances[level]):
                below += _rows(self._weight(level), below) * (own - below)
            levels.append(below)
        levels.reverse()
        for level in range(1, self.tree.levels):
            missed = levels[level - 1] - self.tree.up(level - 1, levels[level])
            levels[level] += _rows(self._gain(level), missed) * self.tree.down(level, missed)
        return levels

    def _weight(self, level: int) -> Numbers:
        """How far an estimate moves from the sum of the children to what was measured."""
        below = self.tree.up(level, self.upward[level + 1])
        total = below + self.variances[level]
        return np.divide(below, total, out=np.zeros_like(below), where=total > 0)

    def variance(self, weights: Sequence[NDArray[Any] | None]) -> float:
        """The variance of a weighted sum of the estimates of areas of any levels; None where a level has no weight.

        >>> tree = Tree.of_parents([[0, 0, 0]])
        >>> squares = LeastSquares(tree, (4.0, 4.0))
        >>> squares.variance([None, np.array([1.0, 1.0, 0.0])])
        4.0
        """
        total = 0.0
        carried = np.zeros(self.tree.sizes[-1])
        for level in range(self.tree.levels - 1, -1, -1):
            own = weights[level]
            carried = carried if own is None else carried + own
            upward = self.upward[level]
            if level:
                shared = self._shared(level, carried)
                spread = self.tree.up(level - 1, upward * carried)
                total += float(upward @ carried**2 - spread @ shared)
                carried = shared
            else:
                total += float(upward @ carried**2)
        return max(total, 0.0)

    def _shared(self, level: int, carried: Numbers) -> Numbers:
        """For each parent the mean weight of its children, by their variances."""
        return self.tree.up(level - 1, self._gain(level) * carried)

    def covariances(self, weights: Sequence[NDArray[Any] | None]) -> list[Numbers]:
        """The covariance of each estimate with a weighted sum of them, level by level."""
        tree, last = self.tree, self.tree.levels - 1
        carried: list[Numbers] = [np.zeros(size) for size in tree.sizes]
        for level in range(last, -1, -1):
            own = weights[level]
            if own is not None:
                carried[level] += own
            if level:
                carried[level - 1] += self._shared(level, carried[level])
        levels = [carried[0] * self.upward[0]]
        for level in range(1, tree.levels):
            own = self.upward[level] * (carried[level] - tree.down(level, self._shared(level, carried[level])))
            levels.append(own + self._gain(level) * tree.down(level, levels[-1]))
        return levels


def inner(levels: Sequence[Numbers], weights: Sequence[NDArray[Any] | None]) -> Any:
    """A weighted sum over areas of all levels: of each column, where areas have columns."""
    parts = [own @ levels[level] for level, own in enumerate(weights) if own is not None]
    return np.sum(parts, axis=0) if parts else np.zeros(levels[0].shape[1:])


def _both(one: float, other: Numbers) -> Numbers:
    """The variance of the best mean of two independent numbers."""
    total = one + other
    return np.divide(one * other, total, out=np.zeros_like(other), where=total > 0)


def _rows(factors: Numbers, like: NDArray[Any]) -> Numbers:
    return factors.reshape(-1, *(1,) * (like.ndim - 1))
