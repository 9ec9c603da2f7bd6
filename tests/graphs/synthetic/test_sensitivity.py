"""What one edge moves of all that is measured: by brute force on small graphs, and where the caps bind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from small import atlas, labelled

from discreet.graphs import Graph
from discreet.graphs.counts import Triangles, triangles
from discreet.graphs.synthetic import MeasurementPlan
from discreet.graphs.synthetic._measurements import SHARES
from discreet.graphs.synthetic._statistics import (
    CLUSTERING_NORMS,
    SURVIVAL_NORMS,
    UNIT,
    class_bounds,
    class_of_degree,
    clustering_by_class,
    degrees_of_survival,
    survival,
)
from discreet.privacy import parts, pure, rho

Measured = Callable[[Graph], NDArray[np.int64]]


def books(pages: int, extra: int) -> Iterator[tuple[Graph, Graph]]:
    """Two vertices with so many common neighbours, each of `extra` neighbours more; with an edge or not."""
    pairs = [(end, 2 + i) for end in (0, 1) for i in range(pages)]
    leaves = [(2 + i, 2 + pages + i * extra + j) for i in range(pages) for j in range(extra)]
    graph = Graph.from_pairs(pairs + leaves, 2 + pages * (1 + extra))
    yield graph, graph.toggled(0, 1)


def hubs(leaves: int) -> Iterator[tuple[Graph, Graph]]:
    """Two stars and an edge between their centres; a clique and an edge less; a centre's last edge."""
    stars = Graph.from_pairs([(end, 2 + end * leaves + i) for end in (0, 1) for i in range(leaves)])
    yield stars, stars.toggled(0, 1)
    clique = Graph.from_pairs(list(combinations(range(leaves), 2)))
    yield clique, clique.toggled(0, 1)
    wheel = Graph.from_networkx(nx.wheel_graph(leaves))
    yield wheel, wheel.toggled(0, 1)
    yield wheel, wheel.toggled(1, 3)


def neighbours_by_family() -> Iterator[tuple[Graph, Graph]]:
    for pages in (1, 2, 3, 4, 5, 9, 40):
        for extra in (0, 1, 2, 3, 7):
            yield from books(pages, extra)
    for leaves in (4, 5, 6, 9, 17, 18):
        yield from hubs(leaves)


def norms(measured: Measured, one: Graph, two: Graph) -> tuple[int, int]:
    moved = [abs(int(a) - int(b)) for a, b in zip(measured(one), measured(two), strict=True)]
    return sum(moved), sum(each**2 for each in moved)


@dataclass(frozen=True, eq=False)
class Exact:
    """All that is measured of one graph, and how far one edge can move its triangles."""

    survival: NDArray[np.int64]
    clustering: NDArray[np.int64]
    triangles: int
    local: int


def exact(graph: Graph) -> Exact:
    local = Triangles(graph.vertices).steps(graph)(0)
    return Exact(survival(graph), clustering_by_class(graph), triangles(graph), local)


def check(one: Exact, two: Exact) -> None:
    for allowed, moved in (
        (SURVIVAL_NORMS, two.survival - one.survival),
        (CLUSTERING_NORMS, two.clustering - one.clustering),
    ):
        by = [abs(each) for each in moved.tolist()]
        assert sum(by) <= allowed.l1
        assert sum(each**2 for each in by) <= allowed.l2_squared
    assert abs(two.triangles - one.triangles) <= min(one.local, two.local)


def check_all(graph: Graph) -> None:
    """With each of its neighbours that have an edge more: the others are checked from there."""
    one, joined = exact(graph), set(map(tuple, graph.ends.tolist()))
    for pair in combinations(range(graph.vertices), 2):
        if pair not in joined:
            check(one, exact(graph.toggled(*pair)))


@pytest.mark.parametrize("n", [2, 3, pytest.param(4, marks=pytest.mark.soak), pytest.param(5, marks=pytest.mark.soak)])
def test_all_neighbours_of_all_graphs(n: int) -> None:
    for graph in labelled(n):
        check_all(graph)


def test_all_neighbours_of_all_unnamed_graphs_of_up_to_five_vertices() -> None:
    for plain in atlas():
        if 2 <= len(plain) <= 5:
            check_all(Graph.from_networkx(plain))


@pytest.mark.soak
def test_all_neighbours_of_all_unnamed_graphs_of_six_and_seven_vertices() -> None:
    for plain in atlas():
        if len(plain) >= 6:
            check_all(Graph.from_networkx(plain))


def test_neighbours_that_caps_are_for() -> None:
    for one, two in neighbours_by_family():
        check(exact(one), exact(two))


@given(st.integers(3, 14), st.data())
def test_random_neighbours(n: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(n), 2))
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    a, b = data.draw(st.sampled_from(pairs))
    graph = Graph.from_pairs(chosen, n)
    check(exact(graph), exact(graph.toggled(a, b)))


def test_the_bounds_are_not_far_from_what_is_attained() -> None:
    pairs = list(neighbours_by_family())
    assert max(norms(survival, *each)[0] for each in pairs) == SURVIVAL_NORMS.l1
    assert max(norms(survival, *each)[1] for each in pairs) == SURVIVAL_NORMS.l2_squared
    assert max(norms(clustering_by_class, *each)[0] for each in pairs) >= 0.5 * CLUSTERING_NORMS.l1


# What is measured, plainly.


def plain_clustering(graph: Graph, caps: bool = True) -> list[int]:
    """By definition, vertex by vertex and edge by edge."""
    near = [set[int]() for _ in range(graph.vertices)]
    for a, b in graph.ends.tolist():
        near[a].add(b)
        near[b].add(a)
    sums = []
    for j, (low, high) in enumerate(class_bounds(graph.vertices)):
        total = 0
        for a, b in graph.ends.tolist():
            common = [w for w in near[a] & near[b] if low <= len(near[w]) <= high]
            added = sum(2 * UNIT // (len(near[w]) * (len(near[w]) - 1)) for w in common)
            total += min(added, 2 * UNIT // 2**j) if caps else added
        sums.append(total)
    return sums


def test_the_measurement_is_what_it_is_defined_to_be() -> None:
    for plain in (*atlas()[::7], nx.powerlaw_cluster_graph(80, 5, 0.6, seed=1), nx.complete_graph(20)):
        graph = Graph.from_networkx(plain)
        assert clustering_by_class(graph).tolist() == plain_clustering(graph)
    for one, two in neighbours_by_family():
        assert [clustering_by_class(each).tolist() for each in (one, two)] == [*map(plain_clustering, (one, two))]


def test_without_caps_it_is_average_clustering() -> None:
    plain = nx.powerlaw_cluster_graph(300, 3, 0.5, seed=4)
    graph = Graph.from_networkx(plain)
    assert sum(plain_clustering(graph, caps=False)) / UNIT / 300 == pytest.approx(nx.average_clustering(plain))
    assert clustering_by_class(graph).sum() / UNIT / 300 == pytest.approx(nx.average_clustering(plain), rel=0.02)


def test_work_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_networkx(nx.powerlaw_cluster_graph(200, 6, 0.5, seed=3))
    expected = clustering_by_class(graph).tolist()
    monkeypatch.setattr("discreet.graphs.counts._adjacency._WORK", 50)
    assert clustering_by_class(graph).tolist() == expected


def test_classes_of_degrees() -> None:
    bounds = class_bounds(1000)
    classes = class_of_degree(np.arange(1000))
    for place, (low, high) in enumerate(bounds):
        assert np.flatnonzero(classes == place).tolist() == list(range(low, high + 1))
    assert class_bounds(2) == []


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10))
def test_survival_and_degrees_are_one_staircase(degrees: list[int]) -> None:
    n = 10
    counts = np.array([sum(d >= k for d in degrees) for k in range(1, n)])
    assert degrees_of_survival(counts, n).tolist() == sorted(degrees, reverse=True) + [0] * (n - len(degrees))


# Mutants: the exact loss of discrete Laplace noise at the scale that each would use, on neighbours that show it.


def true_loss(measured: Measured, scale: Fraction) -> Fraction:
    """At least: the largest L1 distance over the scale, which the loss attains at the outer end of both answers."""
    return max(Fraction(norms(measured, one, two)[0]) / scale for one, two in neighbours_by_family())


def half_of_an_edge(graph: Graph) -> NDArray[np.int64]:
    return survival(graph)


def uncapped(graph: Graph) -> NDArray[np.int64]:
    return np.array(plain_clustering(graph, caps=False))


def raw_triangles_by_class(graph: Graph) -> NDArray[np.int64]:
    sums = np.zeros(len(class_bounds(graph.vertices)), np.int64)
    degrees = graph.degrees()
    plain = nx.Graph(graph.ends.tolist())
    for vertex, closed in dict(nx.triangles(plain)).items():
        if degrees[vertex] >= 2:
            sums[class_of_degree(degrees[[vertex]])[0]] += closed * UNIT
    return sums


def cap_from_the_data(graph: Graph) -> NDArray[np.int64]:
    """Clustering that is divided by the largest that an edge has, as if that were public."""
    sums = np.array(plain_clustering(graph, caps=False))
    return sums if graph.edges % 2 else sums // 2


MUTANTS: dict[str, tuple[Measured, int]] = {
    "degrees charged for one end of an edge": (half_of_an_edge, 1),
    "clustering without caps": (uncapped, CLUSTERING_NORMS.l1),
    "clustering charged for what an edge closes, and not for its ends": (clustering_by_class, 4 * UNIT),
    "clustering charged as a sum of coefficients of one vertex": (clustering_by_class, 2 * UNIT),
    "triangles by class of degree, charged like coefficients": (raw_triangles_by_class, CLUSTERING_NORMS.l1),
    "coefficients scaled by what only the data show": (cap_from_the_data, CLUSTERING_NORMS.l1),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_costs_more_than_it_claims(name: str) -> None:
    measured, charged = MUTANTS[name]
    claim = Fraction(1, 2)
    assert true_loss(measured, charged / claim) > claim


def test_what_is_shipped_costs_no_more() -> None:
    for vertices, spend in ((50, pure(1)), (5000, pure("0.1"))):
        plan = MeasurementPlan.calibrate(spend, vertices)
        epsilon = parts(spend)[0]
        assert [parts(each)[0] for each in plan.losses] == [epsilon * share for share in SHARES.values()]
        assert plan.loss().fits(spend) and sum(SHARES.values()) == 1
        assert true_loss(survival, plan.degrees.scale) == epsilon * SHARES["degrees"]
        assert true_loss(clustering_by_class, plan.clustering.scale) <= epsilon * SHARES["clustering"]


def test_rho_is_charged_by_squares() -> None:
    plan = MeasurementPlan.calibrate(rho("0.1"), 100)
    assert plan.loss().fits(rho("0.1"))
