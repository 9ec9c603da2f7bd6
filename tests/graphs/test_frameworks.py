"""The general frameworks on counts of graphs: distances by search over all graphs, and what they release."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from small import labelled

import discreet as dp
from discreet.graphs import Graph
from discreet.graphs.counts import Cliques, ClusteringSum, Count, DegreeProducts, FourCycles, Stars, Triangles
from discreet.mechanisms import GlobalSensitivity, ProposeTestRelease, SmoothSensitivity
from discreet.sensitivity import distance

CLIQUE = Graph.from_pairs([(a, b) for a in range(60) for b in range(a)])
SPEND, SURE = dp.approx(2, 1e-4), dp.approx(2, 1e-12)


def searched(statistic: Count, bound: float) -> list[float]:
    """From each graph of few vertices, the fewest edges to one whose count some edge moves by more than the bound."""
    graphs, edges = list(labelled(statistic.vertices)), math.comb(statistic.vertices, 2)
    values = np.array([float(statistic.value(graph)) for graph in graphs])
    numbers = np.arange(len(graphs))
    local = np.max([np.abs(values - values[numbers ^ (1 << edge)]) for edge in range(edges)], axis=0)
    away = np.where(local > bound, 0.0, math.inf)
    for _ in range(edges):
        away = np.minimum.reduce([away, *(away[numbers ^ (1 << edge)] + 1 for edge in range(edges))])
    return away.tolist()


def more(*statistics: Count) -> list:
    """Those of five vertices are for the soak."""
    return [pytest.param(each, id=str(each), marks=[pytest.mark.soak] * (each.vertices > 4)) for each in statistics]


@pytest.mark.parametrize(
    "statistic", more(Triangles(4), Stars(4, 2), Stars(4, 3), Triangles(5), Stars(5, 2), Stars(5, 3), Cliques(5, 3))
)
def test_the_distance_that_is_tested_is_that_to_the_nearest_graph_of_larger_sensitivity(statistic: Count) -> None:
    for bound in (*range(statistic.most + 1), Fraction(1, 2), Fraction(7, 3)):
        ours = [distance(statistic, graph, bound) for graph in labelled(statistic.vertices)]
        assert ours == searched(statistic, float(bound))


@pytest.mark.parametrize(
    "statistic",
    more(
        Cliques(4, 4),
        FourCycles(4),
        DegreeProducts(4),
        ClusteringSum(4),
        Cliques(5, 4),
        FourCycles(5),
        DegreeProducts(5),
    ),
)
def test_where_sensitivities_are_bounds_the_distance_is_no_larger_and_moves_by_one(statistic: Count) -> None:
    n = statistic.vertices
    edges = math.comb(n, 2)
    for bound in (statistic.most // 8, statistic.most // 2, statistic.most - 1):
        ours = np.array([distance(statistic, graph, bound) for graph in labelled(n)])
        assert (ours <= searched(statistic, bound)).all()
        for edge in range(edges):
            other = ours[np.arange(len(ours)) ^ (1 << edge)]
            assert (np.abs(ours - other)[np.isfinite(ours)] <= 1).all()


def test_propose_test_release_answers_where_the_bound_holds_and_refuses_where_it_does_not() -> None:
    """In a clique of 60 every pair has 58 common neighbours: a bound of 30 is exceeded by the clique itself."""
    triangles = Triangles(60)
    within, without = (ProposeTestRelease(triangles, bound=bound, spend=SURE) for bound in (58, 30))
    assert within.loss() == SURE
    assert abs(within.release(CLIQUE) - math.comb(60, 3)) <= within.error(1 - 1e-10)  # type: ignore[operator]
    assert distance(triangles, CLIQUE, 30) == 0
    assert sum(without.release(CLIQUE) is not None for _ in range(50)) == 0  # 1e-12 each
    sparse = Graph.from_pairs([(a, a + 1) for a in range(59)])
    assert distance(triangles, sparse, 30) == 2 * 31 - 4  # ends of a path of 5 vertices have 4 neighbours, none common
    assert without.release(sparse) is not None


@pytest.mark.parametrize(
    "statistic", [Triangles(60), Stars(60, 3), FourCycles(60), Cliques(60, 4), ClusteringSum(60)], ids=str
)
def test_noise_of_the_general_frameworks_is_around_the_count(statistic: Count) -> None:
    """Student's t with 3 degrees of freedom is off by more than 2,000 standard deviations with probability 6e-11."""
    value, spends = float(statistic.value(CLIQUE)), (dp.pure(2), SPEND, dp.rho("0.5"))
    for spend in spends:
        general = SmoothSensitivity(statistic, spend=spend)
        assert general.loss().fits(spend)
        _, scale = general._before_noise(CLIQUE)
        assert float(scale * general.rate) >= statistic.steps(CLIQUE)(0)
        assert abs(general.release(CLIQUE) - value) <= 2_000 * general.unit_std * float(scale)
    for spend in (*spends, dp.mu(1)):
        worst = GlobalSensitivity(statistic, spend=spend)
        assert abs(worst.release(CLIQUE) - value) <= worst.error(1 - 1e-11)
