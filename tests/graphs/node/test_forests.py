"""Components under a cap: forests move by at most the cap when a vertex goes, and bounds of them are exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog
from tests.graphs.node.neighbours import remembered, removals, small
from tests.graphs.small import labelled

from discreet.graphs import Graph, counts
from discreet.graphs.node import FORESTS, SpanningForests, Truncated
from discreet.graphs.node._simplex import Tableau, exact_maximum
from discreet.graphs.node.forests import _attempts, _forests
from discreet.graphs.node.forests._attempts import Attempt, attempts, grown_attempt
from discreet.graphs.node.forests._bounds import ForestMix, bounds, exact_forests
from discreet.graphs.node.forests._forests import certified
from discreet.graphs.node.forests._growth import grow_forest, size_of_forest
from discreet.graphs.node.forests._pieces import CappedGraph


def forest_size(graph: Graph, cap: int) -> int:
    return SpanningForests(graph).truncated(cap).value


def exact(graph: Graph, cap: int) -> Fraction:
    return exact_forests(CappedGraph.uniform(graph, cap))


def tried_in_turn(graph: Graph, cap: int) -> Iterator[Attempt]:
    """All attempts on a graph that was not reduced."""
    capped = CappedGraph.uniform(graph, cap)
    first = grown_attempt(capped)
    yield first
    yield from attempts(capped, first[1].forests[0], FORESTS.slack * cap / (2 * FORESTS.steps))


def certify(graph: Graph, cap: int, prices: np.ndarray, mix: ForestMix) -> Truncated | None:
    return certified(bounds(CappedGraph.uniform(graph, cap), prices, mix), cap)


def hubs(how_many: int, leaves: int) -> Graph:
    """A cycle of hubs, each with leaves of its own: at a cap of one edge more, each edge of the cycle is a half."""
    ring = [(i, (i + 1) % how_many) for i in range(how_many)]
    return Graph.from_pairs([*ring, *((i, how_many + leaves * i + j) for i in range(how_many) for j in range(leaves))])


def program(graph: Graph, cap: int) -> float:
    """The largest Σ x with x(E[S]) ≤ |S| − 1 for every set of vertices and at most the cap at each, by HiGHS."""
    if not graph.edges:
        return 0.0
    ends = graph.ends.tolist()
    rows = [[float(v in pair) for pair in ends] for v in range(graph.vertices)]
    bounds = [float(cap)] * graph.vertices
    for size in range(2, graph.vertices + 1):
        for some in map(set, combinations(range(graph.vertices), size)):
            rows.append([float(some.issuperset(pair)) for pair in ends])
            bounds.append(size - 1.0)
    return -linprog(-np.ones(len(ends)), A_ub=rows, b_ub=bounds).fun


def check(graphs: Iterable[Graph], caps: Iterable[int]) -> int:
    """How often a vertex moves the forest by all of the cap."""
    value, tight = remembered(forest_size), 0
    for graph in graphs:
        largest = graph.vertices - counts.components(graph)
        for cap in caps:
            mine = value(graph, cap)
            if graph.degrees().max(initial=0) <= cap:
                assert mine == FORESTS.steps * largest
            assert 0 <= mine <= FORESTS.steps * largest
            measured = FORESTS.measured(mine, graph.vertices)
            for _, fewer in removals(graph):
                less = value(fewer, cap)
                assert -FORESTS.slack * cap <= mine - less <= (FORESTS.steps + FORESTS.slack) * cap
                assert abs(measured - FORESTS.measured(less, fewer.vertices)) <= FORESTS.sensitivity(cap)
                tight += mine - less >= FORESTS.steps * cap
    return tight


def test_lipschitz_on_all_graphs_of_up_to_five_vertices_and_random_ones() -> None:
    assert check(small(5), (2, 3)) > 50
    assert check(small(0, drawn=25), (3, 4)) > 0


@pytest.mark.soak
def test_lipschitz_on_all_graphs_of_up_to_six_vertices_all_with_names_up_to_five_and_1000_random_ones() -> None:
    check(small(6, drawn=1_000), (1, 2, 3, 4))
    check(labelled(5), (1, 2, 3))


def test_the_value_is_that_of_the_program_over_all_sets_of_vertices() -> None:
    cut = halves = 0
    for graph in [*small(3, drawn=15), hubs(3, 1), hubs(3, 2)]:
        if graph.vertices <= 9:
            for cap in (1, 2, 3):
                size = program(graph, cap)
                above = forest_size(graph, cap) / FORESTS.steps - size
                assert -1e-6 <= above <= FORESTS.slack * cap / FORESTS.steps + 1e-6
                assert float(exact(graph, cap)) == pytest.approx(size, abs=1e-7)
                cut += size < graph.vertices - counts.components(graph) - 0.5
                halves += abs(size - round(size)) > 0.1
    assert cut > 10 and halves > 2


def test_the_size_of_a_spanning_forest_is_the_value_if_some_has_no_more_edges_anywhere() -> None:
    clique = Graph.from_networkx(nx.complete_graph(30))
    assert forest_size(clique, 2) == FORESTS.steps * 29  # a path, of degree 2, though all degrees are 29
    generator = np.random.default_rng(3)
    for _ in range(20):
        path = generator.permutation(40)
        more = generator.integers(0, 40, size=(60, 2))
        graph = Graph.from_pairs(np.concatenate([np.column_stack([path[:-1], path[1:]]), more]))
        assert forest_size(graph, 4) == FORESTS.steps * 39


def test_half_edges_are_worth_a_half() -> None:
    graph = hubs(3, 3)
    assert exact(graph, 4) == Fraction(21, 2)
    assert 0 <= forest_size(graph, 4) - FORESTS.steps * 10.5 <= FORESTS.slack * 4


@cache
def fractional() -> tuple[tuple[Graph, int, Fraction], ...]:
    """Graphs, caps and sizes: no forest under the cap is as large, but a mean of some, half of each cycle, is.

    All leaves are in, which leaves each hub one edge; so it is an upper bound as well.
    """
    many = Graph.from_networkx(nx.disjoint_union_all([nx.Graph(hubs(n, 3).ends.tolist()) for n in (3, 5, 3, 7)]))
    joined = Graph.from_pairs([*many.ends.tolist(), (0, 12), (12, 32)])
    sizes = (Fraction(21, 2), Fraction(63), Fraction(63), Fraction(15, 2), Fraction(35, 2))
    graphs = ((hubs(3, 3), 4), (many, 4), (joined, 4), (hubs(5, 1), 2), (hubs(7, 2), 3))
    return tuple((graph, cap, size) for (graph, cap), size in zip(graphs, sizes, strict=True))


def test_means_of_forests_are_certified_before_the_exact_method() -> None:
    """The first two attempts try one forest each, and these graphs need more."""
    for graph, cap, size in fractional():
        tried = []
        for prices, mix in tried_in_turn(graph, cap):
            value = certify(graph, cap, prices, mix)
            tried.append(value is not None)
            if value is not None:
                assert 0 <= value.value - FORESTS.steps * size <= FORESTS.slack * cap
                break
        assert len(tried) > 2 and tried[-1]


def test_whatever_an_attempt_returns_no_value_is_certified_beyond_the_tolerance() -> None:
    generator = np.random.default_rng(5)
    accepted = refused = 0
    for graph, cap, most in fractional():
        *_, (prices, mix) = tried_in_turn(graph, cap)
        everything = np.arange(graph.edges)
        for size in (0, 1e-9, 1e-4, 1e-2, 1):
            for spoilt in (
                ForestMix(mix.forests, mix.shares + size * generator.random(len(mix.shares))),
                ForestMix([*mix.forests[:-1], everything], mix.shares),
                ForestMix(mix.forests, np.full(len(mix.shares), np.nan)),
            ):
                value = certify(graph, cap, prices + size * generator.normal(size=graph.vertices), spoilt)
                if value is None:
                    refused += 1
                else:
                    accepted += 1
                    assert 0 <= value.value - FORESTS.steps * most <= FORESTS.slack * cap
        one = ForestMix([everything], np.ones(1))  # with cycles: no forest, so it shows nothing
        assert certify(graph, cap, prices, one) is None
    assert accepted > 10 and refused > 10


def test_shares_that_are_too_many_in_one_block_show_nothing_more_than_a_mean() -> None:
    """Two triangles at one vertex: in each block two forests, which have shares of 2 together."""
    graph = Graph.from_pairs([(0, 1), (0, 2), (1, 2), (0, 3), (0, 4), (3, 4)])
    capped = CappedGraph.uniform(graph, 4)
    prices = np.zeros(5)
    blocks = [np.flatnonzero((graph.ends <= 2).all(axis=1)), np.flatnonzero((graph.ends >= 3).any(axis=1))]
    apart = [block[list(two)] for block in blocks for two in combinations(range(3), 2)]
    for share in (1 / 3, 1 / 2, 1.0):
        mean = bounds(capped, prices, ForestMix(apart, np.full(6, share)))
        assert 4 * (1 - 1e-6) * 2**30 <= mean.lower <= 4 * 2**30 == mean.upper
    assert bounds(capped, prices, ForestMix(apart[:3], np.full(3, 1 / 3))).lower <= 2 * 2**30


def test_without_a_certificate_the_exact_method_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = hubs(3, 3)
    nothing = ForestMix([np.empty(0, np.int64)], np.ones(1))
    monkeypatch.setattr(_forests, "attempts", lambda *_: iter(()))
    assert forest_size(graph, 4) == FORESTS.steps * 21 // 2
    useless = (np.full(3, np.inf), nothing)
    monkeypatch.setattr(_forests, "grown_attempt", lambda _: useless)
    monkeypatch.setattr(_forests, "attempts", lambda *_: iter([useless]))
    assert forest_size(graph, 4) == FORESTS.steps * 21 // 2


def test_a_library_without_an_answer_leaves_it_to_the_exact_method(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoAnswer:
        x = None

    monkeypatch.setattr(_attempts, "linprog", lambda *_, **__: NoAnswer())
    graph = hubs(3, 3)
    assert len(list(tried_in_turn(graph, 4))) == 2
    assert forest_size(graph, 4) == FORESTS.steps * 21 // 2


def test_grown_forests_are_forests_under_the_cap_and_near_the_largest() -> None:
    short = 0
    for graph in small(5):
        for cap in (2, 3):
            grown = grow_forest(CappedGraph.uniform(graph, cap), graph.degrees() / 4)
            ends = graph.ends[grown.edges]
            assert size_of_forest(graph.vertices, ends) == len(ends)
            assert np.bincount(ends.ravel(), minlength=graph.vertices).max(initial=0) <= cap
            short += len(ends) < int(exact(graph, cap))
    assert short < 4


def test_swaps_free_vertices_one_after_another() -> None:
    """A ladder of hubs, each of which has room only after the one before it was freed."""
    generator = np.random.default_rng(8)
    for _ in range(30):
        graph = Graph.from_networkx(nx.gnp_random_graph(60, 0.07, seed=int(generator.integers(2**31))))
        dear = generator.random(60)
        capped = CappedGraph.uniform(graph, 3)
        plain = [grow_forest(capped, prices).edges for prices in (dear, np.zeros(60))]
        largest = size_of_forest(60, graph.ends)
        assert all(len(edges) >= largest - 2 for edges in plain)


def test_an_optimum_in_fractions() -> None:
    one = Fraction(1)
    point, prices = exact_maximum([one, one], [{0: 2 * one, 1: one}, {0: one, 1: 2 * one}], [one, one])
    assert point == [Fraction(1, 3)] * 2 == prices
    assert exact_maximum([], [], []) == ([], [])


def test_columns_that_come_later_lead_to_the_same_optimum() -> None:
    generator = np.random.default_rng(31)
    for _ in range(40):
        rows, columns = (int(size) for size in generator.integers(1, 7, size=2))
        matrix = [[Fraction(int(x)) for x in row] for row in generator.integers(0, 4, size=(rows, columns)) + 1]
        gains = [Fraction(int(gain)) for gain in generator.integers(1, 9, size=columns)]
        limits = [Fraction(int(limit)) for limit in generator.integers(0, 9, size=rows)]
        point, _ = exact_maximum(gains, [dict(enumerate(row)) for row in matrix], limits)
        table = Tableau(limits)
        for j, gain in enumerate(gains):
            table.add(gain, {i: matrix[i][j] for i in range(rows)})
            table.maximise()
        prices = table.prices()
        assert table.value == sum(gain * x for gain, x in zip(gains, point, strict=True))
        assert table.value == sum(gain * x for gain, x in zip(gains, table.point(), strict=True))
        assert table.value == sum(limit * price for limit, price in zip(limits, prices, strict=True))
        assert all(sum(prices[i] * matrix[i][j] for i in range(rows)) >= gains[j] for j in range(columns))


def test_sensitivities() -> None:
    assert [FORESTS.sensitivity(cap) for cap in (1, 2, 4)] == [260, 264, 784]
    assert FORESTS.measured(256 * 3, 5) == 256 * 2
