"""The reduction of a graph under caps: its pieces have the value of the graph, and hundreds of them take seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from tests.graphs.node.neighbours import small, without_vertex
from tests.graphs.small import atlas

from discreet.graphs import Graph
from discreet.graphs.node import FORESTS, SpanningForests
from discreet.graphs.node.forests import _pieces
from discreet.graphs.node.forests._bounds import exact_forests
from discreet.graphs.node.forests._pieces import CappedGraph, contract, cut_apart, reduce_to_pieces

EPSILON = 1.0


def unreduced(graph: Graph, cap: int) -> Fraction:
    """By forests of the graph as it is, not even of its blocks apart."""
    capped = CappedGraph.uniform(graph, cap)
    vars(capped)["blocks"] = np.zeros(graph.edges, np.int64)
    return exact_forests(capped)


def reduced(graph: Graph, cap: int) -> Fraction:
    taken, pieces = reduce_to_pieces(CappedGraph.uniform(graph, cap))
    return taken + sum(map(exact_forests, pieces), Fraction(0))


def differ(graphs: Iterable[Graph], caps: Sequence[int]) -> int:
    return sum(reduced(graph, cap) != unreduced(graph, cap) for graph in graphs for cap in caps)


def with_triangle_of_hubs(leaves: int) -> nx.Graph:
    graph = nx.cycle_graph(3)
    graph.add_edges_from((i, 3 + leaves * i + j) for i in range(3) for j in range(leaves))
    return graph


KINDS: list[nx.Graph] = [
    nx.complete_bipartite_graph(5, 7),
    nx.wheel_graph(9),
    nx.complete_bipartite_graph(2, 6),
    nx.complete_bipartite_graph(3, 4),
    nx.gnp_random_graph(8, 0.75, seed=1),
    with_triangle_of_hubs(3),
    with_triangle_of_hubs(1),
]


def gadgets(drawn: Sequence[int], shared: float, generator: np.random.Generator, bridges: bool = True) -> Graph:
    """Gadgets in a chain, in any order of numbers: one shares its hub with the one before, or a bridge joins them."""
    pairs: list[tuple[int, int]] = []
    at, last = 0, -1
    for kind in drawn:
        gadget = KINDS[kind]
        number = {v: at + i for i, v in enumerate(gadget)}
        at += len(gadget)
        hub, *others = sorted(gadget, key=gadget.degree, reverse=True)
        if last >= 0 and generator.random() < shared:
            number[hub] = last
        elif last >= 0 and bridges:
            pairs.append((last, number[others[int(generator.integers(len(others)))]]))
        pairs += [(number[a], number[b]) for a, b in gadget.edges]
        last = number[others[0]]
    _, numbers = np.unique(np.array(pairs), return_inverse=True)
    return Graph.from_pairs(generator.permutation(int(numbers.max()) + 1)[numbers.reshape(-1, 2)])


def test_pieces_have_the_value_of_all_graphs_of_up_to_six_vertices() -> None:
    assert differ(small(6), (1, 2, 3)) == 0


@pytest.mark.soak
def test_pieces_have_the_value_of_all_graphs_of_seven_vertices_and_of_random_ones() -> None:
    assert differ((Graph.from_networkx(plain) for plain in atlas() if len(plain) == 7), (1, 2, 3)) == 0
    assert differ(small(0, drawn=100), (1, 2, 3, 4)) == 0


@pytest.mark.parametrize("times", [4, pytest.param(6, marks=pytest.mark.soak)])
def test_pieces_have_the_value_of_graphs_of_gadgets(times: int) -> None:
    generator = np.random.default_rng(291)
    several = halves = 0
    for shared in (0, 0.5, 1):
        for _ in range(times):
            graph = gadgets(generator.integers(1, len(KINDS), size=3).tolist(), shared, generator)
            for cap in (2, 3, 4):
                size = unreduced(graph, cap)
                assert reduced(graph, cap) == size
                several += len(reduce_to_pieces(CappedGraph.uniform(graph, cap))[1]) > 1
                halves += size.denominator > 1
    assert several > 3 and halves > 0


def test_blocks_and_bridges_are_those_of_networkx() -> None:
    for graph in small(6, drawn=40):
        plain = nx.Graph(graph.ends.tolist())
        labels = CappedGraph.uniform(graph, 1).blocks
        mine = {frozenset(map(tuple, graph.ends[labels == label].tolist())) for label in set(labels.tolist())}
        assert mine == {
            frozenset((min(edge), max(edge)) for edge in block) for block in nx.biconnected_component_edges(plain)
        }
        single = graph.ends[_pieces._DepthFirst(graph).bridges()].tolist()
        assert sorted(single) == sorted(sorted(edge) for edge in nx.bridges(plain))


def test_a_contracted_part_has_no_cap_and_one_edge_to_each_hub() -> None:
    """A path of nine, and three hubs that are joined to three of its vertices each, one of them in two parts."""
    path = [(i, i + 1) for i in range(8)]
    graph = Graph.from_pairs([*path, *((9 + i % 3, i) for i in range(9)), *((9, 12 + i) for i in range(3))])
    taken, left = contract(CappedGraph.uniform(graph, 3))
    assert taken == 10 and left.graph.edges == 4 and (left.caps > left.graph.degrees()).sum() == 4
    assert reduce_to_pieces(CappedGraph.uniform(graph, 3)) == (13, [])


def test_pieces_share_no_vertex_above_its_cap() -> None:
    generator = np.random.default_rng(7)
    graph = gadgets(generator.integers(len(KINDS), size=40).tolist(), 0.5, generator)
    capped = CappedGraph.uniform(graph, 3)
    pieces = cut_apart(capped)
    assert sum(piece.graph.edges for piece in pieces) == graph.edges
    assert sum(int(piece.over.sum()) for piece in pieces) == int(capped.over.sum())
    assert all((piece.caps[piece.over] == 3).all() for piece in pieces)


def test_three_hundred_gadgets_at_a_small_cap_take_seconds() -> None:
    generator = np.random.default_rng(300)
    drawn = generator.integers(len(KINDS), size=300).tolist()
    for shared in (0, 0.5, 1):
        graph = gadgets(drawn, shared, generator)
        assert graph.vertices >= 2_000
        begin = time.process_time()
        for cap in (4, 5, 8):
            assert SpanningForests(graph).truncated(cap).value <= FORESTS.steps * (graph.vertices - 1)
        assert time.process_time() - begin < 30


@pytest.mark.parametrize("many", [60, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("cap", [2, 4])
def test_gadgets_apart_are_within_the_tolerance_of_their_sum(cap: int, many: int) -> None:
    generator = np.random.default_rng(301)
    drawn = generator.integers(len(KINDS), size=many).tolist()
    size = [unreduced(Graph.from_networkx(gadget), cap) for gadget in KINDS]
    together = sum((size[kind] for kind in drawn), Fraction(0))
    value = SpanningForests(gadgets(drawn, 0, generator, bridges=False)).truncated(cap).value
    assert 0 <= value - FORESTS.steps * together <= FORESTS.slack * cap


def test_three_hundred_odd_cycles_of_hubs_whose_halves_no_forest_has() -> None:
    """Leaves are joined by bridges. Each hub has three leaves, and half of each edge of its cycle."""
    pairs: list[tuple[int, int]] = []
    hubs = last = at = 0
    for i in range(300):
        n = 3 + 2 * (i % 3)
        pairs += [(at + j, at + (j + 1) % n) for j in range(n)]
        pairs += [(at + j, at + n + 3 * j + leaf) for j in range(n) for leaf in range(3)]
        pairs += [(last, at + 4 * n - 2)] if i else []
        at, hubs, last = at + 4 * n, hubs + n, at + 4 * n - 1
    graph = Graph.from_pairs(pairs)
    begin = time.process_time()
    value = SpanningForests(graph).truncated(4).value
    assert time.process_time() - begin < 30
    assert 0 <= value - FORESTS.steps * (Fraction(7, 2) * hubs + 299) <= FORESTS.slack * 4


def loss(graph: Graph, vertex: int, cap: int, value: Callable[[Graph, int], Fraction]) -> float:
    """Of discrete Laplace noise on vertices less the forest, exactly, when a vertex goes."""
    before, after = (g.vertices - value(g, cap) for g in (graph, without_vertex(graph, vertex)))
    return float(abs(before - after) * FORESTS.steps / (FORESTS.sensitivity(cap) / EPSILON))


def arms() -> Graph:
    """A vertex with three paths of twelve, each of which has three hubs that are joined to four of its vertices."""
    pairs: list[tuple[int, int]] = []
    for arm in range(3):
        first = 1 + 15 * arm
        pairs += [(0, first), *((first + i, first + i + 1) for i in range(11))]
        pairs += [(first + 12 + i // 4, first + i) for i in range(12)]
    return Graph.from_pairs(pairs)


def cliques_at_one_vertex() -> Graph:
    return Graph.from_networkx(nx.compose_all([nx.complete_graph([0, *range(1 + 5 * i, 6 + 5 * i)]) for i in range(8)]))


def test_the_reduction_is_within_its_claim_on_the_graphs_of_the_mutants() -> None:
    for graph, cap in ((arms(), 3), (cliques_at_one_vertex(), 4)):
        assert reduced(graph, cap) == unreduced(graph, cap)
        assert loss(graph, 0, cap, reduced) <= EPSILON


def test_a_contracted_part_that_keeps_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vertex that joins the paths makes them one part with room for three hubs, and without it each has its own."""

    def keeping(capped: CappedGraph) -> tuple[int, CappedGraph]:
        taken, left = contract(capped)
        return taken, CappedGraph(left.graph, np.minimum(left.caps, 3))

    monkeypatch.setattr(_pieces, "contract", keeping)
    assert reduced(arms(), 3) < unreduced(arms(), 3)
    assert loss(arms(), 0, 3, reduced) > 1.5 * EPSILON


def test_pieces_that_are_split_at_a_vertex_above_its_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each clique then has all of the cap for itself."""
    classes = _pieces._DepthFirst.classes
    monkeypatch.setattr(_pieces._DepthFirst, "classes", lambda self, cuts: classes(self, np.ones_like(cuts)))
    assert differ(small(5), (1, 2)) > 0
    assert loss(cliques_at_one_vertex(), 0, 4, reduced) > 1.5 * EPSILON


def test_bridges_between_two_vertices_above_their_caps_that_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an edge takes room at both ends, where two others would be larger."""
    bridges = _pieces._DepthFirst.bridges

    def taking(capped: CappedGraph) -> tuple[int, CappedGraph]:
        single = bridges(_pieces._DepthFirst(capped.graph)) & capped.over[capped.graph.ends].all(axis=1)
        used = np.bincount(capped.graph.ends[single].ravel(), minlength=capped.graph.vertices)
        left = ~single & (capped.caps - used > 0)[capped.graph.ends].all(axis=1)
        graph = Graph(capped.graph.vertices, capped.graph.ends[left])
        return int(single.sum()), CappedGraph(graph, np.maximum(capped.caps - used, 0))

    real = _pieces.take_bridges

    def first_the_wrong_ones(capped: CappedGraph) -> tuple[int, CappedGraph]:
        wrong, left = taking(capped)
        right, left = real(left)
        return wrong + right, left

    monkeypatch.setattr(_pieces, "take_bridges", first_the_wrong_ones)
    assert differ(small(5), (1, 2)) > 0
