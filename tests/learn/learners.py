"""What the tests of learning share: inputs, rows that could be anybody's, fits whose answers are replayed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Input, Inputs
from discreet.learn._steps import Measurer
from discreet.learn.algorithms import Algorithm
from discreet.prices import Prices
from discreet.privacy import Loss, Relation
from discreet.sensitivity import Norms

AGE = Input("age", None, Fraction(0), Fraction(100))
SITE = Input("site", ("a", "b", None), type="string")
CLASS = Input("y", ("no", "yes", "maybe"), type="string")
COST = Input("cost", None, Fraction(-10), Fraction(10))


def inputs_for(algorithm: Algorithm) -> Inputs:
    """Two numbers and a category, or numbers alone where categories are refused, and a target if it predicts one."""
    target = {"classification": CLASS, "regression": COST}.get(algorithm.task)
    numbers = (AGE, Input("weight", None, Fraction(1, 3), Fraction(7)))
    for features in ((*numbers, SITE), numbers):
        inputs = Inputs(features, target)
        try:
            algorithm.check(inputs)
        except Exception:  # noqa: BLE001 - the next ones are tried
            continue
        return inputs
    raise AssertionError(algorithm)


def some_examples(inputs: Inputs, dice: random.Random, rows: int) -> Examples:
    """Rows at random, the ends and what is missing among them."""
    levels = [0, 1, LEVELS // 2, LEVELS - 1, LEVELS, MISSING]
    numbers = [[dice.choice([*levels, dice.randrange(LEVELS)]) for _ in inputs.numbers] for _ in range(rows)]
    cells = [[dice.randrange(MISSING, each.size) for each in inputs.categories] for _ in range(rows)]
    most = 1 if inputs.target is None else inputs.target.size or LEVELS + 1
    target = [dice.choice([0, most - 1, dice.randrange(most)]) for _ in range(rows)]
    shape = (rows, len(inputs.numbers)), (rows, len(inputs.categories))
    return Examples(
        inputs,
        np.array(numbers, np.int32).reshape(shape[0]),
        np.array(cells, np.int32).reshape(shape[1]),
        np.array(target, np.int32),
    )


def taken(examples: Examples, places: Any) -> Examples:
    """Some of the rows, in an order."""
    chosen = np.array(places, int)
    return Examples(examples.inputs, examples.numbers[chosen], examples.cells[chosen], examples.target[chosen])


@dataclass
class Replayed(Measurer):
    """Keeps the exact sums that are asked for; answers with what another fit was answered with, if it is given."""

    answers: dict[tuple[str, int], Any] = field(default_factory=dict[tuple[str, int], Any])
    replays: bool = False
    exact: list[tuple[str, Any]] = field(default_factory=list)
    draws: int = 0

    def measure(self, name: str, sums: Any, noise: Any) -> Any:
        self.exact.append((name, np.asarray(sums).astype(np.int64)))
        return self._answer("exact", len(self.exact), lambda: super(Replayed, self).measure(name, sums, noise)).copy()

    def choose_in_parts(self, name: str, scores: Any, share: Fraction) -> list[int]:
        self.exact += [(name, np.asarray(each).astype(np.int64)) for each in scores]
        return self._answer(
            "exact", len(self.exact), lambda: super(Replayed, self).choose_in_parts(name, scores, share)
        )

    def draw(self, weights: Any, count: int) -> Any:
        self.draws += 1
        return self._answer("draw", self.draws, lambda: super(Replayed, self).draw(weights, count))

    def _answer(self, kind: str, number: int, asked: Callable[[], Any]) -> Any:
        answer = asked()  # a replayed step is paid too, for what is left decides on the next
        if not self.replays:
            self.answers[kind, number] = answer
        return self.answers[kind, number]


def measurer(
    algorithm: Algorithm, inputs: Inputs, spend: Loss, answers: Any = None, relation: Relation = "add_remove"
) -> Replayed:
    """A measurer that replays answers, or draws them if there are none."""
    prices = Prices.of_spend(spend, Norms(1, 1))
    norms = lambda step: algorithm.row_norms(inputs, step)  # noqa: E731
    return Replayed(prices, 1, relation, norms, answers=answers or {}, replays=answers is not None)
