"""A bought cap: scores move by at most 1, are computed only as far as needed, and the choice has the exact law."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.graphs.node.laws import Computed, Everything, permute_and_flip_law
from tests.graphs.node.neighbours import removals, small

from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.node import CapScores, NodeCount, Resolution, Truncated, choose_cap
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.privacy import pure
from discreet.sensitivity import caps_up_to

COUNTS = [
    NodeCount("edges", 4, pure(1)),
    NodeCount("triangles", 4, pure(1)),
    NodeCount("stars", 3, pure(1)),
    NodeCount("triangles", 4, pure("0.3")),
]


@pytest.mark.parametrize("count", COUNTS, ids=lambda count: f"{count.statistic}-{count.spend}")
def test_scores_move_by_at_most_one_and_a_release_loses_no_more_than_stated(count: NodeCount) -> None:
    stated = count.loss().epsilon(delta=0)
    largest = moved = 0.0
    every = Everything(count)
    for graph in small(4):
        mine = every[graph]
        for _, fewer in removals(graph):
            other = every[fewer]
            moved = max(moved, *(abs(float(a - b)) for a, b in zip(mine.scores, other.scores, strict=True)))
            largest = max(largest, mine.loss(other))
    assert 0.3 < moved <= 1
    assert stated / 4 < largest <= stated * (1 + 1e-9)
    assert stated <= count.spend.epsilon(delta=0) * (1 + 1e-9)


class Concave:
    """Values that rise and bend, with slopes as a solver gives them, and how often each was asked for."""

    def __init__(self, generator: np.random.Generator, caps: tuple[int, ...], resolution: Resolution) -> None:
        self.caps, self.resolution = caps, resolution
        top = int(generator.integers(2, 2 * caps[-1]))
        loads = np.sort(generator.integers(0, top, size=30))
        self.exact = {cap: int(np.minimum(loads, cap).sum()) for cap in caps}
        self.slopes = {cap: int((loads >= cap).sum()) for cap in caps}
        self.extra = {cap: int(generator.integers(0, resolution.slack * cap + 1)) for cap in caps}
        self.asked: Counter[int] = Counter()

    def truncated(self, cap: int) -> Truncated:
        self.asked[cap] += 1
        steps = self.resolution.steps
        return Truncated(steps * self.exact[cap] + self.extra[cap], steps * self.slopes[cap])


def random_scores(generator: np.random.Generator, resolution: Resolution) -> tuple[CapScores, Concave]:
    caps = caps_up_to(int(generator.integers(3, 3000)))
    values = Concave(generator, caps, resolution)
    penalties = [int(generator.integers(0, 5)) * resolution.steps * cap for cap in caps]
    handicaps = [Fraction(int(generator.integers(0, 4)) * i, 2) for i in range(len(caps))]
    return CapScores(caps, penalties, handicaps, resolution, values.truncated), values


@pytest.mark.parametrize("resolution", [Resolution(2, 0), Resolution(1024, 1), Resolution(8, 3)])
def test_bounds_before_a_value_is_known_are_bounds(resolution: Resolution) -> None:
    generator = np.random.default_rng(7)
    for _ in range(60):
        scores, values = random_scores(generator, resolution)
        plain = CapScores(scores.caps, scores.penalties, scores.handicaps, resolution, values.truncated)
        for i in range(len(scores.caps)):
            plain.solve(i)
        exact = [plain.score(i) for i in range(len(scores.caps))]
        quality = [plain.solve(i).value - plain.penalties[i] for i in range(len(scores.caps))]
        for i, score in enumerate(exact):
            assert score == plain.handicaps[i] + max(
                Fraction(q - quality[i], resolution.weight(scores.caps[max(i, j)])) for j, q in enumerate(quality)
            )
        order = generator.permutation(len(scores.caps)).tolist()
        for known in order:
            assert all(scores.least(i) <= exact[i] for i in range(len(exact)))
            scores.solve(known)
        lazy = CapScores(scores.caps, scores.penalties, scores.handicaps, resolution, values.truncated)
        assert lazy.best() == min(exact)
        assert [lazy.score(i) for i in order] == [exact[i] for i in order]


def test_small_caps_that_are_hardly_chosen_are_not_computed() -> None:
    resolution, caps = Resolution(1024, 1), caps_up_to(4096)
    loads = np.full(5000, 1000)
    asked: Counter[int] = Counter()

    def truncated(cap: int) -> Truncated:
        asked[cap] += 1
        return Truncated(1024 * int(np.minimum(loads, cap).sum()), 1024 * 5000 * (cap < 1000))

    handicaps = [Fraction(4 * i) for i in range(len(caps))]
    scores = CapScores(caps, [1024 * cap for cap in caps], handicaps, resolution, truncated)
    for _ in range(20):
        assert caps[choose_cap(PermuteAndFlip("0.4", 1), scores)] >= 512
    assert min(asked) == 512 and max(asked.values()) == 1


@pytest.mark.parametrize("kind", [PermuteAndFlip, Exponential])
def test_choices_have_the_law_of_the_mechanism(kind: type[PermuteAndFlip] | type[Exponential]) -> None:
    """Each bin of 800 choices is within 6.5 standard deviations: a false alarm in 1e-9 for so few bins."""
    generator, draws = np.random.default_rng(11), 800
    resolution = Resolution(8, 1)
    caps = caps_up_to(40)
    values = Concave(generator, caps, resolution)
    handicaps = [Fraction(i, 2) for i in range(len(caps))]
    choice = kind(1, 1)
    fresh = CapScores(caps, [8 * cap for cap in caps], handicaps, resolution, values.truncated)
    picked = Counter(
        choose_cap(choice, CapScores(caps, fresh.penalties, handicaps, resolution, values.truncated))
        for _ in range(draws)
    )
    exponents = [fresh.score(i) / 2 for i in range(len(caps))]
    exponents = [x - min(exponents) for x in exponents]
    if kind is PermuteAndFlip:
        law = permute_and_flip_law(exponents)
    else:
        weights = np.exp([-float(x) for x in exponents])
        law = (weights / weights.sum()).tolist()
    assert abs(sum(law) - 1) < 1e-9
    for i, p in enumerate(law):
        assert abs(picked[i] - draws * p) <= 6.5 * (draws * p * (1 - p)) ** 0.5 + 6.5


def test_a_law_adds_up_to_one() -> None:
    graph = Graph.from_pairs([(0, 1), (1, 2), (0, 2), (2, 3)])
    assert sum(Computed(COUNTS[0], graph).law) == pytest.approx(1)


def test_a_choice_of_another_sensitivity_is_refused() -> None:
    scores = CapScores((1,), [0], [Fraction(0)], Resolution(2, 0), lambda _: Truncated(0, 0))
    for choice in (PermuteAndFlip(1, 2), Exponential(1, 1, monotone=True)):
        with pytest.raises(ParameterError, match="sensitivity 1"):
            choose_cap(choice, scores)
    assert choose_cap(PermuteAndFlip(1, 1), scores) == 0
