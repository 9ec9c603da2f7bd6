"""Sensitivities of counts, against a search over all graphs of few vertices: exact where they are called exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from small import labelled

from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.counts import Cliques, ClusteringSum, Count, DegreeProducts, FourCycles, Stars, Triangles
from discreet.graphs.edge import _measurements
from discreet.graphs.edge._question import DEGREES_MOVED
from discreet.sensitivity import smooth

EXACT: list[Callable[[int], Count]] = [Triangles, lambda n: Stars(n, 2), lambda n: Stars(n, 3), lambda n: Stars(n, 4)]
BOUNDS: list[Callable[[int], Count]] = [
    lambda n: Cliques(n, 4),
    FourCycles,
    ClusteringSum,
    DegreeProducts,
]


def searched(counts: NDArray[np.int64], edges: int, last: int) -> NDArray[np.int64]:
    """A(G, k) by definition, of shape (last + 1, graphs): graphs are numbers, a bit for each pair of vertices."""
    graphs = np.arange(len(counts))
    flips = [graphs ^ (1 << edge) for edge in range(edges)]
    local = np.max([np.abs(counts - counts[flip]) for flip in flips], axis=0)
    levels = [local]
    for _ in range(last):
        levels.append(np.max([levels[-1], *(levels[-1][flip] for flip in flips)], axis=0))
    return np.array(levels)


def check_sensitivities(statistic: Count, *, exact: bool) -> None:
    n = statistic.vertices
    edges, last = math.comb(n, 2), 2 * n + 1
    graphs = list(labelled(n))
    right = searched(np.array([statistic.value(graph) for graph in graphs]), edges, last)
    profiles = [statistic.profile(graph) for graph in graphs]
    ours = np.array([[profile.at_distance(k) for profile in profiles] for k in range(last + 1)])
    assert (ours >= right).all()
    if exact:
        assert (ours == right).all()
        assert right[-1].max() == statistic.most == statistic.global_sensitivity()
    else:
        assert right[-1].max() <= ours[-1].max() <= statistic.most
    assert (np.diff(ours, axis=0) >= 0).all()
    numbers = np.arange(len(graphs))
    for edge in range(edges):
        assert (ours[:-1] <= ours[1:, numbers ^ (1 << edge)]).all()
    for profile, rows in zip(profiles, ours.T, strict=True):
        assert (rows[profile.last :] == rows[-1]).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("make", EXACT)
def test_exact_sensitivities_are_those_of_a_search(make: Callable[[int], Count], n: int) -> None:
    check_sensitivities(make(n), exact=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("make", BOUNDS)
def test_upper_bounds_are_never_below_and_nested(make: Callable[[int], Count], n: int) -> None:
    check_sensitivities(make(n), exact=False)


@pytest.mark.soak
@pytest.mark.parametrize("make", [*EXACT, *BOUNDS])
def test_sensitivities_of_six_vertices(make: Callable[[int], Count]) -> None:
    check_sensitivities(make(6), exact=make in EXACT)


@pytest.mark.parametrize("beta", [0.01, 0.2, 1.5])
@pytest.mark.parametrize("make", [Triangles, lambda n: Stars(n, 2), FourCycles])
def test_smooth_sensitivity_is_smooth_between_all_neighbours(make: Callable[[int], Count], beta: float) -> None:
    statistic = make(4)
    graphs = list(labelled(4))
    bounds = [smooth(statistic, graph, beta) for graph in graphs]
    values = [statistic.value(graph) for graph in graphs]
    for i, bound in enumerate(bounds):
        for edge in range(6):
            assert bounds[i ^ (1 << edge)] <= math.exp(beta) * bound
            assert abs(values[i] - values[i ^ (1 << edge)]) <= bound


def test_pruned_search_agrees_with_all_pairs_on_random_graphs() -> None:
    draws = np.random.default_rng(7)
    for _ in range(60):
        n = int(draws.integers(8, 40))
        hubs = draws.random(n) ** 3
        chosen = [(a, b) for a, b in combinations(range(n), 2) if draws.random() < max(hubs[a], hubs[b])]
        graph = Graph.from_pairs(chosen, n)
        matrix = np.zeros((n, n), np.int64)
        matrix[tuple(graph.ends.T)] = 1
        matrix += matrix.T
        common, degrees = matrix @ matrix, matrix.sum(axis=1)
        high, low = np.tril_indices(n, -1)
        shared, others = common[high, low], degrees[high] + degrees[low] - 2 * matrix[high, low]
        steps, stars = Triangles(n).steps(graph), Stars(n, 2).steps(graph)
        for k in range(2 * n):
            assert steps(k) == min(n - 2, np.minimum(shared + k, (others + k) // 2).max())
            assert stars(k) == min(2 * (n - 2), others.max() + k)


def test_public_facts_decide_what_is_refused() -> None:
    graph = Graph.from_pairs([(0, 1)], 3)
    with pytest.raises(ParameterError, match="4 vertices"):
        Triangles(4).value(graph)
    with pytest.raises(ParameterError, match="two such steps"):
        Triangles(3).profile(graph, None, "substitute")
    for wrong in (-1, 2.0, True):
        with pytest.raises(ParameterError):
            Triangles(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        Stars(4, 1)
    assert Triangles(1).profile(Graph.from_pairs([], 1)).at_distance(0) == 0


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_what_one_edge_moves_by_one_at_most_and_sorted_degrees(n: int) -> None:
    graphs = list(labelled(n))
    values = {
        name: np.array([measure(graph) for graph in graphs]) for name, measure in _measurements._MOVED_BY_ONE.items()
    }
    degrees = np.array([np.sort(graph.degrees())[::-1] for graph in graphs])
    numbers = np.arange(len(graphs))
    for edge in range(math.comb(n, 2)):
        other = numbers ^ (1 << edge)
        for name, each in values.items():
            assert np.abs(each - each[other]).max() == 1, name
        moves = np.abs(degrees - degrees[other])
        assert set(moves.sum(axis=1)) == {DEGREES_MOVED.l1}
        assert set((moves**2).sum(axis=1)) == {DEGREES_MOVED.l2_squared}
        assert set(moves.max(axis=1)) == {DEGREES_MOVED.linf}
