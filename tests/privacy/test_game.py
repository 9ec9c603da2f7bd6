"""The adaptive composition game: what the best strategy reaches, and what was claimed."""

from __future__ import annotations

import math
import random

import pytest

from discreet.errors import ParameterError
from discreet.privacy import approx, pure
from discreet.privacy.game import Round, Views, empirical_delta, play, views


def response(eps, delta=0.0):
    """The worst (epsilon, delta) mechanism of Kairouz, Oh and Viswanath 2015."""
    likely = (1 - delta) / (1 + math.exp(-eps))

    def law(x):
        told = {("leak", x): delta} if delta else {}
        return {**told, x: likely, 1 - x: 1 - delta - likely}

    return law


class Repeats:
    """Asks the same mechanism about the same neighbours each time."""

    def __init__(self, mechanism):
        self.mechanism = mechanism

    def choose(self, transcript):
        return Round(self.mechanism, 0, 1)


class Swaps:
    """Swaps the neighbours, or stops, as earlier outcomes suggest."""

    def choose(self, transcript):
        if transcript[-2:] == (0, 0):
            return None
        return Round(response(0.4), *((1, 0) if transcript[-1:] == (1,) else (0, 1)))


@pytest.mark.parametrize(("eps", "delta", "k"), [(0.5, 0.0, 4), (1.0, 0.0, 3), (0.3, 0.01, 4)])
def test_randomized_response_attains_optimal_composition(eps, delta, k):
    found = views(Repeats(response(eps, delta)), k)
    loss = k * approx(str(eps), str(delta)) if delta else k * pure(str(eps))
    for target in (0.1, 0.7 * k * eps):
        low, high = loss.bounds(epsilon=str(round(target, 6)))
        assert low * (1 - 1e-9) <= found.delta(round(target, 6)) <= high * (1 + 1e-9)
    at = 0.05
    low, high = loss.bounds(delta=str(at))
    assert low * (1 - 1e-9) <= found.epsilon(at) <= high * (1 + 1e-9)


def test_an_adaptive_adversary_never_beats_the_claim():
    found = views(Swaps(), 6)
    assert math.fsum(found.p) == pytest.approx(1) and math.fsum(found.q) == pytest.approx(1)
    assert any(len(each) < 6 for each in found.outcomes)
    for target in (0.0, 0.5, 1.5):
        assert found.delta(target) <= (6 * pure("0.4")).delta(target) * (1 + 1e-9)
    assert found.epsilon() <= 2.4 * (1 + 1e-9)


def test_a_broken_mechanism_is_caught():
    found = views(Repeats(response(1.2)), 2)
    assert found.epsilon() > (2 * pure(1)).epsilon()


def test_playing_draws_and_measuring():
    source = random.Random(7)

    def draw(law):
        return source.choices(list(law), list(law.values()))[0]

    games = [[play(Repeats(response(1.0)), world, 2, draw) for _ in range(4000)] for world in (0, 1)]
    measured = empirical_delta(*games, 0.5)
    assert 0 < measured <= (2 * pure(1)).delta("0.5")
    assert empirical_delta(*games, 2.5) == 0
    assert play(Swaps(), 0, 0, draw) == ()


def test_bad_games():
    with pytest.raises(ParameterError):
        views(Repeats(lambda x: {0: 0.5}), 1)
    with pytest.raises(ParameterError):
        empirical_delta([1], [2], 1.0)


def test_an_epsilon_past_the_floats():
    certain = Views(((0,), (1,)), (0.25, 0.75), (0.0, 1.0))
    assert certain.delta(1000) == 0.25
    assert Views(((0,), (1,)), (0.25, 0.75), (1e-310, 1.0)).delta(700) == pytest.approx(0.25, abs=1e-5)
    assert empirical_delta([1] * 100, [2] * 100, 1e6) == 0
