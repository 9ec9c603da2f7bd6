"""Whole numbers beside real ones, that keep rules and add up: generators are handed out to the areas that miss most.

What is below the real numbers in whole generators keeps the rules. What is then left of the area above keeps them too:
it is whole, and a sum of the fractions of generators. So it is itself a sum of generators (that is what a Hilbert basis
is), and any of them may be taken away while the rest still keeps the rules: one by one they go to the child that they
bring nearest to its real numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.trees import Tree

__all__ = ["Rounding"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_NOTHING = 1e-6


@dataclass(frozen=True, eq=False)
class Rounding:
    """Rounds numbers of classes under rules.

    Attributes
    ----------
    generators
        The least numbers that keep the rules, a row each.
    factors, is_equal
        The rules: sums with these factors are 0, or 0 at most.
    """

    generators: Places
    factors: Places
    is_equal: NDArray[np.bool_]

    def keeps(self, numbers: Places) -> NDArray[np.bool_]:
        """Which rows of numbers are from 0 and keep the rules."""
        sums = numbers @ self.factors.T
        return (numbers >= 0).all(axis=-1) & ((sums == 0) | (~self.is_equal & (sums < 0))).all(axis=-1)

    def alone(self, near: Numbers) -> Places:
        """Whole numbers near real ones, which are so many times each generator.

        >>> rules = Rounding(np.array([[1, 1], [0, 1]]), np.array([[1, -1]]), np.array([False]))
        >>> rules.alone(np.array([2.6, 0.2]))
        array([3, 3])
        """
        wanted = near @ self.generators
        numbers = np.floor(near + _NOTHING).astype(np.int64) @ self.generators
        while True:
            gains = self._gains(wanted[None] - numbers)[0]
            best = int(gains.argmax())
            if gains[best] <= 0:
                return numbers
            numbers = numbers + self.generators[best]

    def children(self, tree: Tree, level: int, near: Numbers, above: Places) -> Places:
        """Whole numbers of the areas of a level that sum to those above, near real ones in times of generators."""
        wanted = near @ self.generators
        times = np.floor(near + _NOTHING).astype(np.int64)
        self._lower(tree, level, times, above)
        numbers = times @ self.generators
        left = above - tree.up(level - 1, numbers)
        starts, parents = tree.starts[level - 1], tree.parents[level - 1]
        while left.any():
            busy = left.any(axis=1)
            fits = self.keeps(left[:, None] - self.generators[None])
            gains = np.where(fits[parents], self._gains(wanted - numbers), -np.inf)
            best = gains.max(axis=1)
            top = np.maximum.reduceat(best, starts)
            is_top = np.flatnonzero((best == top[parents]) & busy[parents])
            chosen = is_top[np.unique(parents[is_top], return_index=True)[1]]
            given = self.generators[gains[chosen].argmax(axis=1)]
            numbers[chosen] += given
            left[parents[chosen]] -= given
        return numbers

    def _lower(self, tree: Tree, level: int, times: Places, above: Places) -> None:
        """Take generators back where errors of floats gave a little more than there is."""
        parents, starts = tree.parents[level - 1], tree.starts[level - 1]
        while True:
            left = above - tree.up(level - 1, times @ self.generators)
            odd = ~self.keeps(left)
            if not odd.any():
                return
            most = times.max(axis=1)
            is_top = np.flatnonzero((most == np.maximum.reduceat(most, starts)[parents]) & odd[parents])
            chosen = is_top[np.unique(parents[is_top], return_index=True)[1]]
            times[chosen, times[chosen].argmax(axis=1)] -= 1

    def _gains(self, missing: Numbers) -> Numbers:
        """By how much the square of what is missing falls with one more of each generator."""
        return np.asarray(2 * missing @ self.generators.T - (self.generators**2).sum(axis=1), np.float64)
