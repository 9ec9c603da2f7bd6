"""Distributions with known shares, and with cells that have no rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.marginals import (
    FORBIDDEN,
    ColumnCells,
    KnownShare,
    Measurement,
    estimate,
    merge,
    model_of,
    rake,
    summed_potentials,
)

SIZES = [3, 2, 4]


def joint(potentials: dict[tuple[int, ...], np.ndarray]) -> np.ndarray:
    """The distribution of potentials, cell by cell."""
    weights = np.zeros(SIZES)
    for clique, values in potentials.items():
        shape = [SIZES[i] if i in clique else 1 for i in range(3)]
        weights = weights + values.reshape([SIZES[i] for i in clique]).reshape(shape)
    weights = np.exp(weights - weights.max())
    return weights / weights.sum()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_raked_shares_are_the_nearest_distribution_that_has_them(number: int) -> None:
    dice = np.random.default_rng(number)
    potentials = {(0, 1): dice.normal(size=6), (1, 2): dice.normal(size=8)}
    inside = [dice.random(3) < 0.5, dice.random(8) < 0.5]
    known = [
        KnownShare(clique, cells, float(dice.uniform(0.2, 0.8)))
        for clique, cells in zip([(0,), (1, 2)], inside, strict=True)
        if cells.any() and not cells.all()
    ]
    raked, off = rake(SIZES, potentials, known)
    assert off < 1e-6
    before, after = joint(potentials), joint(raked)
    for each in known:
        own = after.sum(axis=tuple(i for i in range(3) if i not in each.clique)).ravel()
        assert own[each.cells].sum() == pytest.approx(each.share, abs=1e-6)
    logs = np.log(after / before)
    for x in range(3):  # only what is known moves: within a combination of the sets, all cells move alike
        for y in range(3):
            if not known or all(bool(each.cells[x] == each.cells[y]) for each in known if each.clique == (0,)):
                assert np.ptp(logs[x] - logs[y]) < 1e-6


def test_shares_that_contradict_each_other_stay_off() -> None:
    known = [
        KnownShare((0,), np.array([True, False, False]), 0.8),
        KnownShare((0,), np.array([False, True, False]), 0.8),
    ]
    assert rake(SIZES, {}, known)[1] > 0.1
    closed = {(0,): np.array([FORBIDDEN, 0.0, 0.0])}
    assert rake(SIZES, closed, known[:1])[1] > 0.1


def test_a_share_of_nothing_and_of_all() -> None:
    cells = np.array([True, False, False])
    assert model_of(SIZES, rake(SIZES, {}, [KnownShare((0,), cells, 0.0)])[0], 1).marginal((0,))[0] == 0
    assert model_of(SIZES, rake(SIZES, {}, [KnownShare((0,), cells, 1.0)])[0], 1).marginal((0,))[0] == 1


@pytest.mark.parametrize("measured", [(0, 1), (0,), (1, 2)])
def test_closed_cells_have_no_rows_whatever_was_measured(measured: tuple[int, ...]) -> None:
    closed = np.zeros((3, 2))
    closed[1, 0] = closed[2, 1] = FORBIDDEN
    counts = np.full(np.prod([SIZES[i] for i in measured]), 50.0)
    fixed = {(0, 1): closed.ravel()}
    measurements = [Measurement(measured, counts, np.ones(counts.size))]
    for newton, steps in ((40, 0), (0, 50), (40, 200)):
        model = estimate(SIZES, measurements, 300, newton=newton, steps=steps, fixed=fixed)
        again = estimate(SIZES, measurements, 300, newton=newton, steps=steps, fixed=fixed, start=model.potentials)
        for each in (model, again):
            shares = each.marginal((0, 1)).reshape(3, 2)
            assert shares[1, 0] == shares[2, 1] == 0
            assert shares.sum() == pytest.approx(1)
            every = model_of(SIZES, summed_potentials(each.potentials, fixed), 300)
            assert np.allclose(every.marginal((0, 1)), each.marginal((0, 1)), atol=1e-9)


def test_what_rows_are_left_come_near_to_what_was_measured() -> None:
    closed = {(0, 1): np.array([0.0, FORBIDDEN, 0.0, 0.0, 0.0, 0.0])}
    counts = np.array([100.0, 50.0, 150.0])
    model = estimate(SIZES, [Measurement((0,), counts, np.ones(3))], 300, newton=25, steps=200, fixed=closed)
    assert np.allclose(300 * model.marginal((0,)), counts, atol=0.5)


def test_cells_with_different_numbers_are_never_merged() -> None:
    cells = ColumnCells("x", "int", True, tuple(range(12)))
    counts = np.ones(13)
    apart = np.arange(13) % 3
    merged = merge(cells, counts, 100.0, 13.0, apart)
    for group in range(merged.size):
        inside = np.flatnonzero(merged.places == group)
        assert len(set(apart[inside].tolist())) == 1
    assert merged.size >= 3
    assert merged.summed(np.array(merged.shares)).round(9).tolist() == [1.0] * merged.size
    assert merge(cells, counts, 100.0, 13.0).size == 2
