"""Rows with some columns given: the conditional distribution of the whole joint one, whatever is given."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.marginals import Model, PublicStream, model_of, sample_given
from discreet.marginals import _sample_given as module

SIZES = [3, 4, 2, 5, 3, 2]
CLIQUES = [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (0, 5)]
ROWS = 60_000
GIVEN = [(0,), (5, 3), (2,), (0, 3, 4), (1, 2, 3, 5), (), (0, 1, 2, 3, 4, 5)]


def model(seed: int) -> tuple[Model, NDArray[np.float64]]:
    """A model, and its whole joint distribution."""
    rng = np.random.default_rng(seed)
    potentials = {each: rng.normal(size=math.prod(SIZES[i] for i in each)) * 1.5 for each in CLIQUES}
    joint = np.zeros(SIZES)
    for each, values in potentials.items():
        joint = joint + values.reshape([size if i in each else 1 for i, size in enumerate(SIZES)])
    joint = np.exp(joint)
    return model_of(SIZES, potentials, 100.0), joint / joint.sum()


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("held", [2**22, 500])
def test_rows_have_the_conditional_distribution(
    given: Sequence[int], held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A total variation of independent rows is below √(cells / 4 rows) + 0.02 but in 1 of 10²⁰ runs (McDiarmid)."""
    monkeypatch.setattr(module, "_MOST_HELD", held)
    known, joint = model(1)
    rng = np.random.default_rng(2)
    fixed = {column: rng.integers(0, SIZES[column], ROWS) for column in given}
    rows = sample_given(known, fixed, ROWS, PublicStream(b"rows"))
    assert all(np.array_equal(rows[column], cells) for column, cells in fixed.items())
    counts, asked = np.zeros(SIZES), np.zeros([SIZES[column] if column in given else 1 for column in range(6)])
    np.add.at(counts, tuple(rows), 1 / ROWS)
    np.add.at(asked, tuple(fixed[i] if i in fixed else np.zeros(ROWS, np.int64) for i in range(6)), 1 / ROWS)
    others = tuple(i for i in range(6) if i not in given)
    expected = joint / joint.sum(axis=others, keepdims=True) * asked
    assert np.abs(counts - expected).sum() / 2 < math.sqrt(math.prod(SIZES) / (4 * ROWS)) + 0.02


def test_what_cannot_be_is_drawn_as_far_as_it_goes() -> None:
    never = np.array([0.0, -1000.0, -1000.0, 0.0])
    known = model_of([2, 2, 2], {(0, 1): never, (1, 2): never}, 10.0)
    given = {0: np.array([0, 1, 0, 1]), 2: np.array([0, 1, 1, 0])}
    _, middle, _ = sample_given(known, given, 4, PublicStream(b""))
    assert middle[:2].tolist() == [0, 1]
    assert set(middle[2:].tolist()) <= {0, 1}


def test_no_rows() -> None:
    known, _ = model(3)
    assert [each.size for each in sample_given(known, {1: np.zeros(0, np.int64)}, 0, PublicStream(b""))] == [0] * 6
