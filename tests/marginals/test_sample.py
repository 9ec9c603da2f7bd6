"""Rows from a model: each is drawn from it, and together they are nearer to it than independent ones."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.marginals import Measurement, Model, PublicStream, estimate, sample_cells

SIZES = (4, 3, 5)


def model(seed: int) -> Model:
    rng = np.random.default_rng(seed)
    pairs = {(0, 1): 12, (1, 2): 15}
    measured = [Measurement(each, 1000 * rng.dirichlet(np.ones(n)), np.ones(n)) for each, n in pairs.items()]
    return estimate(SIZES, measured, 1000)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2000))
def test_rows_are_cells_of_the_model_and_the_same_again(seed: int, rows: int) -> None:
    one, order = sample_cells(model(seed), rows, PublicStream(b"x"))
    again, _ = sample_cells(model(seed), rows, PublicStream(b"x"))
    assert sorted(order.tolist()) == list(range(rows))
    for size, column, same in zip(SIZES, one, again, strict=True):
        assert column.size == rows
        assert ((column >= 0) & (column < size)).all()
        assert (column == same).all()


@cache
def single_rows() -> NDArray[np.int64]:
    """The cells of one row for each of 5,000 seeds."""
    law = model(7)
    rows = [sample_cells(law, 1, PublicStream(str(seed).encode()))[0] for seed in range(5_000)]
    return np.array([[int(column[0]) for column in row] for row in rows])


@pytest.mark.parametrize("clique", [(0,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_one_row_has_the_distribution_of_the_model(clique: tuple[int, ...]) -> None:
    """A chi-square test over 5,000 seeds of one row each; false alarms: below 1e-9 a case."""
    law = model(7)
    joint = np.einsum("ab,bc->abc", law.marginal((0, 1)).reshape(4, 3), law.marginal((1, 2)).reshape(3, 5))
    joint /= law.marginal((1,))[None, :, None]
    expected = joint.sum(axis=tuple(i for i in range(3) if i not in clique)).ravel()
    places = np.ravel_multi_index(list(single_rows()[:, list(clique)].T), [SIZES[i] for i in clique])
    counts = np.bincount(places, minlength=expected.size)
    assert counts[expected < 1e-12].sum() == 0
    inside = expected >= 1e-12
    statistic = float(((counts[inside] - 5_000 * expected[inside]) ** 2 / (5_000 * expected[inside])).sum())
    freedom = int(inside.sum()) - 1
    assert statistic < freedom + 2 * math.sqrt(freedom * 21) + 42  # Laurent and Massart 2000, Lemma 1, with x = 21


def test_many_rows_are_nearer_to_it_than_independent_ones() -> None:
    law, rows = model(3), 3000
    cells, _ = sample_cells(law, rows, PublicStream(b"many"))
    for clique, shape in (((0, 1), (4, 3)), ((1, 2), (3, 5))):
        expected = law.marginal(clique)
        shares = np.bincount(np.ravel_multi_index([cells[i] for i in clique], shape), minlength=expected.size) / rows
        independent = np.sqrt(expected * (1 - expected) / rows).sum() * math.sqrt(2 / math.pi) / 2
        assert np.abs(shares - expected).sum() / 2 < independent / 2


def test_a_stream_is_a_function_of_its_seed() -> None:
    assert PublicStream(b"a").order(9).tolist() == PublicStream(b"a").order(9).tolist()
    assert PublicStream(b"a").uniform(3).tolist() != PublicStream(b"b").uniform(3).tolist()
    many = PublicStream(b"c").uniform(100_000)
    assert 0 <= many.min() < 0.001
    assert 0.999 < many.max() < 1
