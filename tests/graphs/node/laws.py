"""The exact law of a choice of caps, and what a whole release loses between two graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from tests.graphs.node.neighbours import key_of

from discreet.graphs import Graph
from discreet.graphs.node import CapScores, NodeCount, Truncated
from discreet.mechanisms import PermuteAndFlip


def permute_and_flip_law(exponents: Sequence[Fraction]) -> list[float]:
    """The probability of each candidate, if the i-th accepts with probability exp(−exponents[i]): one over all others.

    P(i) = p_i · ∫₀¹ Π over others (1 − t p_j) dt, a polynomial.
    """
    p = [math.exp(-float(x)) for x in exponents]
    law = []
    for i, mine in enumerate(p):
        polynomial = np.polynomial.Polynomial([1.0])
        for j, other in enumerate(p):
            if j != i:
                polynomial *= np.polynomial.Polynomial([1.0, -other])
        law.append(mine * float(polynomial.integ()(1.0)))
    return law


def law_of_scores(choice: PermuteAndFlip, scores: list[Fraction]) -> list[float]:
    return permute_and_flip_law([choice.epsilon / 2 * (score - min(scores)) for score in scores])


class Computed:
    """A count of one graph, with all values, scores and chances."""

    def __init__(self, count: NodeCount, graph: Graph) -> None:
        self.count, self.graph = count, graph

    @cached_property
    def values(self) -> dict[int, Truncated]:
        extension = self.count.extension(self.graph)
        return {cap: extension.truncated(cap) for cap in self.count.caps}

    @cached_property
    def scores(self) -> list[Fraction]:
        scores: CapScores = self.count.scores(self.values.__getitem__)
        return [scores.score(i) for i in range(len(self.count.caps))]

    @cached_property
    def law(self) -> list[float]:
        assert isinstance(self.count.choice, PermuteAndFlip)
        return law_of_scores(self.count.choice, self.scores)

    @cached_property
    def scales(self) -> list[float]:
        return [float(self.count.noise(cap).scale) for cap in self.count.caps]  # type: ignore[union-attr]

    def loss(self, other: Computed) -> float:
        """The largest log ratio of a cap and a noisy value: that of the cap, and the move over the scale."""
        return max(
            abs(math.log(p / q)) + abs(self.values[cap].value - other.values[cap].value) / scale
            for cap, p, q, scale in zip(self.count.caps, self.law, other.law, self.scales, strict=True)
        )


class Everything:
    """The same for many graphs, each computed once."""

    def __init__(self, count: NodeCount) -> None:
        self.count = count
        self.computed: dict[tuple[int, bytes], Computed] = {}

    def __getitem__(self, graph: Graph) -> Computed:
        return self.computed.setdefault(key_of(graph), Computed(self.count, graph))
