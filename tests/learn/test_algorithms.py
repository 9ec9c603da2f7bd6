"""Every algorithm: what one row adds to a sum is its own affair, and within what the algorithm says."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from learners import inputs_for, measurer, some_examples, taken

import discreet as dp
from discreet.learn.algorithms import algorithm_from_json
from discreet.learn.algorithms._registry import ALGORITHMS
from discreet.learn.preparing import Preparation
from discreet.privacy import Loss

SPENDS: dict[str, Loss] = {"pure": dp.pure(3), "rho": dp.rho(2), "mu": dp.approx(2, "1e-6")}
SCORED = ("classification", "regression")
CASES = [(name, currency) for name, kind in ALGORITHMS.items() for currency in kind.currencies]


@pytest.mark.parametrize(("name", "currency"), CASES)
@pytest.mark.parametrize("dice", [1, pytest.param(2, marks=pytest.mark.soak), pytest.param(3, marks=pytest.mark.soak)])
def test_a_row_moves_each_sum_by_its_own_integers_and_within_the_norms(name: str, currency: str, dice: int) -> None:
    """All else the same, with the answers of one fit replayed: S(D + r) − S(D) = S(r) − S(nobody), whoever is in D."""
    algorithm = ALGORITHMS[name]()
    inputs, spend = inputs_for(algorithm), SPENDS[currency]
    rows = some_examples(inputs, random.Random(dice), 60)
    first = measurer(algorithm, inputs, spend)
    algorithm.fit(taken(rows, range(40)), first)
    chosen = {each.name for each in first.steps if each.candidates is not None}
    assert first.exact and first.left >= 0

    def sums(places: list[int]) -> list[np.ndarray]:
        replayed = measurer(algorithm, inputs, spend, first.answers)
        algorithm.fit(taken(rows, places), replayed)
        assert [each for each, _ in replayed.exact] == [each for each, _ in first.exact]
        return [each for _, each in replayed.exact]

    before, nobody = sums(list(range(40))), sums([])
    turned = sums(list(reversed(range(40))))
    assert all((one == other).all() for one, other in zip(before, turned, strict=True))
    for row in range(40, 48 if dice == 1 else 60):
        after, alone = sums([*range(20), row, *range(20, 40)]), sums([row])
        for step, (name_, _) in enumerate(first.exact):
            moved = after[step] - before[step]
            norms = algorithm.row_norms(inputs, name_)
            if name_ in chosen:
                assert abs(moved).max() <= norms.l1
                continue
            assert (moved == alone[step] - nobody[step]).all()
            assert abs(moved).sum() <= norms.l1
            assert int((moved.astype(object) ** 2).sum()) <= norms.l2_squared
            assert not norms.nonnegative or (moved >= 0).all()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_model_of_nobody_can_be_asked(name: str) -> None:
    algorithm = ALGORITHMS[name]()
    inputs = inputs_for(algorithm)
    spend = SPENDS[algorithm.currencies[-1]]
    parameters = algorithm.fit(some_examples(inputs, random.Random(1), 0), measurer(algorithm, inputs, spend))
    algorithm.check_parameters(inputs, parameters)
    rows = some_examples(inputs, random.Random(2), 30)
    outputs = algorithm.outputs(inputs, parameters, rows.numbers, rows.cells)
    missing = np.isnan(outputs) if isinstance(algorithm, Preparation) else False
    assert len(outputs) == 30 and (np.isfinite(outputs) | missing).all()
    if algorithm.task == "classification":
        assert outputs.shape == (30, 3) and np.allclose(outputs.sum(axis=1), 1) and (outputs >= 0).all()


@pytest.mark.parametrize("name", [name for name, kind in ALGORITHMS.items() if kind().task in SCORED])
@pytest.mark.parametrize("dice", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_what_is_predicted_of_a_row_depends_on_no_other(name: str, dice: int) -> None:
    """To the last bit: alone, and in any company and at any place of it."""
    algorithm = ALGORITHMS[name]()
    inputs = inputs_for(algorithm)
    spend = SPENDS[algorithm.currencies[-1]]
    rows = some_examples(inputs, random.Random(dice), 37)
    parameters = algorithm.fit(rows, measurer(algorithm, inputs, spend))

    def predicted(places: list[int]) -> np.ndarray:
        some = taken(rows, places)
        return algorithm.outputs(inputs, parameters, some.numbers, some.cells)

    together = predicted(list(range(37)))
    shuffle = random.Random(dice)
    for _ in range(20):
        order = shuffle.sample(range(37), shuffle.randrange(1, 37))
        assert (predicted(order) == together[order]).all()
    assert all((predicted([row])[0] == together[row]).all() for row in range(37))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_parameters_of_other_shapes_are_refused(name: str) -> None:
    algorithm = ALGORITHMS[name]()
    inputs = inputs_for(algorithm)
    spend = SPENDS[algorithm.currencies[-1]]
    parameters = algorithm.fit(some_examples(inputs, random.Random(1), 9), measurer(algorithm, inputs, spend))
    for each in parameters:
        for wrong in ({**parameters, each: np.zeros((0, 9, 9))}, {k: v for k, v in parameters.items() if k != each}):
            with pytest.raises(ValueError):  # noqa: PT011
                algorithm.check_parameters(inputs, wrong)
    with pytest.raises(ValueError):  # noqa: PT011
        algorithm.check_parameters(inputs, {**parameters, "more": np.zeros(1)})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_comes_back_from_json(name: str) -> None:
    algorithm = ALGORITHMS[name]()
    data = json.loads(json.dumps(algorithm.to_json()))
    assert algorithm_from_json(data) == algorithm
    for wrong in ({**data, "name": "os.system"}, {**data, "more": 1}, {**data, "name": [name]}):
        with pytest.raises(ValueError):  # noqa: PT011
            algorithm_from_json(wrong)
