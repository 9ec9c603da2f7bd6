"""Rows as bounded vectors of integers: the bound holds for every row, and no row is read by its place or company."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.learn._inputs import LEVELS, MISSING, Input, Inputs
from discreet.learn.algorithms import _vectors
from discreet.learn.algorithms._logistic import gradient_sums
from discreet.learn.algorithms._ridge import error_sums
from discreet.learn.algorithms._softmax import softmax
from discreet.learn.algorithms._vectors import (
    UNIT,
    Ball,
    bounded,
    coordinate_count,
    coordinates,
    product_sums,
    second_moment_matrix,
    second_moment_norms,
    second_moments,
    vectors,
)

INPUTS = Inputs((Input("age", None, Fraction(0), Fraction(1)), Input("site", ("a", "b"), type="string")))
ENDS = [MISSING, 0, 1, LEVELS // 2, LEVELS]
RECORDS = list(itertools.product(ENDS, [MISSING, 0, 1]))
"""Every record with a number at the ends of its grid, and every cell."""

reals = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 40)),
    elements=st.floats(-1e100, 1e100) | st.sampled_from([0.0, 5e-324, -5e-324, 1.0, 1 / 3, 1e-200, -1e100]),
)


def squared(row: np.ndarray) -> int:
    return sum(int(each) ** 2 for each in row.ravel())


@settings(max_examples=300)
@given(reals, st.sampled_from([1, 2, 5, UNIT]))
def test_no_row_is_longer_than_the_bound(rows: np.ndarray, bound: int) -> None:
    assert all(squared(row) <= bound**2 for row in bounded(rows, bound))


@settings(max_examples=100)
@given(reals)
def test_a_row_is_a_function_of_itself(rows: np.ndarray) -> None:
    together = bounded(np.concatenate([rows, rows[::-1], np.ones_like(rows)]), UNIT)
    for i, row in enumerate(rows):
        assert (bounded(row[None], UNIT)[0] == together[i]).all()


def test_short_rows_keep_their_length_and_long_ones_their_direction() -> None:
    rows = np.array([[0.5, 0.0], [0.3, -0.4], [30.0, -40.0]])
    assert abs(bounded(rows, UNIT) / UNIT - [[0.5, 0], [0.3, -0.4], [0.6, -0.8]]).max() < 2 / UNIT


def test_a_row_that_would_be_too_long_counts_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The norm is checked on the integers, so that nothing rests on how a square root rounds."""
    monkeypatch.setattr(_vectors.np, "sqrt", lambda x: x * 0)
    assert bounded(np.array([[3.0, 4.0], [0.1, 0.1]]), UNIT).any(axis=1).tolist() == [False, True]


def ball(radius: float = 0.7) -> Ball:
    return Ball(np.ones(3), np.array([0.2, 0.9, 0.1]), radius)


def test_every_pair_of_small_records_moves_sums_by_what_it_may() -> None:
    """Brute force: of all records at the ends, one more, and one for another, in the company of some others."""
    numbers = np.array([[each] for each, _ in RECORDS], np.int32)
    cells = np.array([[each] for _, each in RECORDS], np.int32)
    rows = vectors(ball(), INPUTS, numbers, cells)
    assert rows.shape == (len(RECORDS), coordinate_count(INPUTS))
    weights = np.array([[1e3, -1e3, 0], [2, 0.1, -7], [0, 0, 0], [-900, 1, 3]])
    company = rows[[0, 7, 3]]
    moments = [second_moments(rows[[i]]) for i in range(len(rows))]
    limit = second_moment_norms(3).l2_squared
    for i, j in itertools.product(range(len(rows)), repeat=2):
        assert squared(rows[i]) <= UNIT**2 and squared(moments[i]) <= limit
        assert squared(moments[i] - moments[j]) <= 4 * limit
        with_i = second_moments(np.concatenate([company, rows[[i]]]))
        with_j = second_moments(np.concatenate([rows[[j]], company]))
        assert (with_i - with_j == moments[i] - moments[j]).all()
    for target in range(3):
        for i in range(len(rows)):
            labels = np.array([0, 1, 2, target], np.int32)
            alone = gradient_sums(rows[[i]], labels[3:], weights, 0.3)
            assert squared(alone) <= (UNIT**2 + (UNIT // 8) ** 2) * UNIT**2
            before = gradient_sums(company, labels[:3], weights, 0.3)
            after = gradient_sums(np.concatenate([company, rows[[i]]]), labels, weights, 0.3)
            assert (after - before == alone).all()
    for level in (0, 1, LEVELS):
        for i in range(len(rows)):
            alone = error_sums(rows[[i]], np.array([level], np.int32), weights[:3, :1], 0.3, 0.4)
            assert squared(alone) <= UNIT**4


@settings(max_examples=100)
@given(arrays(np.int16, st.tuples(st.just(1), st.integers(1, 30)), elements=st.integers(-UNIT, UNIT)))
def test_second_moments_are_within_their_norm(row: np.ndarray) -> None:
    """The norm of a weighted triangle is at most 5‖x‖², whatever the row: in whole numbers, for the bound of a row."""
    moments = second_moments(row)
    assert squared(moments) <= 25 * squared(row) ** 2
    assert second_moment_norms(row.shape[1]).l2_squared == 25 * UNIT**4
    matrix = second_moment_matrix(moments.astype(float), row.shape[1])
    assert np.allclose(matrix, np.outer(row[0] / UNIT, row[0] / UNIT))


def test_sums_of_products_are_exact_at_the_ends() -> None:
    """More rows than a block, all at the ends: the sums are those of whole numbers."""
    rows = np.where(np.arange(40_000)[:, None] % [2, 3, 5] == 0, -UNIT, UNIT).astype(np.int16)
    wanted = rows.astype(object).T @ rows.astype(object)
    assert (product_sums(rows, rows) == wanted).all()
    assert product_sums(rows[:0], rows[:0]).tolist() == [[0] * 3] * 3


def test_a_softmax_is_one_in_any_company() -> None:
    scores = np.random.default_rng(1).normal(0, 9, (257, 7))
    scores[0], scores[1] = [1e6, -1e6, 0, 1e3, -1e3, 5, 5], 0
    together = softmax(scores)
    exact = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert abs(together - exact / exact.sum(axis=1, keepdims=True)).max() < 1e-6
    for rows in range(1, 40):
        assert all((softmax(scores[i : i + rows]) == together[i : i + rows]).all() for i in range(0, 200, 13))


def test_what_is_missing_is_at_the_centre() -> None:
    row = vectors(ball(), INPUTS, np.array([[MISSING]], np.int32), np.array([[MISSING]], np.int32))
    assert not row.any()
    both = coordinates(INPUTS, np.array([[0], [LEVELS]], np.int32), np.array([[0], [1]], np.int32))
    assert both.tolist() == [[-1, 1, 0], [1, 0, 1]]


def longest_within(monkeypatch: pytest.MonkeyPatch, name: str, mutant: object) -> bool:
    """Whether second moments of records at the ends stay within their norm with a part of the arithmetic changed."""
    monkeypatch.setattr(_vectors, name, mutant)
    numbers = np.array([[each] for each, _ in RECORDS], np.int32)
    rows = vectors(ball(0.1), INPUTS, numbers, np.array([[each] for _, each in RECORDS], np.int32))
    level = np.full((1, 30), int(UNIT / 30**0.5), np.int16)
    limit = 25 * UNIT**4
    return all(squared(second_moments(each)) <= limit for each in [*rows[:, None], level])


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("bounded", lambda reals, bound: np.trunc(reals * bound / 8).astype(np.int32)),  # rows are not shortened
        ("bounded", lambda reals, bound: np.clip(np.trunc(reals * bound), -bound, bound).astype(np.int32)),  # by entry
        ("_OFF_DIAGONAL", 8),  # above 5·√2
        ("_DIAGONAL", 6),
    ],
)
def test_wrong_arithmetic_is_caught(monkeypatch: pytest.MonkeyPatch, name: str, mutant: object) -> None:
    assert not longest_within(monkeypatch, name, mutant)


def test_the_right_arithmetic_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert longest_within(monkeypatch, "bounded", bounded)
