"""The estimate: exact where nothing is uncertain, weighted where it is, and a stationary point."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.marginals import Measurement, estimate, model_of

Floats = NDArray[np.float64]
SIZES = (3, 2, 4)


def law(seed: int) -> Floats:
    weights = np.random.default_rng(seed).dirichlet(np.ones(24)).reshape(SIZES) + 0.002
    return weights / weights.sum()


def counts(joint: Floats, clique: tuple[int, ...], total: float) -> Floats:
    return total * joint.sum(axis=tuple(i for i in range(3) if i not in clique)).ravel()


def exact(joint: Floats) -> list[Measurement]:
    pairs = ((0, 1), (1, 2))
    return [Measurement(pair, counts(joint, pair, 1000), np.ones(SIZES[pair[0]] * SIZES[pair[1]])) for pair in pairs]


def squares(model: object, measured: list[Measurement]) -> float:
    return sum(
        float((((1000 * model.marginal(each.clique) - each.counts) ** 2) / each.variances).sum())  # type: ignore[attr-defined]
        for each in measured
    )


@given(st.integers(0, 2**32 - 1))
def test_marginals_without_noise_are_met(seed: int) -> None:
    joint = law(seed)
    measured = exact(joint)
    model = estimate(SIZES, measured, 1000, newton=30, steps=300)
    for each in measured:
        np.testing.assert_allclose(1000 * model.marginal(each.clique), each.counts, atol=0.05)
    assert np.allclose(model.marginal((2, 1)).reshape(4, 2).T.ravel(), model.marginal((1, 2)))


@given(st.integers(0, 2**32 - 1))
def test_no_small_change_of_a_potential_is_better(seed: int) -> None:
    rng, joint = np.random.default_rng(seed), law(seed)
    cliques = [(0,), (1,), (2,), *itertools.combinations(range(3), 2)]
    measured = []
    for clique in cliques:
        true = counts(joint, clique, 1000)
        measured.append(Measurement(clique, true + rng.normal(0, 3, true.size), np.full(true.size, 9.0)))
    model = estimate(SIZES, measured, 1000, newton=30, steps=400)
    least = squares(model, measured)
    for clique in cliques[3:]:
        moved = dict(model.potentials)
        moved[clique] = moved[clique] + rng.normal(0, 0.01, moved[clique].size)
        assert squares(model_of(SIZES, moved, 1000), measured) > least * (1 - 1e-3)


def test_two_measurements_count_by_their_precision() -> None:
    one = Measurement((0,), np.array([10.0, 20.0]), np.array([1.0, 4.0]))
    both = one.with_counts(np.array([20.0, 20.0]), np.array([1.0, 4.0]))
    assert both.counts.tolist() == [15, 20]
    assert both.variances.tolist() == [0.5, 2]


def test_unlikely_counts_below_zero_become_nearly_none() -> None:
    model = estimate([3], [Measurement((0,), np.array([-40.0, 60.0, 80.0]), np.full(3, 100.0))], 100, steps=200)
    shares = model.marginal((0,))
    assert shares[0] < 1e-3
    assert shares[2] - shares[1] == pytest.approx(0.2, abs=0.01)


def test_an_earlier_estimate_is_a_start() -> None:
    joint = law(3)
    measured = exact(joint)
    first = estimate(SIZES, measured, 1000, newton=30, steps=300)
    again = estimate(SIZES, measured, 1000, newton=0, steps=0, start=first.potentials)
    for clique in ((0, 1), (1, 2)):
        np.testing.assert_allclose(again.marginal(clique), first.marginal(clique), atol=1e-12)


def test_columns_may_be_confined() -> None:
    joint = law(5)
    model = estimate(SIZES, [Measurement((0, 1), counts(joint, (0, 1), 1000), np.full(6, 1.0))], 1000, steps=200)
    confined = model_of(SIZES, model.potentials, 1000, {0: np.array([0.0, 1.0, 0.0])})
    given_one = joint.sum(axis=2)[1] / joint.sum(axis=2)[1].sum()
    np.testing.assert_allclose(confined.marginal((1,)), given_one, atol=1e-3)
    with pytest.raises(ZeroDivisionError):
        model_of(SIZES, model.potentials, 1000, {0: np.zeros(3)})
