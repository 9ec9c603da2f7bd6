"""Non-negative integers near estimates on a tree of areas, that add up over levels and cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.marginals.trees._non_negative import cells_near, children_near, totals_near
from discreet.marginals.trees._rounding import rounded_children, rounded_totals
from discreet.marginals.trees._tree import Tree

__all__ = ["Slices", "integer_cells", "integer_totals", "integers_near"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_AT_ONCE = 2**21
"""Cells of children that are looked at together, if they have more than one parent: 16 MiB of each array of them."""


class Rows(Protocol):
    """Areas by cells: an array, or what makes one of some areas when these are asked for."""

    def __getitem__(self, areas: slice, /) -> Numbers: ...


@dataclass(frozen=True)
class Slices:
    """The cells of a level, made for some areas at a time: all at once may be more than fits."""

    level: int
    cells: Callable[[int, slice], Numbers]

    def __getitem__(self, areas: slice, /) -> Numbers:
        return self.cells(self.level, areas)


def integers_near(  # noqa: PLR0913, PLR0917
    tree: Tree,
    totals: Callable[[int], Numbers],
    cells: Callable[[int], Rows],
    allowed: NDArray[np.bool_] | None = None,
    held: tuple[int, Places] | None = None,
    fit: Callable[[int, Numbers, Numbers], Numbers] | None = None,
) -> Places:
    """The integers of the areas of the last level, by cells; those of other levels are sums of them.

    From the root down, each area's total and then its cells are the non-negative ones nearest to their estimates that
    add up to those above, rounded within 1. Post-processing: it costs nothing. Given what is above, the children of one
    area do not depend on those of another: they are made of some areas at a time, so that memory is for these and for
    the integers.

    Parameters
    ----------
    totals, cells
        Of a level the estimates of the areas' totals, and of their cells, areas by cells: an array, or `Slices`.
    allowed
        Which cells may have people; the others stay 0.
    held
        A level, and the totals of its areas, which are met.
    fit
        From a level, the estimates of some of its areas, and for each of them the cells of the area that it lies in, to
        better estimates; the cells above the root are 1 where people may be.

    >>> tree = Tree.of_parents([[0, 0]])
    >>> totals = [np.array([10.2]), np.array([4.4, 5.8])]
    >>> cells = [np.array([[7.1, 3.1]]), np.array([[4.9, -0.5], [2.2, 3.6]])]
    >>> integers_near(tree, totals.__getitem__, cells.__getitem__)
    array([[4, 0],
           [3, 3]])
    """
    every = [each[:, None] for each in integer_totals(tree, totals, held)]
    return integer_cells(tree, every, cells, allowed=allowed, fit=fit)


def integer_cells(  # noqa: PLR0913
    tree: Tree,
    totals: Sequence[Places],
    cells: Callable[[int], Rows],
    classes: Sequence[NDArray[np.intp] | slice] = (slice(None),),
    *,
    allowed: NDArray[np.bool_] | None = None,
    fit: Callable[[int, Numbers, Numbers], Numbers] | None = None,
) -> Places:
    """As `integers_near`, with totals that are given: of each class of cells a column of whole numbers at each level.

    Parameters
    ----------
    totals
        For each level areas by classes, each the sum of those of the areas within it.
    classes
        The cells of each class; all in one by default.

    >>> tree = Tree.of_parents([[0, 0]])
    >>> totals = [np.array([[6, 4]]), np.array([[5, 0], [1, 4]])]
    >>> cells = [np.array([[3.1, 3.1, 4.0]]), np.array([[2.2, 2.6, 0.1], [1.0, 0.2, 3.9]])]
    >>> integer_cells(tree, totals, cells.__getitem__, [np.array([0, 1]), np.array([2])])
    array([[2, 3, 0],
           [1, 0, 4]])
    """
    root = np.asarray(cells(0)[:][:1], np.float64)
    if fit is not None:
        everybody = np.ones_like(root) if allowed is None else allowed[None].astype(np.float64)
        root = fit(0, _with_totals(root, totals[0].sum(axis=1)), everybody)
    integers = np.zeros((1, root.shape[1]), np.int64)
    for place, own in enumerate(classes):
        total = totals[0][:, place]
        near = cells_near(_allowed(root[0, own], None if allowed is None else allowed[own]), int(total[0]))
        integers[0, own] = rounded_totals(Tree((np.zeros(len(near), np.int64),)), 1, near, total)
    for level in range(1, tree.levels):
        above, estimates = integers, cells(level)
        integers = np.zeros((tree.sizes[level], above.shape[1]), np.int64)
        for parents in _some(tree, level - 1, above.shape[1]):
            family, children = tree.family(level - 1, parents.start, parents.stop)
            totals_here, estimate = totals[level][children], estimates[children]
            estimate = _with_totals(estimate, totals_here.sum(axis=1))
            if fit is not None:
                estimate = fit(level, estimate, above[parents][family.parents[1]].astype(np.float64))
            for place, own in enumerate(classes):
                total, inside = totals_here[:, place], above[parents][:, own]
                sparse = children_near(family, 2, _with_totals(estimate[:, own], total), inside, total)
                integers[children, own] = rounded_children(family, 2, sparse, inside, total)
    return integers


def _with_totals(cells: Numbers, totals: Places) -> Numbers:
    return cells + ((totals - cells.sum(axis=1)) / cells.shape[1])[:, None]


def _some(tree: Tree, level: int, cells: int) -> Iterator[slice]:
    """The areas of a level, in runs that have not too many cells of children together."""
    ends = np.append(tree.starts[level][1:], tree.sizes[level + 1]) * cells
    begin = 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + _AT_ONCE, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def integer_totals(tree: Tree, totals: Callable[[int], Numbers], held: tuple[int, Places] | None) -> list[Places]:
    """Whole totals from 0 near the estimates of each level, which add up, and are those that are held at a level."""
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
