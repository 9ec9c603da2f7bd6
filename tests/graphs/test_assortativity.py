"""Assortativity by degree: exact counts, the search for their sensitivity, and answers of a session."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from small import atlas

import discreet as dp
from discreet import graphs
from discreet.errors import LedgerError, ParameterError
from discreet.graphs import Graph, GraphCount, counts
from discreet.graphs.counts import DegreeProducts, degree_products
from discreet.graphs.counts._degree_products import neighbour_degrees
from discreet.release import verify_loss

CLUB = nx.karate_club_graph()
NAMES = ["edges", "2-stars", "3-stars", "degree products"]


def policy_with(budget: dict[str, Any]) -> dict[str, Any]:
    vertex = {"type": "int", "bounds": [0, 33], "nullable": False}
    return {
        "version": "1",
        "budget": budget,
        "tables": {"ties": {"unit": "rows", "columns": {"a": vertex, "b": vertex}}},
        "graphs": {"club": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
    }


def ties() -> dict[str, pa.Table]:
    a, b = zip(*CLUB.edges, strict=True)
    return {"ties": pa.table({"a": a, "b": b})}


def searched(plain: nx.Graph) -> int:
    """The most degrees of other neighbours of a pair, by trying all."""
    degree = dict(plain.degree)
    around = {
        pair: sum(degree[w] for end, other in (pair, pair[::-1]) for w in plain[end] if w != other)
        for pair in combinations(plain, 2)
    }
    return max(around.values(), default=0)


def test_counts_on_all_graphs_of_up_to_seven_vertices() -> None:
    for plain in atlas():
        graph = Graph.from_networkx(plain)
        assert degree_products(graph) == sum(plain.degree[a] * plain.degree[b] for a, b in plain.edges)
        assert neighbour_degrees(graph) == searched(plain)


@pytest.mark.parametrize("seed", range(4))
def test_the_search_on_larger_graphs(seed: int) -> None:
    for plain in (nx.gnp_random_graph(60, 0.1, seed=seed), nx.barabasi_albert_graph(60, 3, seed=seed)):
        assert neighbour_degrees(Graph.from_networkx(plain)) == searched(plain)


def test_sums_of_large_products_are_exact() -> None:
    """Two hubs of 2**17 leaves each, joined: theirs is the product, and the sum is of a hub and the other's leaf."""
    leaves, numbers = 2**17, np.arange(2**17)
    stars = [np.column_stack([numbers * 0 + hub, 2 + hub * leaves + numbers]) for hub in (0, 1)]
    ends = np.concatenate([[[0, 1]], *stars])
    graph = Graph.from_pairs(ends)
    assert degree_products(graph) == (leaves + 1) ** 2 + 2 * leaves * (leaves + 1)
    steps = DegreeProducts(graph.vertices).steps(graph)
    assert steps(0) == (leaves + 1) ** 2 + 3 * leaves + 2


def test_steps_add_up() -> None:
    """The sum in closed form is that of single steps, for few vertices and many, low degrees and high ones."""
    for n in (2, 3, 4, 5, 9, 30):
        for plain in (nx.empty_graph(n), nx.path_graph(n), nx.star_graph(n - 1), nx.complete_graph(n)):
            graph, statistic = Graph.from_networkx(plain), DegreeProducts(n)
            steps, largest = statistic.steps(graph), int(graph.degrees().max())
            high, low = max((max(pair), min(pair)) for pair in counts_of_pairs(plain))
            for k in range(2 * n):
                f = neighbour_degrees(graph) + sum(max(4, min(largest + t, n - 1) + 1) for t in range(1, k + 1))
                product = max(
                    min(high + 1 + i, n - 1) * min(low + 1 + k - i, n - 1)
                    for high, low in counts_of_pairs(plain)
                    for i in range(k + 1)
                )
                assert steps(k) == min(product + min(f, 2 * (n - 1) * (n - 2)), statistic.most)
            assert steps(2 * n) == statistic.most >= high + low


def counts_of_pairs(plain: nx.Graph) -> set[tuple[int, int]]:
    degree = dict(plain.degree)
    return {(degree[a] - plain.has_edge(a, b), degree[b] - plain.has_edge(a, b)) for a, b in combinations(plain, 2)}


def release_of(noisy: list[int], vertices: int = 34) -> GraphCount:
    with dp.connect(ties(), policy_with({"epsilon": 100})) as session:
        measured = graphs.open(session, "club").plan("degree assortativity", dp.pure(1)).prepared.measurements  # type: ignore[union-attr]
    return GraphCount("g", vertices, "degree assortativity", measured, tuple(noisy), dp.pure(1), {})


def test_without_noise_it_is_the_correlation_of_degrees() -> None:
    bare = release_of([1, 0, 0, 1])
    for plain in (CLUB, nx.barabasi_albert_graph(300, 4, seed=1), nx.gnp_random_graph(150, 0.1, seed=2)):
        graph = Graph.from_networkx(plain)
        noisy = (graph.edges, counts.stars(graph, 2), counts.stars(graph, 3), degree_products(graph))
        value = GraphCount("g", 9, bare.statistic, bare.measurements, noisy, bare.loss, {}).value
        assert value == pytest.approx(nx.degree_assortativity_coefficient(plain))
    assert bare.value == 0 == release_of([-4, 0, 0, 9]).value  # no variance
    assert release_of([10, 30, 90, 10**6]).value == 1


@pytest.mark.parametrize(
    ("budget", "spend"),
    [
        ({"epsilon": 300}, dp.pure(200)),
        ({"epsilon": 300, "delta": 1e-6}, dp.approx(200, 1e-7)),
        ({"rho": 9_000}, dp.rho(5_000)),
    ],
)
def test_a_session_answers_it_within_one_spend(budget: dict[str, Any], spend: dp.Loss) -> None:
    """3-stars, of which an edge moves 225, have the widest noise: a scale of 4 in 1,764.

    It moves the value of -0.48 by a scale of 0.016 or less: by 0.4 with probability e^-25.
    """
    with dp.connect(ties(), policy_with(budget)) as session:
        release = graphs.open(session, "club").count("degree assortativity", spend=spend)
    assert release.value == pytest.approx(nx.degree_assortativity_coefficient(CLUB), abs=0.4)
    assert [each.statistic for each in release.measurements] == NAMES  # type: ignore[union-attr]
    assert release.error() is None and release.loss.fits(spend)
    verify_loss(release.certificate)
    assert GraphCount.from_bytes(release.to_bytes()).value == release.value
    for place, name in ((1, "epsilon"), (0, "scale")):
        changed = json.loads(json.dumps(dict(release.certificate)))
        changed["measured"][place][name] = "70" if name == "epsilon" else "1/900"
        if name in release.certificate["measured"][place]:
            with pytest.raises(LedgerError):
                verify_loss(changed)
    stored = json.loads(release.to_bytes())
    stored["noisy"].pop()
    with pytest.raises(LedgerError):
        GraphCount.from_bytes(json.dumps(stored).encode())


def test_it_is_not_paid_in_mu() -> None:
    with dp.connect(ties(), policy_with({"mu": 1})) as session:
        with pytest.raises(ParameterError, match="mu"):
            graphs.open(session, "club").count("degree assortativity", spend=dp.mu(1))
        assert session.spent.fits(dp.mu("1e-9"))
