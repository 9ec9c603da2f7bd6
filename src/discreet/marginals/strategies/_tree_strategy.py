"""Weighted trees for pure ε: nested blocks of cells, measured level by level with shares fitted to a workload.

With one variance a level and blocks of one size, the covariance of least squares is diagonal in the differences between
levels: a workload's mean variance is a sum over levels in closed form, which the shares minimise. Estimates, and the
exact variance of every linear query, are by `LeastSquares`, whatever the blocks at the end. ``proofs/range_trees.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.marginals.strategies._workload import Workload
from discreet.marginals.trees import LeastSquares, Tree
from discreet.marginals.trees._non_negative import totals_near
from discreet.marginals.trees._rounding import rounded_totals

__all__ = ["TreeStrategy", "fitted_tree", "near_integers", "nested"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_DEGREES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_FINE = 0.65
"""What error within the smallest blocks counts: where most counts are near 0, non-negativity takes much of it."""
_STEPS = 2**10
_SMALL, _NOTHING = 1.5, 2.0
"""Blocks below so many standard errors are nothing, unless together they are above so many of theirs."""


@dataclass(frozen=True, eq=False)
class TreeStrategy:
    """Blocks of `widths` cells, the last of 1, each level measured with its part of ε.

    Attributes
    ----------
    cells
        How many there are; blocks at the end are smaller where a width does not divide it.
    widths
        Falling, each a multiple of the next, the last 1.
    shares
        What each level has of ε; they sum to 1.

    Raises `ParameterError` for others.
    """

    cells: int
    widths: tuple[int, ...]
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        ordered = all(a > b and a % b == 0 for a, b in zip(self.widths, self.widths[1:], strict=False))
        if not self.widths or self.widths[-1] != 1 or not ordered:
            raise ParameterError("widths of blocks fall, each a multiple of the next, to 1")
        if len(self.shares) != len(self.widths) or min(self.shares) <= 0 or sum(self.shares) > 1:
            raise ParameterError("each level has a share above 0, and they sum to no more than 1")

    @cached_property
    def tree(self) -> Tree:
        """The blocks as a tree, below a root that is not measured."""
        return nested(self.cells, self.widths)

    def sums(self, counts: NDArray[Any]) -> list[NDArray[Any]]:
        """The sums of the blocks of each level."""
        return self.tree.sums(counts)[1:]

    def least_squares(self, variances: Sequence[float]) -> LeastSquares:
        """Least squares, by the variance of each level's noise."""
        return LeastSquares(self.tree, (float("inf"), *variances))

    def mean_variance(self, workload: Workload, variances: Sequence[float]) -> float:
        """The exact mean variance of a workload's queries. Linear in the cells, a level at a time."""
        squares = self.least_squares(variances)
        profile, total = np.ones(self.cells), 0.0
        leaves = [self._leaf_starts(level) for level in range(self.tree.levels)]
        for level in range(self.tree.levels - 1, -1, -1):
            upward = squares.upward[level]
            conditional = upward.copy()
            if level < self.tree.levels - 1:
                conditional -= self.tree.up(level, squares.upward[level + 1])
            total += float(conditional @ workload.energies(profile, leaves[level]))
            if level:
                gain = upward / self.tree.down(level, self.tree.up(level - 1, upward))
                sizes = np.diff(np.append(leaves[level], self.cells))
                profile = profile * np.repeat(gain, sizes)
        return total

    def _leaf_starts(self, level: int) -> Places:
        width = self.cells if level == 0 else self.widths[level - 1]
        return np.arange(0, self.cells, width)


def nested(cells: int, widths: Sequence[int]) -> Tree:
    """A tree of blocks of cells, below a root; the last blocks may be smaller.

    >>> nested(5, (2, 1)).sizes
    (1, 3, 5)
    """
    parents, above = list[Places](), cells
    for width in widths:
        blocks = np.arange(-(-cells // width))
        parents.append(blocks * width // above)
        above = width
    return Tree(tuple(parents))


@lru_cache(maxsize=16)
def fitted_tree(workload: Workload) -> TreeStrategy:
    """The weighted tree of equal degrees with the least mean variance for a workload, under pure ε.

    >>> fitted_tree(Workload("ranges", 4096)).widths
    (400, 20, 1)
    """
    cells = workload.cells
    candidates = {(1,): None}
    for degree in _DEGREES:
        powers = [degree**i for i in range(cells.bit_length()) if degree**i < cells] or [1]
        for highest in (powers, powers[:-1]):
            if highest:
                candidates[tuple(reversed(highest))] = None
    fitted = [(*_shares(workload, widths), widths) for widths in candidates]
    _, shares, widths = min(fitted, key=lambda each: each[0])
    return TreeStrategy(cells, widths, shares)


def _shares(workload: Workload, widths: tuple[int, ...]) -> tuple[float, tuple[Fraction, ...]]:
    """The objective and the best shares of levels, each a multiple of 1/1,024."""
    from scipy.optimize import minimize

    cells = workload.cells
    if len(widths) == 1:
        return _FINE * float(workload.energies(np.ones(cells), np.arange(cells)).sum()), (Fraction(1),)
    projected = list[float]()
    for width in widths:
        starts = np.arange(0, cells, width)
        sizes = np.diff(np.append(starts, cells))
        projected.append(float((workload.energies(np.ones(cells), starts) / sizes).sum()))
    detail = np.diff([0.0, *projected])
    detail[-1] *= _FINE
    widest = np.array(widths, np.float64)

    def mean_variance(logarithms: Numbers) -> float:
        weights = np.exp(logarithms - logarithms.max())
        weights /= weights.sum()
        precision = np.cumsum((weights**2 * widest)[::-1])[::-1]
        return float((detail / precision).sum())

    def objective(logarithms: Numbers) -> float:
        return float(np.log(mean_variance(logarithms)))

    least = minimize(objective, np.zeros(len(widths)), method="BFGS")
    weights = np.exp(least.x - least.x.max())
    steps = np.maximum(np.floor(weights / weights.sum() * _STEPS), 1).astype(int)
    steps[steps.argmax()] += _STEPS - steps.sum()
    shares = tuple(Fraction(int(step), _STEPS) for step in steps)
    return mean_variance(np.log(np.array([float(share) for share in shares]))), shares


def near_integers(tree: Tree, estimates: Sequence[Numbers], deviation: float) -> Places:
    """The leaves of whole numbers near estimates that add up: a step down from each level to the next.

    `deviation` is the standard error of the blocks of the first level below the root. Those that are not clearly there
    are left out together: noise that is cut off at 0 would add up to people who are nobody. What is drawn from here on
    is a function of noisy estimates alone.

    >>> tree = Tree.of_parents([[0, 0], [0, 0, 1]])
    >>> near_integers(tree, [np.array([9.3]), np.array([9.6, -0.3]), np.array([10.3, -0.7, -0.3])], 1.0)
    array([10,  0,  0])
    """
    top = _clear(estimates[1], deviation)
    integers = np.array([max(round(float(top.sum())), 0)])
    for level in range(1, tree.levels):
        near = totals_near(tree, level, top if level == 1 else estimates[level], integers)
        integers = rounded_totals(tree, level, near, integers)
    return integers


def _clear(blocks: Numbers, deviation: float) -> Numbers:
    """The blocks, the small ones as nothing where they are nothing together."""
    small = blocks < _SMALL * deviation
    together = blocks[small].sum()
    if together < _NOTHING * deviation * np.sqrt(np.count_nonzero(small)):
        return np.where(small, 0.0, blocks)
    return blocks
