"""Non-negative integers near estimates on a tree of areas, that add up over levels and cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.trees._non_negative import cells_near, children_near, totals_near
from discreet.marginals.trees._rounding import rounded_children, rounded_totals
from discreet.marginals.trees._tree import Tree

__all__ = ["integers_near"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


def integers_near(
    tree: Tree,
    totals: Callable[[int], Numbers],
    cells: Callable[[int], Numbers],
    allowed: NDArray[np.bool_] | None = None,
    held: tuple[int, Places] | None = None,
) -> Places:
    """The integers of the areas of the last level, by cells; those of other levels are sums of them.

    From the root down, each area's total and then its cells are the non-negative ones nearest to their estimates that
    add up to those above, rounded within 1. Post-processing: it costs nothing.

    Parameters
    ----------
    totals, cells
        Of a level the estimates of the areas' totals, and of their cells, areas by cells.
    allowed
        Which cells may have people; the others stay 0.
    held
        A level, and the totals of its areas, which are met.

    >>> tree = Tree.of_parents([[0, 0]])
    >>> totals = [np.array([10.2]), np.array([4.4, 5.8])]
    >>> cells = [np.array([[7.1, 3.1]]), np.array([[4.9, -0.5], [2.2, 3.6]])]
    >>> integers_near(tree, totals.__getitem__, cells.__getitem__)
    array([[4, 0],
           [3, 3]])
    """
    integer_totals = _integer_totals(tree, totals, held)
    root = _allowed(cells(0)[0], allowed)
    near = cells_near(root, int(integer_totals[0][0]))
    columns = Tree((np.zeros(len(near), np.int64),))
    integers = rounded_totals(columns, 1, near, integer_totals[0])[None]
    for level in range(1, tree.levels):
        estimate = cells(level)
        estimate = estimate + ((integer_totals[level] - estimate.sum(axis=1)) / estimate.shape[1])[:, None]
        sparse = children_near(tree, level, estimate, integers, integer_totals[level])
        integers = rounded_children(tree, level, sparse, integers, integer_totals[level])
    return integers


def _integer_totals(tree: Tree, totals: Callable[[int], Numbers], held: tuple[int, Places] | None) -> list[Places]:
    if held is None:
        integers = [np.maximum(np.rint(totals(0)), 0).astype(np.int64)]
    else:
        level, exact = held
        integers = Tree(tree.parents[:level]).sums(exact)
    for level in range(len(integers), tree.levels):
        near = totals_near(tree, level, totals(level), integers[-1])
        integers.append(rounded_totals(tree, level, near, integers[-1]))
    return integers


def _allowed(cells: Numbers, allowed: NDArray[np.bool_] | None) -> Numbers:
    return cells if allowed is None else np.where(allowed, cells, -np.inf)
