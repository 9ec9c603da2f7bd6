"""A graph is simple, sorted, and shows nothing of its edges."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.graphs import Graph, counts


def test_loops_and_repeats_do_not_count() -> None:
    graph = Graph.from_pairs([(3, 1), (1, 3), (2, 2), (0, 1), (0, 1)], 5)
    assert graph.ends.tolist() == [[0, 1], [1, 3]]
    assert graph.degrees().tolist() == [1, 2, 0, 1, 0]


def test_the_caller_keeps_his_array_and_nobody_writes_to_ours() -> None:
    ends = np.array([[0, 1]])
    graph = Graph(2, ends)
    ends[0, 1] = 5
    assert graph.ends.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        graph.ends[0, 0] = 1


@pytest.mark.parametrize(
    "ends", [[[1, 0]], [[0, 0]], [[0, 3]], [[-1, 0]], [[1, 2], [0, 1]], [[0, 1], [0, 1]], [[0, 1, 2]], [[0.0, 1.0]]]
)
def test_ends_out_of_order_are_refused(ends: list[list[int]]) -> None:
    with pytest.raises(ParameterError):
        Graph(3, np.array(ends))


@pytest.mark.parametrize("vertices", [-1, 1.5, True, 2**31, "3"])
def test_a_number_of_vertices_is_an_integer(vertices: object) -> None:
    with pytest.raises(ParameterError):
        Graph(vertices, np.empty((0, 2), np.int64))  # type: ignore[arg-type]


def test_toggling_twice_changes_nothing() -> None:
    graph = Graph.from_pairs([(0, 1), (1, 2)], 4)
    for a in range(4):
        for b in range(4):
            if a != b:
                other = graph.toggled(a, b)
                assert abs(other.edges - graph.edges) == 1
                assert other.toggled(b, a).ends.tolist() == graph.ends.tolist()
    with pytest.raises(ParameterError):
        graph.toggled(1, 1)


def test_a_vertex_can_lose_its_edges() -> None:
    assert Graph.from_pairs([(0, 1), (1, 2), (0, 2)]).without(1).ends.tolist() == [[0, 2]]


def test_networkx_graphs_are_read_as_they_are() -> None:
    club = nx.karate_club_graph()
    graph = Graph.from_networkx(club)
    assert (graph.vertices, graph.edges) == (34, 78)
    assert graph.degrees().tolist() == [degree for _, degree in club.degree]
    assert Graph.from_networkx(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "b")])).ends.tolist() == [[0, 1]]
    assert Graph.from_networkx(nx.empty_graph(3)).vertices == 3


def test_igraph_and_scipy_graphs_are_read_as_they_are() -> None:
    """igraph is not installed here: what is read of it stands in for it."""
    club = nx.karate_club_graph()
    stand_in = SimpleNamespace(vcount=lambda: 34, get_edgelist=lambda: list(club.edges))
    expected = Graph.from_networkx(club).ends.tolist()
    assert Graph.from_igraph(stand_in).ends.tolist() == expected
    assert Graph.from_igraph(SimpleNamespace(vcount=lambda: 3, get_edgelist=list)).vertices == 3
    assert Graph.from_scipy(nx.to_scipy_sparse_array(club)).ends.tolist() == expected
    assert Graph.from_scipy(nx.to_scipy_sparse_array(nx.empty_graph(4))).vertices == 4
    with pytest.raises(ParameterError, match="square"):
        Graph.from_scipy(nx.to_scipy_sparse_array(club)[:3])


def test_a_copy_is_the_same_graph_and_has_no_more() -> None:
    graph = Graph.from_pairs([(0, 1), (1, 2), (0, 2)], 5)
    before = pickle.dumps(graph)
    assert counts.triangles(graph) == 1
    assert pickle.dumps(graph) == before
    copy = pickle.loads(before)
    assert (copy.vertices, copy.ends.tolist()) == (5, graph.ends.tolist())


def test_a_graph_shows_nothing_of_its_edges() -> None:
    assert repr(Graph.from_pairs([(0, 1)], 9)) == "<Graph>"
