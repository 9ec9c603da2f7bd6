"""Cells of a table in their orthogonal components, and back: the total, what each column adds, what each pair adds, …

Where every cell is measured with independent noise of one variance, the components have independent noise, each of one
variance too. What is linear and the same for all cells, such as least squares over the areas of a tree, can then run
on each component alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from discreet.marginals.residuals._lattice import Columns, Numbers
from discreet.marginals.residuals._residual import centred, spread

__all__ = ["component_variance", "join_components", "split_components"]


def split_components(cells: Numbers, columns: int) -> dict[Columns, Numbers]:
    """The components of cells, by their sets of columns, the smaller first.

    The last `columns` axes of `cells` are the columns of the table; those before are areas, or whatever the tables are
    of. A component has the axes of its own columns: the sums of cells over the other columns, centred along its own.

    >>> parts = split_components(np.array([[1.0, 2.0], [3.0, 6.0]]), 2)
    >>> {columns: part.tolist() for columns, part in parts.items()}
    {(): 12.0, (0,): [-3.0, 3.0], (1,): [-2.0, 2.0], (0, 1): [[0.5, -0.5], [-0.5, 0.5]]}
    """
    first = cells.ndim - columns
    parts: dict[Columns, Numbers] = {}
    for width in range(columns + 1):
        for each in combinations(range(columns), width):
            summed = cells.sum(axis=tuple(first + i for i in range(columns) if i not in each))
            parts[each] = centred(summed, range(first, first + width))
    return parts


def join_components(parts: Mapping[Columns, Numbers], sizes: Sequence[int]) -> Numbers:
    """The cells of which these are the components; what is left out is taken to be 0. `sizes` are those of the columns.

    >>> cells = np.arange(12.0).reshape(2, 3, 2)
    >>> bool(np.allclose(join_components(split_components(cells, 2), (3, 2)), cells))
    True
    """
    first = {part.shape[: part.ndim - len(each)] for each, part in parts.items()}.pop()
    cells = np.zeros((*first, *sizes))
    for each, part in parts.items():
        flat = part.reshape(-1, *part.shape[len(first) :])
        shaped = np.stack([spread(one, each, range(len(sizes)), sizes) for one in flat])
        cells += shaped.reshape(*first, *shaped.shape[1:])
    return cells


def component_variance(sizes: Sequence[int], columns: Columns, variance: float) -> float:
    """The one variance of a component where each cell has independent noise of this variance.

    The noise of the component is that of independent cells of the variance that is returned, centred along its columns:
    a cell of it varies by Π (1 − 1/n) of that.

    >>> component_variance((2, 3), (1,), 4.0)
    8.0
    """
    return variance * math.prod(size for place, size in enumerate(sizes) if place not in columns)
