"""Exact counts, against enumeration on every graph of up to 7 vertices, and against networkx on larger ones."""

from __future__ import annotations

import networkx as nx
import pytest
from small import atlas, plain_four_cycles, plain_stars

from discreet.errors import ParameterError
from discreet.graphs import Graph, counts
from discreet.graphs.counts._adjacency import _WORK


@pytest.mark.parametrize(("most", "many"), [(6, 209), pytest.param(7, 1253, marks=pytest.mark.soak)])
def test_all_counts_on_all_graphs_of_few_vertices(most: int, many: int) -> None:
    graphs = [plain for plain in atlas() if len(plain) <= most]
    assert len(graphs) == many
    for plain in graphs:
        graph = Graph.from_networkx(plain)
        assert [counts.stars(graph, k) for k in (2, 3, 4)] == [plain_stars(plain, k) for k in (2, 3, 4)]
        assert counts.four_cycles(graph) == plain_four_cycles(plain)
        sizes = [len(clique) for clique in nx.enumerate_all_cliques(plain)]
        assert [counts.cliques(graph, k) for k in (3, 4, 5)] == [sizes.count(k) for k in (3, 4, 5)]
        assert counts.triangles(graph) == sizes.count(3)
        assert counts.components(graph) == nx.number_connected_components(plain)
        assert counts.core_numbers(graph).tolist() == [nx.core_number(plain)[v] for v in plain]
        assert graph.degrees().tolist() == [degree for _, degree in plain.degree]


@pytest.mark.parametrize("work", [1, 100, _WORK])
def test_larger_graphs_in_pieces_of_any_size(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.graphs.counts._adjacency._WORK", work)
    plain = nx.powerlaw_cluster_graph(150, 6, 0.5, seed=3)
    graph = Graph.from_networkx(plain)
    assert counts.triangles(graph) == sum(nx.triangles(plain).values()) // 3 > 500
    assert counts.cliques(graph, 4) == sum(len(c) == 4 for c in nx.enumerate_all_cliques(plain)) > 100
    matrix = nx.to_numpy_array(plain, dtype=int)
    paths = matrix @ matrix
    pairs = [paths[i, j] for i in range(150) for j in range(i)]
    assert counts.four_cycles(graph) == sum(p * (p - 1) // 2 for p in pairs) // 2
    assert counts.degeneracy(graph) == max(nx.core_number(plain).values())
    assert counts.wedges_closed(graph)[0] / counts.wedges_closed(graph)[1] == pytest.approx(nx.transitivity(plain))


def test_long_paths_and_empty_graphs() -> None:
    path = Graph.from_pairs([(i, i + 1) for i in range(3000)])
    assert (counts.degeneracy(path), counts.components(path), counts.stars(path)) == (1, 1, 2999)
    for n in range(3):
        empty = Graph.from_pairs([], n)
        assert (counts.degeneracy(empty), counts.components(empty), counts.triangles(empty)) == (0, n, 0)
        assert (counts.four_cycles(empty), counts.cliques(empty, 4), counts.stars(empty)) == (0, 0, 0)


@pytest.mark.parametrize("k", [0, 1, 65, 2.0, True, "2"])
def test_a_star_has_two_leaves_or_more(k: object) -> None:
    with pytest.raises(ParameterError):
        counts.stars(Graph.from_pairs([(0, 1)]), k)  # type: ignore[arg-type]
