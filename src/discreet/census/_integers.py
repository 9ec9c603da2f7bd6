"""The published integers: never negative, near the estimate, and adding up over levels, tables and areas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.census.estimates import Estimate
from discreet.marginals.trees import Tree, integers_near

__all__ = ["published_integers"]


def published_integers(estimate: Estimate) -> NDArray[np.int64]:
    """The integers of the areas of the last level that is measured, by cells of all columns. Deterministic."""
    layout = estimate.layout
    tree = Tree(layout.tree.parents[: estimate.errors.depth])

    def cells(level: int) -> NDArray[np.float64]:
        return estimate.cells(level, layout.detail).reshape(tree.sizes[level], -1)

    return integers_near(tree, lambda level: estimate.cells(level, ()), cells, layout.allowed.ravel(), layout.held)
