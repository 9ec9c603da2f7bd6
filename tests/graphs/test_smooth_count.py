"""The exact loss of a count with Pareto noise, by the law of the noise, on all neighbours of few vertices."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats
from small import labelled

import discreet as dp
from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.counts import Cliques, ClusteringSum, Count, DegreeProducts, FourCycles, Stars, Triangles
from discreet.graphs.edge import SmoothCount, pareto_rate, pure_epsilon
from discreet.graphs.edge._smooth_count import shape_for
from discreet.noise import rounded_pareto

SIZES = np.concatenate([[0], np.geomspace(1e-6, 1e9, 400)])
PLACES = np.concatenate([-SIZES[::-1], SIZES])


def log_density(z: np.ndarray, center: float, scale: float, shape: int) -> np.ndarray:
    return math.log(shape / 2 / scale) - (shape + 1) * np.log1p(np.abs(z - center) / scale)


def worst(first: tuple[float, float], second: tuple[float, float], shape: int) -> float:
    """The largest log ratio over places around both centers, and far away."""
    at = np.concatenate([PLACES * first[1] + first[0], PLACES * second[1] + second[0]])
    return float(np.abs(log_density(at, *first, shape) - log_density(at, *second, shape)).max())


@pytest.mark.parametrize("shape", [3, 16, 100])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "2", "20"])
def test_the_rate_is_the_largest_of_the_claim(epsilon: str, shape: int) -> None:
    exact = Fraction(epsilon)
    beta, rate = float(exact / shape), float(pareto_rate(exact, shape))

    def lost(rate: float) -> float:
        stretches, moves = np.linspace(0, beta, 9), np.linspace(-1, 1, 5)
        return max(
            worst((0, 1 / rate), (move, math.exp(r) / rate), shape) for r, move in product(stretches, moves)
        )  # fmt: skip

    assert lost(rate) <= float(exact) * (1 + 1e-6)
    assert lost(rate * 1.01) > float(exact) * 1.0005


@pytest.mark.parametrize(
    "statistic",
    [Triangles(4), Stars(4, 2), Stars(4, 3), Cliques(4, 4), FourCycles(4), ClusteringSum(4), DegreeProducts(4)],
)
@pytest.mark.parametrize(("epsilon", "shape"), [("0.5", 16), (4, 5)])
def test_the_loss_between_all_neighbours_of_four_vertices(statistic: Count, epsilon: object, shape: int) -> None:
    mechanism = SmoothCount(statistic, epsilon, shape)  # type: ignore[arg-type]
    laws = [tuple(map(float, mechanism.before_noise(graph))) for graph in labelled(4)]
    largest = max(worst(laws[i], laws[i ^ (1 << edge)], shape) for i in range(64) for edge in range(6))
    assert 0.2 * float(mechanism.epsilon) < largest <= float(mechanism.epsilon) * (1 + 1e-9)


def test_draws_are_around_the_count_with_the_stated_error() -> None:
    """A false alarm of Kolmogorov and Smirnov's test has probability 1e-9."""
    graph = Graph.from_pairs([(a, b) for a in range(90) for b in range(a)])
    mechanism = SmoothCount(Triangles(90), 1)
    value, scale = mechanism.before_noise(graph)
    assert value == math.comb(90, 3)
    assert float(scale * mechanism.rate) == pytest.approx(88, rel=1e-9)  # the local sensitivity
    draws = np.array([rounded_pareto(Fraction(value), scale, mechanism.shape) for _ in range(4000)]) - value
    assert abs(mechanism.release(graph) - value) < 10_000
    law = stats.uniform(0, 1)
    spread = np.random.default_rng(1).uniform(-0.5, 0.5, len(draws))  # roundings
    tail = (1 + np.abs(draws + spread) / float(scale)) ** -float(mechanism.shape) / 2
    assert stats.kstest(np.where(draws + spread < 0, tail, 1 - tail), law.cdf).pvalue > 1e-9
    assert mechanism.mean_error(88) == pytest.approx(np.abs(draws).mean(), rel=0.15)
    assert np.mean(np.abs(draws) <= mechanism.error(88, 0.9)) == pytest.approx(0.9, abs=0.04)


def test_the_rule_is_of_epsilon_alone() -> None:
    assert [shape_for(Fraction(each)) for each in ("0.1", "0.25", "0.5", "2")] == [16, 16, 32, 128]
    assert SmoothCount(Triangles(9), "0.5").beta == Fraction(1, 64)
    assert SmoothCount.calibrate(dp.approx("0.5", "1e-6"), Triangles(9)) == SmoothCount(Triangles(9), "0.5")
    assert SmoothCount(Triangles(9), "0.5").loss() == dp.pure("0.5")


def test_spends_in_other_currencies() -> None:
    assert pure_epsilon(dp.pure("0.3")) == Fraction(3, 10)
    assert pure_epsilon(dp.rho("0.5")) == 1
    third = pure_epsilon(dp.rho("0.1"))
    assert third**2 / 2 <= Fraction(1, 10) < (third + Fraction(1, 10**11)) ** 2 / 2
    for spend in (dp.mu(1), dp.pure(65), dp.pure("1e-7")):
        with pytest.raises(ParameterError):
            pure_epsilon(spend)


@pytest.mark.parametrize("shape", [2, 0, True, 4.0, 2**16 + 1])
def test_bad_arguments_are_refused(shape: object) -> None:
    with pytest.raises(ParameterError, match="shape"):
        SmoothCount(Triangles(4), 1, shape)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="level"):
        SmoothCount(Triangles(4), 1).error(1, 1)
    with pytest.raises(ParameterError, match="statistic"):
        SmoothCount("triangles", 1)  # type: ignore[arg-type]
