"""Controlled rounding: each cell of a table with whole sums is rounded down or up, and all sums stay."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from discreet.marginals.trees import Tree, integers_near
from discreet.marginals.trees._non_negative import SparseCells
from discreet.marginals.trees._rounding import rounded_children

Numbers = NDArray[np.float64]


def table_of(draws: np.random.Generator, areas: int, cells: int) -> tuple[Numbers, NDArray[np.int64]]:
    """A non-negative table whose sums by rows and columns are whole, and a table of whole numbers with those sums."""
    integer = draws.poisson(draws.choice([0.3, 1.0, 4.0]), (areas, cells))
    table = integer.astype(np.float64)
    for _ in range(int(draws.integers(1, 4 * areas * cells))):
        a, b = draws.integers(areas, size=2)
        i, j = draws.integers(cells, size=2)
        most = min(table[a, i], table[b, j])
        if a != b and i != j and most > 0:
            moved = draws.choice([0.25, 0.5, 1.0]) * most
            table[[a, b], [i, j]] -= moved
            table[[a, b], [j, i]] += moved
    return np.maximum(table, 0), integer


def sparse(table: Numbers) -> SparseCells:
    rows, columns = np.nonzero(table)
    return SparseCells(rows, columns, table[rows, columns])


def check(number: int) -> None:
    """Several parents at once: sums as they were, and every cell rounded down or up."""
    draws = np.random.default_rng(number)
    sizes = draws.integers(1, 9, 4)
    tree = Tree((np.zeros(4, np.int64), np.repeat(np.arange(4), sizes)))
    cells = int(draws.integers(1, 9))
    parts = [table_of(draws, int(size), cells) for size in sizes]
    table, integer = (np.concatenate(each) for each in zip(*parts, strict=True))
    rounded = rounded_children(tree, 2, sparse(table), tree.up(1, integer), integer.sum(axis=1))
    assert (tree.up(1, rounded) == tree.up(1, integer)).all()
    assert (rounded.sum(axis=1) == integer.sum(axis=1)).all()
    assert (rounded >= np.floor(table + 1e-6)).all()
    assert (rounded <= np.ceil(table - 1e-6)).all()


@pytest.mark.parametrize("number", range(60))
def test_every_cell_is_rounded_down_or_up(number: int) -> None:
    check(number)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_every_cell_of_many_tables_is_rounded_down_or_up(part: int) -> None:
    for number in range(1_000 * (part + 1), 1_000 * (part + 2)):
        check(number)


def test_a_rounding_that_no_exchange_of_two_areas_reaches() -> None:
    """One too many of the first area goes to the last through the second: they share no column."""
    table = np.array([[0.5, 0.5, 0, 0, 0], [0.5, 0, 0.5, 0, 0], [0, 0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0.5, 0.5]])
    tree = Tree((np.zeros(4, np.int64),))
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        each = table[order]
        sums = each.sum(axis=0).astype(np.int64)[None], each.sum(axis=1).astype(np.int64)
        rounded = rounded_children(tree, 1, sparse(each), *sums)
        assert (rounded.sum(axis=0) == sums[0][0]).all()
        assert (rounded.sum(axis=1) == sums[1]).all()
        assert (rounded <= np.ceil(each)).all()


def test_how_far_a_rounding_is_from_the_least() -> None:
    """Not much farther from the table than the nearest rounding, by HiGHS, on average over tables."""
    ours, least = 0.0, 0.0
    for number in range(40):
        draws = np.random.default_rng(number)
        table, integer = table_of(draws, 6, 7)
        tree = Tree((np.zeros(6, np.int64),))
        rounded = rounded_children(tree, 1, sparse(table), tree.up(0, integer), integer.sum(axis=1))
        low, high = np.floor(table + 1e-6), np.ceil(table - 1e-6)
        cost = ((high - table) ** 2 - (low - table) ** 2).ravel()
        sums = csr_array(np.vstack([np.kron(np.eye(6), np.ones(7)), np.kron(np.ones(6), np.eye(7))]))
        wanted = np.concatenate([integer.sum(axis=1), integer.sum(axis=0)])
        bounds = np.stack([low.ravel(), high.ravel()], axis=1)
        solved = linprog(cost, A_eq=sums, b_eq=wanted, bounds=bounds, method="highs")
        assert solved.status == 0
        nearest = np.rint(solved.x).reshape(table.shape)
        ours += float(((rounded - table) ** 2).sum())
        least += float(((nearest - table) ** 2).sum())
    assert ours >= least - 1e-6
    assert ours <= 1.5 * least, (ours, least)


def hostile(number: int) -> None:
    """Estimates that no noise gives: sums are met all the same, in little time."""
    draws = np.random.default_rng(number)
    parents = [np.repeat(np.arange(1), 5), np.repeat(np.arange(5), draws.integers(1, 9, 5))]
    tree = Tree(tuple(parents))
    cells = int(draws.integers(1, 30))
    scales = 10 ** draws.uniform(-3, 7, 3)
    estimates = [
        scale * draws.standard_cauchy((size, cells)).clip(-1e3, 1e3)
        for scale, size in zip(scales, tree.sizes, strict=True)
    ]
    totals = [
        scale * draws.standard_cauchy(size).clip(-1e3, 1e3)
        for scale, size in zip(scales[::-1], tree.sizes, strict=True)
    ]
    allowed = draws.random(cells) < 0.5
    allowed[0] = True
    exact = draws.integers(0, 10 ** draws.integers(1, 9), tree.sizes[1])
    integer = integers_near(tree, totals.__getitem__, estimates.__getitem__, allowed, (1, exact))
    assert integer.min() >= 0
    assert not integer[:, ~allowed].any()
    assert (tree.up(1, integer).sum(axis=1) == exact).all()


@pytest.mark.parametrize("number", range(10))
def test_hostile_estimates(number: int) -> None:
    hostile(number)
