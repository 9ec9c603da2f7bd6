"""Whole numbers of 0 or more near the estimate of a histogram, which add up on its tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.trees import Tree
from discreet.marginals.trees._non_negative import totals_near
from discreet.marginals.trees._rounding import rounded_totals

__all__ = ["near_integers"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_SMALL, _NOTHING = 1.5, 2.0
"""Blocks below so many standard errors are nothing, unless together they are above so many of theirs."""


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
    whole = np.array([max(round(float(top.sum())), 0)])
    for level in range(1, tree.levels):
        near = totals_near(tree, level, top if level == 1 else estimates[level], whole)
        whole = rounded_totals(tree, level, near, whole)
    return whole


def _clear(blocks: Numbers, deviation: float) -> Numbers:
    """The blocks, the small ones as nothing where they are nothing together."""
    small = blocks < _SMALL * deviation
    together = blocks[small].sum()
    if together < _NOTHING * deviation * np.sqrt(np.count_nonzero(small)):
        return np.where(small, 0.0, blocks)
    return blocks
