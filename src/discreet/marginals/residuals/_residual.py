"""One residual of a table: the integer query that is measured of it, and how far a person moves that query.

The query is M = ⊗ (n I − 1 1ᵀ) over the columns of the residual, applied to the counts of their marginal: whole
numbers, and n₁ n₂ … times the residual itself. Independent noise on each of them, centred again, is noise of the
covariance that is best for residuals; that its loss is that of the residual's own sensitivity is shown in
``proofs/residual_marginals.md``.

The components of cells that were measured themselves are their residuals too: the total, what each column adds, what
each pair adds. Where every cell has independent noise of one variance, the components have independent noise, each of
one variance too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.residuals._lattice import Columns, Numbers
from discreet.privacy import Relation
from discreet.sensitivity import Norms, bounded_sum

__all__ = [
    "centred",
    "component_variance",
    "residual_norms",
    "residual_query",
    "residual_scale",
    "spread",
]

_FITS = 2**62


def residual_scale(sizes: Sequence[int]) -> int:
    """How many times the residual its integer query is: the product of the columns' numbers of cells.

    >>> residual_scale((2, 5))
    10
    """
    return math.prod(sizes)


def residual_query(counts: NDArray[Any]) -> NDArray[Any]:
    """The integers that are measured, exact: for each column, n times its cells less their sum.

    Where 64 bits might not hold them they are Python's integers.

    >>> residual_query(np.array([3, 1, 0]))
    array([ 5, -1, -4])
    """
    exact = counts
    if int(np.abs(counts.ravel()).sum()) * residual_scale(counts.shape) * 2 >= _FITS:
        exact = counts.astype(object)
    for axis, size in enumerate(counts.shape):
        exact = size * exact - exact.sum(axis=axis, keepdims=True)
    return exact


def residual_norms(sizes: Sequence[int], rows: int, relation: Relation) -> Norms:
    """How far one person with at most so many rows moves the integer query of a residual. The L2 norm is attained.

    Columns have two cells or more; without columns it is the number of rows. One row is Π n (n − 1) squared away from
    none, and from another row at most 2 Π n (n − 1) · (1 + 1 / (n' − 1)) with n' the fewest cells of a column.

    >>> residual_norms((2, 3), 1, "add_remove")
    Norms(l1=8, l2_squared=12, linf=2)
    >>> residual_norms((2, 3), 1, "substitute").l2_squared
    48
    """
    if not sizes:
        return bounded_sum(0, 1, rows, relation, grouped=False)
    corner = math.prod(size - 1 for size in sizes)
    l1, squared = 2 ** len(sizes) * corner, residual_scale(sizes) * corner
    if relation == "substitute":
        squared = 2 * (squared + squared // (min(sizes) - 1))
        return Norms(2 * rows * l1, rows**2 * squared, 2 * rows * corner)
    return Norms(rows * l1, rows**2 * squared, rows * corner)


def centred(cells: Numbers, axes: Sequence[int]) -> Numbers:
    """The cells less their mean along each of these axes."""
    for axis in axes:
        cells = cells - cells.mean(axis=axis, keepdims=True)
    return cells


def spread(cells: Numbers, columns: Sequence[int], over: Sequence[int], sizes: Sequence[int]) -> Numbers:
    """A residual on some of the columns of a marginal, evenly over the rest: axes of length 1 for those.

    `columns` are those of the residual, `over` those of the marginal, and `sizes` are the cells of all columns.
    """
    shape = tuple(sizes[column] if column in columns else 1 for column in over)
    return cells.reshape(shape) / math.prod(sizes[column] for column in over if column not in columns)


def component_variance(sizes: Sequence[int], columns: Columns, variance: float) -> float:
    """The one variance of a component where each cell has independent noise of this variance.

    The noise of the component is that of independent cells of the variance that is returned, centred along its columns:
    a cell of it varies by Π (1 − 1/n) of that.

    >>> component_variance((2, 3), (1,), 4.0)
    8.0
    """
    return variance * math.prod(size for place, size in enumerate(sizes) if place not in columns)
