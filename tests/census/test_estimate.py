"""Estimates and variances of many tables on a tree of areas, with districts, against dense least squares."""

from __future__ import annotations

import math

import numpy as np
import pytest
from countries import Dense, random_counts, random_layout, random_noise

from discreet.census.estimates import Errors, Estimate, Sum

TOLERANCE = 1e-9


def compared(number: int) -> None:
    draws = np.random.default_rng(number)
    layout = random_layout(draws)
    noise = random_noise(draws, layout)
    counts = random_counts(draws, layout, noise)
    dense = Dense(layout, noise, counts)
    errors = Errors(layout, noise)
    estimate = Estimate(errors, counts)
    for level, name in enumerate(layout.spec.geography.levels):
        for columns in layout.tables.values():
            matrix = dense.matrix(dense.areas(name), columns)
            expected = matrix @ dense.estimate
            assert np.allclose(estimate.table(level, columns).ravel(), expected, rtol=TOLERANCE, atol=TOLERANCE * 100)
            variances = np.einsum("ij,jk,ik->i", matrix, dense.covariance, matrix)
            cells = np.repeat(errors.cell_variance(level, columns), layout.components.cells(columns))
            assert np.allclose(cells, variances, rtol=TOLERANCE, atol=TOLERANCE)
    columns = next(iter(layout.tables.values()))
    weights = draws.normal(0, 1, tuple(layout.sizes[column] for column in columns))
    areas = draws.normal(0, 1, layout.tree.sizes[-1])
    row = weights.ravel() @ dense.matrix(areas[None], columns)
    variance = errors.variance_of_sum([*[None] * (layout.tree.levels - 1), areas], columns, weights)
    assert math.isclose(variance, row @ dense.covariance @ row, rel_tol=TOLERANCE)
    first = Sum([*[None] * (layout.tree.levels - 1), areas], columns, weights)
    other_table = list(layout.tables.values())[-1]
    others = draws.normal(0, 1, tuple(layout.sizes[column] for column in other_table))
    place = int(draws.integers(0, layout.tree.levels))
    above = draws.normal(0, 1, layout.tree.sizes[place])
    second = Sum([above if level == place else None for level in range(layout.tree.levels)], other_table, others)
    inside = dense.areas(layout.spec.geography.levels[place])
    other_rows = others.ravel() @ dense.matrix(inside, other_table).reshape(len(inside), others.size, -1)
    expected = row @ dense.covariance @ (above @ other_rows)
    scale = math.sqrt(variance * errors.variance_of_sum(second.areas, other_table, others))
    assert math.isclose(errors.covariance(first, second), expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE * scale)
    own_rows = weights.ravel() @ dense.matrix(inside, columns).reshape(len(inside), weights.size, -1)
    each = np.einsum("ij,jk,ik->i", own_rows, dense.covariance, other_rows)
    assert np.allclose(errors.covariances(place, first, second), each, rtol=TOLERANCE, atol=TOLERANCE * 10)


@pytest.mark.parametrize("number", range(30))
def test_equal_dense_least_squares(number: int) -> None:
    compared(number)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(30, 230))
def test_equal_dense_least_squares_on_more(number: int) -> None:
    compared(number)
