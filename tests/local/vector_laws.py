"""What is true of every law of `PrivUnit`, on so few books of directions that reports can be enumerated."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from local_laws import law

from discreet.local import PrivUnit
from discreet.local._exp_epsilon import exp_epsilon
from discreet.local.vectors._directions import directions

BOOKS = 2


class FewBooks(PrivUnit):
    """A public scheme but for the number of books."""

    @property
    def _books(self) -> int:
        return BOOKS


def some_vectors(dimension: int) -> list[list[float]]:
    """Long and short, along axes and not, and 0."""
    first, last = [0.0] * dimension, [0.3] * dimension
    first[0] = 1
    return [first, [-each for each in first], last, [-5.0] * dimension, [0.0] * dimension]


def odds_of_vectors(scheme: Any) -> Fraction:
    """The largest ratio of a report's probabilities under two vectors."""
    laws = [law(scheme, value) for value in some_vectors(scheme.dimension)]
    assert {len(each) for each in laws} == {BOOKS * scheme.candidates}
    return max(one[report] / two[report] for one, two in itertools.permutations(laws, 2) for report in one)


def assert_law(scheme: Any, length: float) -> None:
    """A book uniformly; of its candidates, the likely ones e^ε times as often; and the other way round if short."""
    weight = exp_epsilon(scheme.epsilon)
    total = BOOKS * (scheme.likely * weight + scheme.candidates - scheme.likely)
    vector = np.arange(1.0, scheme.dimension + 1)
    vector *= length / np.linalg.norm(vector)
    steps = np.rint(vector * 2**20)
    told = min(1.0, math.sqrt(steps @ steps) / 2**20)
    ahead = 1 - Fraction(round((1 - told) * 2**31), 2**32)
    found = law(scheme, vector)
    pairs = scheme.candidates // 2
    for book in range(BOOKS):
        inner = directions(np.full(pairs, book), np.arange(pairs), scheme.dimension) @ vector
        near = sorted(range(pairs), key=lambda line: (-abs(inner[line]), line))[: scheme.likely]
        for number in range(scheme.candidates):
            line, turned = divmod(number, 2)
            along = bool(turned) == bool(inner[line] < 0)
            share = (ahead if along else 1 - ahead) if line in near else Fraction(0)
            report = scheme.layout.pack(np.array([book]), np.array([number])).tobytes()
            assert found[report] == (1 + share * (weight - 1)) / total
