"""Least squares on trees of areas against dense least squares, with and without districts."""

from __future__ import annotations

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.marginals.trees import LeastSquares, OffTree, Tree

TOLERANCE = 1e-9


@st.composite
def trees(draw: st.DrawFn, most_levels: int = 6) -> Tree:
    parents: list[NDArray[np.int64]] = []
    areas = 1
    for _ in range(draw(st.integers(0, most_levels - 1))):
        children = np.array(draw(st.lists(st.integers(1, 3), min_size=areas, max_size=areas)))
        if children.sum() > 60:
            break
        parents.append(np.repeat(np.arange(areas), children))
        areas = int(children.sum())
    return Tree(tuple(parents))


def dense(tree: Tree) -> list[NDArray[Any]]:
    """Of each level the matrix that sums the leaves of each area."""
    return tree.sums(np.eye(tree.sizes[-1]))


@settings(max_examples=60, deadline=None)
@given(trees(), st.data())
def test_two_passes_are_dense_least_squares(tree: Tree, data: st.DataObject) -> None:
    draws = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    variances = [math.inf if data.draw(st.booleans()) else float(draws.uniform(0.1, 9)) for _ in tree.sizes]
    variances[-1] = float(draws.uniform(0.1, 9))
    sums = dense(tree)
    measured = [
        None if math.isinf(v) else draws.normal(0, 10, (n, 2)) for v, n in zip(variances, tree.sizes, strict=True)
    ]
    districts = [draws.integers(0, 2, tree.sizes[-1]).astype(float) for _ in range(data.draw(st.integers(0, 3)))]
    noise = draws.uniform(0.1, 9, len(districts))
    off_tree = draws.normal(0, 10, (len(districts), 2))
    rows = [*(s for s, y in zip(sums, measured, strict=True) if y is not None), *(d[None] for d in districts)]
    seen = [*(y for y in measured if y is not None), *(y[None] for y in off_tree)]
    precision = np.concatenate(
        [*(np.full(len(y), 1 / v) for y, v in zip(measured, variances, strict=True) if y is not None), 1 / noise]
    )
    matrix, values = np.vstack(rows), np.vstack(seen)
    covariance = np.linalg.inv(matrix.T @ (precision[:, None] * matrix))
    truth = covariance @ (matrix.T @ (precision[:, None] * values))

    alone = LeastSquares(tree, tuple(variances))
    squares = OffTree(alone, [[*[None] * (tree.levels - 1), each] for each in districts], noise)
    estimate = squares.estimate(measured, off_tree if districts else None)
    for level, areas in enumerate(sums):
        assert np.allclose(estimate[level], areas @ truth, atol=TOLERANCE * 100, rtol=TOLERANCE)
        expected = np.einsum("ij,jk,ik->i", areas, covariance, areas)
        assert np.allclose(squares.posterior[level], expected, atol=TOLERANCE, rtol=TOLERANCE)
    weights = [None if data.draw(st.booleans()) else draws.normal(0, 1, n) for n in tree.sizes]
    leaves = sum((s.T @ w for s, w in zip(sums, weights, strict=True) if w is not None), np.zeros(tree.sizes[-1]))
    assert math.isclose(squares.variance(weights), leaves @ covariance @ leaves, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if not districts:
        for level, areas in enumerate(sums):
            assert np.allclose(alone.covariances(weights)[level], areas @ covariance @ leaves, atol=TOLERANCE)


def test_a_known_total_is_met() -> None:
    tree = Tree.of_parents([[0, 0], [0, 0, 1]])
    squares = LeastSquares(tree, (math.inf, 0.0, 4.0))
    estimate = squares.estimate([None, np.array([10.0, 7.0]), np.array([3.0, 5.0, 9.0])])
    assert np.allclose(estimate[1], [10, 7])
    assert np.allclose(estimate[2], [4, 6, 7])
    assert np.allclose(squares.posterior[1], 0)
    assert np.allclose(squares.posterior[2], [2, 2, 0])


@pytest.mark.parametrize("parents", [[[0, 0, 2]], [[1, 1]], [[0, 0], [0, 1, 0]], [[0, 0], [0, 0]], [[]]])
def test_what_is_no_tree_is_refused(parents: list[list[int]]) -> None:
    with pytest.raises(ParameterError, match="parents"):
        Tree.of_parents(parents)


@pytest.mark.parametrize("variances", [(1.0,), (1.0, math.inf), (-1.0, 1.0), (math.nan, 1.0)])
def test_variances_that_say_nothing_are_refused(variances: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError):
        LeastSquares(Tree.of_parents([[0, 0]]), variances)
