"""The published integers: never negative, near the estimate, and adding up over levels, tables and areas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.census._estimate import Estimate

__all__ = ["published_integers"]


def published_integers(estimate: Estimate) -> NDArray[np.int64]:
    """The integers of the smallest areas, by cells of all columns."""
    layout = estimate.layout
    last = layout.tree.levels - 1
    cells = estimate.cells(last, layout.detail).reshape(layout.tree.sizes[last], -1)
    return np.maximum(np.rint(cells), 0).astype(np.int64)
