"""Degrees with node privacy: a stable projection, sums over blocks of one sensitivity, and what is read off them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.graphs.node.laws import permute_and_flip_law
from tests.graphs.node.neighbours import key_of, removals, small, without_vertex
from tests.graphs.small import labelled

from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.node import EdgeFlows, NodeDegrees, block_sums, blocks_up_to, edge_order, projected_degrees
from discreet.graphs.node._distribution import share_band, sums_sensitivity
from discreet.privacy import approx, mu, pure, rho

NAMES = ["ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "ida", "joe", "kim", "leo"]


def projected(graph: Graph, cap: int, names: list[str], salt: bytes = b"") -> np.ndarray:
    return projected_degrees(graph, cap, edge_order(graph, names, salt))


def check(graphs: list[Graph]) -> tuple[int, int]:
    """The largest moves at a cap of 2: of the degrees of the other vertices together, and of the sums."""
    others_move = sums_move = 0
    for graph in graphs:
        names = NAMES[: graph.vertices]
        for cap in (1, 2, 3, 8):
            degrees = projected(graph, cap, names)
            assert degrees.max(initial=0) <= cap and (degrees <= graph.degrees()).all()
            if graph.degrees().max(initial=0) <= cap:
                assert (degrees == graph.degrees()).all()
            for vertex, fewer in removals(graph):
                rest = projected(fewer, cap, names[:vertex] + names[vertex + 1 :])
                moved = int(np.abs(np.delete(degrees, vertex) - rest).sum())
                assert moved <= degrees[vertex]
                sums = int(np.abs(block_sums(degrees, cap) - block_sums(rest, cap)).sum())
                assert sums <= sums_sensitivity(cap)
                if cap == 2:
                    others_move = max(others_move, moved)
                    sums_move = max(sums_move, sums)
    return others_move, sums_move


def test_a_vertex_moves_the_degrees_of_others_by_its_own_degree_and_the_sums_by_their_sensitivity() -> None:
    assert check(list(small(5, drawn=60))) == (2, sums_sensitivity(2))


def listed_moves(graphs: list[Graph], cap: int) -> int:
    """The largest move of the sums where a vertex loses its edges and stays."""
    most = 0
    for graph in graphs:
        names = NAMES[: graph.vertices]
        sums = block_sums(projected(graph, cap, names), cap)
        for vertex in range(graph.vertices):
            rest = block_sums(projected(graph.without(vertex), cap, names), cap)
            assert sums[-1] == rest[-1]
            most = max(most, int(np.abs(sums - rest).sum()))
    return most


def test_a_vertex_that_stays_without_its_edges_moves_the_sums_by_twice_the_cap() -> None:
    """More than one that goes: what is claimed of that would be too little."""
    for cap in (1, 2, 3):
        moved = listed_moves(list(small(5, drawn=60)), cap)
        assert moved == sums_sensitivity(cap, listed=True) == 2 * cap
    star = Graph.from_pairs([(0, leaf) for leaf in range(1, 10)])
    assert listed_moves([star], 8) <= 16 and listed_moves([star.without(9)], 8) == 16 > sums_sensitivity(8) == 9


def test_of_listed_vertices_the_number_is_exact_and_the_distribution_is_right_without_noise() -> None:
    mechanism = NodeDegrees(3, pure(1_000_000), "public", listed=True)
    for graph in small(4, drawn=20):
        if graph.degrees().max(initial=0) > 3:
            continue
        released = mechanism.release(graph, NAMES[: graph.vertices], b"")
        assert released.vertices == graph.vertices
        exact = [(graph.degrees() <= k).mean() if graph.vertices else 1 for k in range(4)]
        assert released.cumulative.tolist() == pytest.approx(exact)
    noisy = NodeDegrees(2, pure(1), "public", listed=True)
    assert noisy.noise(2).scale == 4  # type: ignore[union-attr]
    low, high = share_band(np.array([3, 6, 10]), 2, 0, listed=True)
    assert low.tolist() == high.tolist() == [0.3, 0.6, 1.0]


@pytest.mark.soak
def test_the_same_for_all_graphs_of_up_to_six_vertices_all_with_names_up_to_five_and_1000_random_ones() -> None:
    assert check([*small(6, drawn=1_000), *labelled(5)]) == (2, sums_sensitivity(2))


def test_an_order_of_edges_depends_on_names_and_salt_alone() -> None:
    generator = np.random.default_rng(3)
    for graph in small(0, drawn=30):
        names = NAMES[: graph.vertices]
        by_name = [{names[a], names[b]} for a, b in graph.ends[edge_order(graph, names, b"salt")].tolist()]
        shuffled = generator.permutation(graph.vertices)
        other = Graph.from_pairs(shuffled[graph.ends], graph.vertices)
        new_names = [names[i] for i in np.argsort(shuffled)]
        assert by_name == [
            {new_names[a], new_names[b]} for a, b in other.ends[edge_order(other, new_names, b"salt")].tolist()
        ]
        fewer = without_vertex(graph, 1)
        left = names[:1] + names[2:]
        assert [pair for pair in by_name if names[1] not in pair] == [
            {left[a], left[b]} for a, b in fewer.ends[edge_order(fewer, left, b"salt")].tolist()
        ]
    complete = next(graph for graph in small(6) if graph.edges == 15)
    orders = {tuple(edge_order(complete, NAMES[:6], bytes([salt])).tolist()) for salt in range(20)}
    assert len(orders) == 20


def test_names_are_one_for_each_vertex_and_different_by_value_and_type() -> None:
    graph = Graph.from_pairs([(0, 1), (1, 2)])
    for names in (["a", "b"], ["a", "a", "b"], [1, 2, 1]):
        with pytest.raises(ParameterError, match="names"):
            edge_order(graph, names, b"")
    assert len(edge_order(graph, [1, "1", b"1"], b"")) == 2


@pytest.mark.parametrize("cap", [1, 2, 3, 5, 20, 100, 1000])
def test_sums_are_of_the_cumulative_counts(cap: int) -> None:
    degrees = np.random.default_rng(cap).integers(0, cap + 1, size=50)
    begins, sums = blocks_up_to(cap), block_sums(degrees, cap)
    assert begins[0] == 0 and begins[-1] == cap and len(sums) == len(begins)
    for i, (begin, end) in enumerate(pairwise(begins)):
        assert sums[i] == sum((degrees <= k).sum() for k in range(begin, end))
    assert sums[-1] == max(1, cap // 8) * 50


def test_a_release_loses_no_more_than_stated() -> None:
    """The exact law of the cap, and the moves of all sums over the scale of their noise."""
    question = NodeDegrees(3, pure(1))
    largest = 0.0
    known: dict[tuple[int, bytes], list[float]] = {}
    for graph in small(4):
        names = NAMES[: graph.vertices]
        for vertex, fewer in removals(graph):
            left = names[:vertex] + names[vertex + 1 :]
            for each in (graph, fewer):
                if key_of(each) not in known:
                    known[key_of(each)] = choice_law(question, each)
            laws = known[key_of(graph)], known[key_of(fewer)]
            for cap, p, q in zip(question.caps, *laws, strict=True):
                sums = block_sums(projected(graph, cap, names), cap), block_sums(projected(fewer, cap, left), cap)
                moved = np.abs(sums[0] - sums[1]).sum() / float(question.noise(cap).scale)  # type: ignore[union-attr]
                largest = max(largest, abs(np.log(p / q)) + moved)
    assert 0.8 < largest <= 1 + 1e-9
    assert question.loss().epsilon(delta=0) <= 1 + 1e-9


def choice_law(question: NodeDegrees, graph: Graph) -> list[float]:
    scores = question.scores(EdgeFlows(graph).truncated)
    every = [scores.score(i) for i in range(len(question.caps))]
    assert question.choice is not None
    return permute_and_flip_law([question.choice.epsilon / 2 * (score - min(every)) for score in every])


@pytest.mark.parametrize("spend", [pure(2), approx(2, "1e-6"), rho("0.5"), mu(1)])
@pytest.mark.parametrize("cap", ["public", "bought"])
def test_releases_in_each_currency_are_within_the_spend(spend, cap) -> None:
    question = NodeDegrees(12, spend, cap)
    assert question.loss().fits(spend)
    star = Graph.from_pairs([(0, i) for i in range(1, 12)])
    release = question.release(star, NAMES, b"salt")
    assert release.cap in question.caps and release.cumulative.shape == (release.cap + 1,)
    assert (np.diff(release.cumulative) >= 0).all() and release.cumulative[-1] == 1 and release.vertices >= 0


def test_without_noise_to_speak_of_the_distribution_is_right_where_blocks_are_single_degrees() -> None:
    graph = Graph.from_pairs([(0, 1), (0, 2), (0, 3), (1, 2)], 6)
    release = NodeDegrees(3, pure(10**9), "public").release(graph, NAMES[:6], b"")
    assert release.cumulative.round(6).tolist() == pytest.approx([2 / 6, 3 / 6, 5 / 6, 1], abs=1e-5)
    assert release.vertices == 6


def test_an_empty_graph_is_answered() -> None:
    release = NodeDegrees(3, pure("0.01")).release(Graph.from_pairs([], 0), [], b"")
    assert release.cumulative[-1] == 1


def test_bad_questions_are_refused() -> None:
    for bad in (0, 2**21, True, 1.5):
        with pytest.raises(ParameterError, match="max_degree"):
            NodeDegrees(bad, pure(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cap"):
        NodeDegrees(3, pure(1), "best")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="spend"):
        NodeDegrees(3, 1)  # type: ignore[arg-type]
