"""Trees and forests: what a row can move, choices in parts, arrays that are no trees, and that they learn."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from learners import CLASS, SITE, inputs_for, measurer, some_examples

import discreet as dp
from discreet import learn
from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import Examples
from discreet.learn._fit import fit_examples
from discreet.learn._inputs import LEVELS, Input, Inputs
from discreet.learn._steps import Measurer, RowNorms, step_loss
from discreet.learn._verify import verify_model_loss
from discreet.learn.algorithms import DecisionTreeAlgorithm, RandomForestAlgorithm
from discreet.learn.algorithms._bins import Bins
from discreet.learn.algorithms._splits import Splits
from discreet.learn.algorithms._tree import GRID, shares_on_grid, split_scores
from discreet.learn.algorithms._trees import leaves
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.prices import Prices
from discreet.sensitivity import Norms

SMALL = Bins(Inputs((Input("age", None, Fraction(0), Fraction(9)), SITE), CLASS), 3)
RECORDS = list(itertools.product(range(4), range(4), range(3)))
"""All records there are: the bins of both inputs, and the class."""


def _counts(records: list[tuple[int, int, int]]) -> np.ndarray:
    counts = np.zeros((SMALL.count, 3), np.int64)
    for one, two, label in records:
        counts[one, label] += 1
        counts[SMALL.starts[1] + two, label] += 1
    return counts


def test_a_record_moves_the_score_of_a_split_within_the_norm_and_up_to_it() -> None:
    """All records, added to many rows, under shares at their ends; `split_scores` against its definition."""
    splits, dice, most = Splits.over(SMALL), random.Random(4), 0
    for _ in range(40):
        rows = [dice.choice(RECORDS) for _ in range(dice.choice([0, 1, 5, 30]))]
        shares = shares_on_grid(np.array(dice.choice([[1, 0, 0], [0, 0.5, 0.5], [0.3, 0.3, 0.4]])))
        assert shares.sum() == GRID
        before = split_scores(splits, _counts(rows), shares)
        for i, (chosen, threshold) in enumerate(zip(splits.inputs, splits.thresholds, strict=True)):
            total = 0
            for right in (False, True):
                side = Counter(
                    row[2] for row in rows if (row[0] >= threshold if chosen == 0 else row[1] == threshold) == right
                )
                total += sum(abs(GRID * side[c] - shares[c] * side.total()) for c in range(3))
            assert before[i] == total
        for record in RECORDS:
            moved = abs(split_scores(splits, _counts([*rows, record]), shares) - before).max()
            most = max(most, int(moved))
    assert most == 2 * GRID == DecisionTreeAlgorithm().row_norms(SMALL.inputs, "split").l1


def _chances(choice: Exponential | PermuteAndFlip, scores: tuple[int, ...]) -> list[float]:
    """The probability of each candidate."""
    rate = float(choice.epsilon) / (2 * float(choice.sensitivity))
    accepts = [math.exp(rate * (score - max(scores))) for score in scores]
    if isinstance(choice, Exponential):
        return [each / sum(accepts) for each in accepts]
    chances = [0.0] * len(scores)
    for coins in itertools.product([False, True], repeat=len(scores)):
        p = math.prod(a if coin else 1 - a for a, coin in zip(accepts, coins, strict=True))
        for i, coin in enumerate(coins):
            chances[i] += p / sum(coins) if coin else 0.0
    return chances


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_choices_in_parts_lose_what_one_loses(kind: Any) -> None:
    """Two parts and three candidates enumerated: a unit of two rows moves one part by 2, or both by 1, in any way."""
    choice = kind(Fraction(1), 2)
    moves = {2: list(itertools.product([-2, 0, 2], repeat=3)), 1: list(itertools.product([-1, 0, 1], repeat=3))}
    both = [(m, (0, 0, 0)) for m in moves[2]] + list(itertools.product(moves[1], repeat=2))
    for base in (((0, 0, 0), (0, 0, 0)), ((3, 1, 0), (0, 2, 2))):
        before = [_chances(choice, each) for each in base]
        worst = widest = 0.0
        for move in both:
            after = [
                _chances(choice, tuple(map(sum, zip(scores, moved, strict=True))))  # type: ignore[arg-type]
                for scores, moved in zip(base, move, strict=True)
            ]
            logs = [[math.log(q / p) for p, q in zip(*part, strict=True)] for part in zip(before, after, strict=True)]
            top, bottom = sum(map(max, logs)), sum(map(min, logs))
            worst, widest = max(worst, top, -bottom), max(widest, top - bottom)
        assert worst <= 1 + 1e-12
        assert kind is PermuteAndFlip or widest <= 1 + 1e-12


def test_choices_in_parts_are_paid_as_one_and_each_by_its_own_scores() -> None:
    for spend in (dp.pure(100), dp.rho(100), dp.approx(50, "1e-6")):
        asked = Measurer(Prices.of_spend(spend, Norms(1, 1)), 1, "add_remove", lambda _: RowNorms(1, 1))
        assert asked.choose_in_parts("split", [np.array([0, 900]), np.array([900, 0, 0])], Fraction(1, 2)) == [1, 0]
        assert Fraction(1, 2) - Fraction(1, 10**6) < asked.left <= Fraction(1, 2) + Fraction(1, 10**6)
        (step,) = asked.steps
        assert step.candidates == 5
        step_loss(step, Norms(1, 1))
        with pytest.raises(LedgerError):
            step_loss(step, Norms(2, 4))


def test_a_row_ends_where_its_comparisons_lead() -> None:
    dice = random.Random(3)
    places = np.array([[dice.randrange(4), dice.randrange(4)] for _ in range(50)], np.int32)
    inputs, thresholds = (
        np.array([dice.randrange(2) for _ in range(7)]),
        np.array([dice.randrange(4) for _ in range(7)]),
    )
    ends = leaves(SMALL, places, inputs, thresholds, 3)
    for row, end in zip(places, ends, strict=True):
        node = 0
        for _ in range(3):
            place, threshold = row[inputs[node]], thresholds[node]
            node = 2 * node + 1 + int(place >= threshold if inputs[node] == 0 else place == threshold)
        assert end == node - 7


@pytest.mark.parametrize("kind", [DecisionTreeAlgorithm, RandomForestAlgorithm])
def test_arrays_that_are_no_trees_are_refused(kind: Any) -> None:
    algorithm = kind()
    inputs = inputs_for(algorithm)
    good = algorithm.fit(some_examples(inputs, random.Random(1), 50), measurer(algorithm, inputs, dp.rho(1)))
    algorithm.check_parameters(inputs, good)
    for name, value in itertools.product(("inputs", "thresholds", "tables", "priors"), (-1.0, 0.5, 99.0, 1e9)):
        if name in {"tables", "priors"} and value < 1e9:
            continue
        wrong = {**good, name: good[name].copy()}
        wrong[name].flat[-1] = value
        with pytest.raises(ValueError):  # noqa: PT011
            algorithm.check_parameters(inputs, wrong)
    for name in ("inputs", "tables"):
        with pytest.raises(ValueError):  # noqa: PT011
            algorithm.check_parameters(inputs, {**good, name: good[name][:, 1:]})


def _stripes(rows: int) -> Examples:
    """Two classes: the first where a number is low or a category is "b", else the second."""
    dice = random.Random(9)
    inputs = Inputs((Input("age", None, Fraction(0), Fraction(9)), SITE), Input("y", ("no", "yes"), type="string"))
    numbers = np.array([[dice.randrange(LEVELS + 1)] for _ in range(rows)], np.int32)
    cells = np.array([[dice.randrange(3)] for _ in range(rows)], np.int32)
    target = (numbers[:, 0] > LEVELS // 2) & (cells[:, 0] != 1)
    return Examples(inputs, numbers, cells, target.astype(np.int32))


@pytest.mark.parametrize("kind", [DecisionTreeAlgorithm, RandomForestAlgorithm])
@pytest.mark.parametrize("spend", [dp.pure(2), dp.rho("0.5"), dp.approx(2, "1e-6")])
def test_what_depends_on_two_inputs_is_learnt_and_its_loss_is_verified(kind: Any, spend: Any) -> None:
    """4,000 rows of two thirds: by chance 0.67 are right, by the rule all; far below 1e-9 that a fit is under 0.85."""
    examples = _stripes(4_000)
    model = fit_examples(examples, kind(), spend)
    outputs = model.algorithm.outputs(model.inputs, model.parameters, examples.numbers, examples.cells)
    assert (outputs.argmax(axis=1) == examples.target).mean() > 0.85
    verify_model_loss(model.certificate)
    steps = list(model.certificate["steps"])
    assert any(each.get("candidates") for each in steps)
    for i, step in enumerate(steps):
        more = {**step, "times": 2 * step["times"]}
        with pytest.raises(LedgerError):
            verify_model_loss({**model.certificate, "steps": [*steps[:i], more, *steps[i + 1 :]]})
        if "sensitivity" in step:
            less = {**step, "sensitivity": step["sensitivity"] // 2}
            with pytest.raises(LedgerError):
                verify_model_loss({**model.certificate, "steps": [*steps[:i], less, *steps[i + 1 :]]})


def test_parameters_out_of_range_are_refused() -> None:
    for wrong in (
        DecisionTreeAlgorithm(0),
        DecisionTreeAlgorithm(bins=1),
        RandomForestAlgorithm(0),
        RandomForestAlgorithm(10**6),
    ):
        with pytest.raises(ParameterError):
            wrong.check(SMALL.inputs)


@pytest.mark.soak
def test_a_forest_reads_digits() -> None:
    """The mean of ten splits at ε = 1 is 0.80, with a standard error below 0.01."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)  # noqa: N806
    right: list[float] = []
    for i in range(10):
        rows, others, labels, truth = train_test_split(X, y, random_state=i)
        forest = learn.RandomForest(dp.approx(1, "1e-6"), bounds=(0, 16), classes=range(10)).fit(rows, labels)
        right.append(float((forest.predict(others) == truth).mean()))
    assert np.mean(right) > 0.74
