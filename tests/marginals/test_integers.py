"""Integers near estimates on trees: they add up, are never negative, and lie within 1 of the nearest ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize

from discreet.marginals.trees import Slices, Tree, _integers, integers_near
from discreet.marginals.trees._non_negative import cells_near, children_near, totals_near
from discreet.marginals.trees._rounding import rounded_children, rounded_totals


def random_tree(draws: np.random.Generator, levels: int, most: int) -> Tree:
    parents, areas = list[NDArray[np.int64]](), 1
    for _ in range(levels):
        each = np.repeat(np.arange(areas), draws.integers(1, 6, areas))
        if len(each) > most:
            break
        parents.append(each)
        areas = len(each)
    return Tree(tuple(parents))


def check(number: int) -> None:
    """A random country whose estimates are noisy: everything that is promised of its integers."""
    draws = np.random.default_rng(number)
    tree = random_tree(draws, int(draws.integers(1, 5)), 80)
    cells = int(draws.integers(1, 20))
    people = draws.poisson(np.exp(draws.normal(0, 2, (tree.sizes[-1], cells)))) * (draws.random((1, cells)) < 0.7)
    sums = tree.sums(people.astype(np.int64))
    noise = float(draws.choice([0.5, 3.0, 20.0]))
    leaves = people + draws.normal(0, noise, people.shape)
    estimates = tree.sums(leaves)
    totals = [each.sum(axis=1) + draws.normal(0, noise, len(each)) for each in estimates]
    allowed = draws.random(cells) < 0.8
    allowed[draws.integers(cells)] = True
    level = int(draws.integers(tree.levels))
    held = (level, sums[level].sum(axis=1)) if draws.random() < 0.5 else None
    whole = integers_near(tree, totals.__getitem__, estimates.__getitem__, allowed, held)
    assert whole.dtype == np.int64 and whole.min() >= 0
    assert not whole[:, ~allowed].any()
    if held is not None:
        assert (tree.sums(whole)[level].sum(axis=1) == held[1]).all()
    again = integers_near(tree, totals.__getitem__, estimates.__getitem__, allowed, held)
    assert (again == whole).all()
    step(draws, cells, noise)


def step(draws: np.random.Generator, cells: int, noise: float) -> None:
    """One level: sums are met, and each cell is rounded down or up from the nearest non-negative one."""
    tree = Tree((np.zeros(3, np.int64), np.repeat(np.arange(3), draws.integers(1, 6, 3))))
    truth = draws.poisson(np.exp(draws.normal(0, 1.5, (tree.sizes[-1], cells))))
    above = tree.up(1, truth)
    estimate = truth + draws.normal(0, noise, truth.shape)
    near_totals = totals_near(tree, 2, estimate.sum(axis=1), above.sum(axis=1))
    totals = rounded_totals(tree, 2, near_totals, above.sum(axis=1))
    assert (np.abs(totals - near_totals) < 1 + 1e-6).all() and totals.min() >= 0
    sparse = children_near(tree, 2, estimate, above, totals)
    near = np.zeros(truth.shape)
    near[sparse.rows, sparse.columns] = sparse.values
    assert np.allclose(tree.up(1, near), above, atol=1e-4)
    assert np.abs(near.sum(axis=1) - totals).max() < 0.02
    whole = rounded_children(tree, 2, sparse, above, totals)
    assert (tree.up(1, whole) == above).all()
    assert (whole.sum(axis=1) == totals).all()
    assert np.abs(whole - near).max() < 1 + 1e-3


@pytest.mark.parametrize("number", range(40))
def test_integers_add_up(number: int) -> None:
    check(number)


@pytest.mark.parametrize("number", range(1_040, 1_060))
def test_integers_add_up_whatever_is_looked_at_together(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_integers, "_AT_ONCE", 1 + 7 * (number % 10))
    check(number)


def test_cells_are_asked_for_by_runs_of_areas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each area of a level is asked for once, in runs of whole families."""
    monkeypatch.setattr(_integers, "_AT_ONCE", 12)
    tree = Tree((np.zeros(3, np.int64), np.repeat(np.arange(3), [2, 1, 9])))
    estimates = tree.sums(np.full((12, 3), 2.0))
    asked: list[tuple[int, int, int]] = []

    def made(level: int, areas: slice) -> NDArray[np.float64]:
        asked.append((level, *areas.indices(tree.sizes[level])[:2]))
        return estimates[level][areas]

    whole = integers_near(tree, lambda level: estimates[level].sum(axis=1), lambda level: Slices(level, made))
    assert (whole == 2).all()
    assert asked == [(0, 0, 1), (1, 0, 3), (2, 0, 3), (2, 3, 12)]


@pytest.mark.soak
@pytest.mark.parametrize("number", range(40, 1_040))
def test_integers_of_many_countries_add_up(number: int) -> None:
    check(number)


def test_the_nearest_table_is_that_of_a_solver() -> None:
    draws = np.random.default_rng(7)
    tree = Tree((np.zeros(3, np.int64),))
    estimate = draws.normal(2, 4, (3, 4))
    above = np.array([[5, 9, 0, 4]])
    totals = np.array([10, 2, 6])
    sparse = children_near(tree, 1, estimate, above, totals)
    near = np.zeros((3, 4))
    near[sparse.rows, sparse.columns] = sparse.values

    def distance(cells: NDArray[np.float64]) -> float:
        return float(((cells.reshape(3, 4) - estimate) ** 2).sum())

    sums = [
        {"type": "eq", "fun": lambda cells: cells.reshape(3, 4).sum(axis=0) - above[0]},
        {"type": "eq", "fun": lambda cells: cells.reshape(3, 4).sum(axis=1)[:2] - totals[:2]},
    ]
    start = np.outer(totals, above[0] / 18).ravel()
    solved = minimize(
        distance, start, constraints=sums, bounds=[(0, None)] * 12, method="SLSQP", options={"maxiter": 500}
    )
    assert math.isclose(distance(near.ravel()), solved.fun, rel_tol=1e-3)
    assert np.allclose(near, solved.x.reshape(3, 4), atol=0.05)


def test_a_table_without_estimate_still_has_integers() -> None:
    """A feasible table with whole sums exists whatever the estimate: HiGHS finds one, and so does rounding."""
    tree = Tree((np.zeros(4, np.int64),))
    above, totals = np.array([[7, 0, 1]]), np.array([0, 3, 5, 0])
    whole = rounded_children(tree, 1, children_near(tree, 1, np.zeros((4, 3)), above, totals), above, totals)
    assert (whole.sum(axis=0) == above[0]).all() and (whole.sum(axis=1) == totals).all()
    rows, columns = np.kron(np.eye(4), np.ones(3)), np.kron(np.ones(4), np.eye(3))
    solved = linprog(np.zeros(12), A_eq=np.vstack([rows, columns]), b_eq=[*totals, *above[0]])
    assert solved.status == 0


def test_cells_of_one_area() -> None:
    assert np.allclose(cells_near(np.array([5.0, -9.0, 1.0]), 0), 0)
    assert np.allclose(cells_near(np.array([-5.0, -9.0]), 3), [3, 0])
    assert np.allclose(cells_near(np.array([-np.inf, 1.0, 2.0]), 5), [0, 2, 3])
