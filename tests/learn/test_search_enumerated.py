"""A search of three candidates, enumerated: every answer in the cells that one row moves, and every choice.

What other cells answer has one law with and without the row, and is fixed here. Which rows each candidate predicts
rightly is worked out by the real search at every answer; its mechanisms say how likely answers and choices are.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from learners import measurer, some_examples, taken

import discreet as dp
from discreet.learn._examples import Examples
from discreet.learn._inputs import Input, Inputs
from discreet.learn.algorithms import NaiveBayesAlgorithm, SearchAlgorithm
from discreet.mechanisms import DiscreteLaplace, PermuteAndFlip

INPUTS = Inputs((Input("x", None, Fraction(0), Fraction(8)),), Input("y", ("no", "yes"), type="string"))
SEARCH = SearchAlgorithm.among([NaiveBayesAlgorithm(2), NaiveBayesAlgorithm(3), NaiveBayesAlgorithm(8)])
SPEND = dp.pure(8)
REACH = 14
DELTAS = np.logspace(-1, -10, 50)


class Enumerated:
    """The law of a search on two tables, the second without the last row of the first."""

    def __init__(self, more: Examples) -> None:
        fewer = taken(more, range(more.rows - 1))
        first = measurer(SEARCH, INPUTS, SPEND)
        SEARCH.fit(more, first)
        self.script: dict[tuple[str, int], Any] = dict(first.answers)
        self.noises = [each.mechanism for each in first.steps[:3]]
        choice = first.steps[3].mechanism
        assert isinstance(choice, PermuteAndFlip) and not choice.monotone
        self.rate = float(choice.epsilon / (2 * choice.sensitivity))
        counts = [self._exact(table, self.script) for table in (more, fewer)]
        self.cells = [
            int(np.flatnonzero(one != other)[0]) for one, other in zip(counts[0][:3], counts[1][:3], strict=True)
        ]
        self.counts = [[int(each[cell]) for each, cell in zip(table[:3], self.cells, strict=True)] for table in counts]
        lowest = [count - REACH for count in self.counts[1]]
        self.values = [np.arange(low, low + 2 * REACH + 1) for low in lowest]
        self.laws = [self._law(table, own) for table, own in zip((more, fewer), self.counts, strict=True)]

    def _exact(self, table: Examples, script: dict[tuple[str, int], Any]) -> list[np.ndarray]:
        replay = measurer(SEARCH, INPUTS, SPEND, script)
        SEARCH.fit(table, replay)
        return [each for _, each in replay.exact]

    def _law(self, table: Examples, counts: list[int]) -> np.ndarray:
        """How likely each answer in the three cells is, with each choice: four axes."""
        right = np.array([self._right(table, place) for place in range(2 * REACH + 1)])
        chances = []
        for noise, values, count in zip(self.noises, self.values, counts, strict=True):
            assert isinstance(noise, DiscreteLaplace)
            falling = math.exp(-1 / float(noise.scale))
            chances.append((1 - falling) / (1 + falling) * falling ** np.abs(values - count))
        scores = np.stack(np.meshgrid(*right.T, indexing="ij"), axis=-1)
        answers = chances[0][:, None, None] * chances[1][:, None] * chances[2]
        return answers[..., None] * flipped(scores, self.rate)

    def _right(self, table: Examples, place: int) -> np.ndarray:
        """How many rows each candidate predicts rightly, if its moved cell was answered with the value at a place."""
        script = dict(self.script)
        for step, (cell, values) in enumerate(zip(self.cells, self.values, strict=True), start=1):
            script["exact", step] = script["exact", step].copy()
            script["exact", step][cell] = values[place]
        return self._exact(table, script)[3]


def flipped(scores: np.ndarray, rate: float) -> np.ndarray:
    """How likely permute-and-flip chooses each of three: visited in random order, taken by a coin each."""
    taken_if_visited = np.exp(rate * (scores - scores.max(axis=-1, keepdims=True)))
    chances = np.zeros(scores.shape)
    for order in permutations(range(3)):
        left = np.ones(scores.shape[:-1])
        for place in order:
            chances[..., place] += left * taken_if_visited[..., place] / 6
            left = left * (1 - taken_if_visited[..., place])
    return chances


def delta(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("start", [1, 2, pytest.param(3, marks=pytest.mark.soak)])
def test_a_search_is_within_the_claim_at_fifty_deltas(start: int) -> None:
    """And most of it is true: the three fits lose 7.2 of 8 together, and the choice some of the rest."""
    seen = Enumerated(some_examples(INPUTS, random.Random(start), 12))
    one, other = seen.laws
    missing = max(1 - float(one.sum()), 1 - float(other.sum()))
    assert -1e-12 < missing < 1e-12
    for allowed in DELTAS:
        epsilon = float(SPEND.epsilon(allowed))
        assert max(delta(one, other, epsilon), delta(other, one, epsilon)) + missing <= allowed
    assert max(delta(one, other, 8 * (1 + 1e-12)), delta(other, one, 8 * (1 + 1e-12))) == 0
    ratios = np.abs(np.log(one / other))
    assert 7.2 - 1e-9 <= ratios.max() <= 8 + 1e-9


def test_choices_that_are_not_paid_would_be_seen() -> None:
    """At ten times the rate, the choice takes the loss past the claim."""
    seen = Enumerated(some_examples(INPUTS, random.Random(1), 12))
    seen.rate *= 10
    tables = some_examples(INPUTS, random.Random(1), 12)
    one, other = (
        seen._law(table, own) for table, own in zip((tables, taken(tables, range(11))), seen.counts, strict=True)
    )
    assert max(delta(one, other, 8.0), delta(other, one, 8.0)) > 0
