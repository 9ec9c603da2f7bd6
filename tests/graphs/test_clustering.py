"""Average clustering: exact values, the search for its sensitivity, and answers of a session."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from small import atlas, labelled

import discreet as dp
from discreet import graphs
from discreet.errors import LedgerError
from discreet.graphs import Graph
from discreet.graphs.counts import CLUSTERING_UNIT, ClusteringSum, clustering_sum, vertex_triangles
from discreet.graphs.counts._adjacency import _WORK, by_degree
from discreet.graphs.counts._clustering import _weights, largest_shared
from discreet.release import verify_loss


@pytest.mark.parametrize("most", [6, pytest.param(7, marks=pytest.mark.soak)])
def test_the_sum_on_all_graphs_of_few_vertices(most: int) -> None:
    for plain in (plain for plain in atlas() if len(plain) <= most):
        graph = Graph.from_networkx(plain)
        assert float(clustering_sum(graph)) == pytest.approx(sum(nx.clustering(plain).values()))
        order = np.argsort(-graph.degrees(), kind="stable")
        assert vertex_triangles(graph).tolist() == np.array([*nx.triangles(plain).values()], int)[order].tolist()


@pytest.mark.parametrize("work", [1, 100, _WORK])
def test_larger_graphs_in_pieces_of_any_size(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.graphs.counts._adjacency._WORK", work)
    plain = nx.powerlaw_cluster_graph(200, 4, 0.6, seed=3)
    graph, matrix = Graph.from_networkx(plain), nx.to_numpy_array(plain, dtype=int)
    assert float(clustering_sum(graph)) == pytest.approx(sum(nx.clustering(plain).values()))
    weights = _weights(graph.degrees())
    shared = (matrix * weights) @ matrix
    np.fill_diagonal(shared, 0)
    rows = by_degree(graph)
    assert largest_shared(rows, _weights(rows.degrees())) == shared.max() > CLUSTERING_UNIT // 2


def test_the_search_ends_early_where_nothing_can_be_better() -> None:
    """A hub with 3,000 leaves, and two vertices with three neighbours in common."""
    star = [(0, leaf) for leaf in range(9, 3009)]
    graph = Graph.from_pairs([*star, *((a, b) for a in (1, 2) for b in (3, 4, 5))])
    rows = by_degree(graph)
    assert largest_shared(rows, _weights(rows.degrees())) == 3 * CLUSTERING_UNIT
    for n in range(4):
        assert ClusteringSum(n).steps(Graph.from_pairs([], n))(0) == (2 * CLUSTERING_UNIT if n > 2 else 0)


def test_weights_are_never_below_what_an_edge_adds_and_fall_by_half_at_most() -> None:
    weights = _weights(np.arange(5000))
    assert all(int(weights[d]) >= Fraction(2 * CLUSTERING_UNIT, d * (d - 1)) for d in range(2, 5000))
    assert weights[:4].tolist() == [0, 0, CLUSTERING_UNIT, CLUSTERING_UNIT // 2]
    assert (-np.diff(weights[2:]) <= CLUSTERING_UNIT // 2).all()
    assert weights.max() == CLUSTERING_UNIT


def test_the_bound_is_near_the_local_sensitivity() -> None:
    """Two hubs with 20 neighbours of their own in common: each neighbour's coefficient goes from 0 to 1."""
    graph = Graph.from_pairs([(hub, leaf) for hub in (0, 1) for leaf in range(2, 22)])
    statistic = ClusteringSum(22)
    moved = statistic.value(graph.toggled(0, 1)) - statistic.value(graph)
    assert 20 * CLUSTERING_UNIT < moved <= statistic.steps(graph)(0) == 22 * CLUSTERING_UNIT


def test_an_edge_moves_the_ends_by_one_at_most_each() -> None:
    """On all graphs of five vertices, vertex by vertex."""
    graphs_of_five = list(labelled(5))
    pairs = list(combinations(range(5), 2))
    values = []
    for graph in graphs_of_five:
        plain = nx.Graph(graph.ends.tolist())
        plain.add_nodes_from(range(5))
        values.append([nx.clustering(plain, v) for v in range(5)])
    table = np.array(values)
    for edge, (a, b) in enumerate(pairs):
        moved = np.abs(table - table[np.arange(1024) ^ (1 << edge)])
        assert moved[:, [a, b]].max() <= 1


def policy_with(budget: dict[str, Any] | None = None, last: int = 999) -> dict[str, Any]:
    vertex = {"type": "int", "bounds": [0, last], "nullable": False}
    return {
        "version": "1",
        "budget": budget or {"epsilon": 200},
        "tables": {"ties": {"unit": "rows", "columns": {"a": vertex, "b": vertex}}},
        "graphs": {"town": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
    }


TOWN = nx.relaxed_caveman_graph(50, 20, 0.2, seed=1)


@pytest.mark.parametrize(
    ("budget", "spend"),
    [
        ({"epsilon": 200}, dp.pure(40)),
        ({"epsilon": 200, "delta": 1e-6}, dp.approx(40, 1e-7)),
        ({"rho": 900}, dp.rho(800)),
    ],
)
def test_a_session_answers_it(budget: dict[str, Any], spend: dp.Loss) -> None:
    """Noise has a scale of 4 or so of 1,000 / 40 = 25 times ε; tails of 6 scales have probability below 1e-9."""
    a, b = zip(*TOWN.edges, strict=True)
    with dp.connect({"ties": pa.table({"a": a, "b": b})}, policy_with(budget)) as session:
        town = graphs.open(session, "town")
        release = town.count("average clustering", spend=spend)
        assert release.value == pytest.approx(nx.average_clustering(TOWN), abs=0.01)
        assert release.error() is None and release.measurements[0].mechanism.shape == 320  # type: ignore[union-attr]
        assert release.value == pytest.approx(release.noisy[0] / 1000 / CLUSTERING_UNIT)
        verify_loss(release.certificate)
        plan = town.plan("average clustering", spend=spend, assume={"sensitivity": 0.004})
        assert 0.0002 < plan.error() < 0.0005 and "by 1 at most" in plan.explain()  # type: ignore[operator]
        changed = {**release.certificate, "measured": [{**release.certificate["measured"][0], "epsilon": "41"}]}
        with pytest.raises(LedgerError):
            verify_loss(changed)


def test_values_are_those_of_a_mean() -> None:
    empty = {"ties": pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})}
    with dp.connect(empty, policy_with(last=9)) as session:
        values = [graphs.open(session, "town").count("average clustering", spend=dp.pure(i)).value for i in range(1, 6)]
    assert all(0 <= each <= 1 for each in values)
