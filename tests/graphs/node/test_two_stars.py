"""2-stars without a list of them: the same sums and the same program as with one, on hostile graphs as well."""

from __future__ import annotations

import tracemalloc
from itertools import combinations, islice

import networkx as nx
import numpy as np
import pytest
from tests.graphs.node.neighbours import small, without_vertex

from discreet.graphs import Graph
from discreet.graphs.node import PACKED, PackedPatterns, Stars, TwoStars
from discreet.graphs.node.stars import _two_stars
from discreet.graphs.node.stars._prices import Mixture, descending_prices
from discreet.graphs.node.stars._program import Clip, PricedStars, StarProgram, exact_totals, star_program
from discreet.graphs.node.stars._two_stars import certified_stars, plain_descent


def two_stars(graph: Graph) -> Stars:
    return Stars(graph.vertices, graph.ends, 2)


def caps_of(stars: Stars) -> list[int]:
    top = int(stars.loads.max(initial=0))
    return sorted({cap for cap in (1, 2, 3, top // 4, top // 2, top - 1) if 1 <= cap < top})


def cut_graphs(most: int, drawn: int) -> list[tuple[Stars, int]]:
    shapes = [two_stars(graph) for graph in small(most, drawn)]
    return [(stars, cap) for stars in shapes for cap in caps_of(stars)]


def listed(stars: Stars, program: StarProgram, cap: int) -> list[list[int]]:
    """The rows of centre and leaves of each star whose centre is constrained or has such a neighbour."""
    row = {v: i for i, v in enumerate(np.flatnonzero(stars.loads > cap).tolist())}
    near = nx.Graph(stars.ends.tolist())
    centres = [c for c in near if row.keys() & {c, *near[c]}]
    met = [[row.get(v, program.rows) for v in (c, a, b)] for c in centres for a, b in combinations(near[c], 2)]
    assert stars.total - len(met) == program.free
    return met


@pytest.mark.parametrize("kind", [np.int64, object])
def test_sums_over_pairs_are_those_over_a_list(kind: type) -> None:
    generator = np.random.default_rng(3)
    checked = 0
    for stars, cap in cut_graphs(0, 25):
        program = star_program(stars, cap)
        met = listed(stars, program, cap)
        scale = 64
        for highest in (1, 20, 2 * scale):  # many equal prices, as on real graphs, and all kinds
            prices = generator.integers(0, highest, size=program.rows)
            priced = PricedStars(program, prices.astype(kind), scale)
            padded = [*prices.tolist(), 0]
            left = [scale - sum(padded[v] for v in star) for star in met]
            assert priced.dual() == cap * sum(prices.tolist()) + sum(max(r, 0) for r in left)
            assert priced.dual_estimate() * scale == pytest.approx(priced.dual())
            for clip in (Clip(7), Clip(16, 5), Clip(300, 100)):
                weights = [min(max(r + clip.offset, 0), clip.width) for r in left]
                at_rows = np.zeros(program.rows + 1, int)
                for star, weight in zip(met, weights, strict=True):
                    np.add.at(at_rows, star, weight)
                assert priced.loads(clip) == (at_rows[: program.rows].tolist(), sum(weights))
            checked += len(met)
    assert checked > 10_000


def compare(cases: list[tuple[Stars, int]]) -> int:
    for stars, cap in cases:
        mine, other = TwoStars(stars).truncated(cap), PackedPatterns(stars).truncated(cap)
        assert abs(mine.value - other.value) <= PACKED.slack * cap
        for less in {1, cap // 2, cap - 1} - {0, cap}:
            smaller = PackedPatterns(stars).truncated(less).value - PACKED.slack * less
            assert smaller <= mine.value - mine.slope * (cap - less)
    return len(cases)


def test_values_are_those_of_the_listed_program_within_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_two_stars, "plain_descent", lambda _: iter(()))  # Newton's method is enough
    assert compare(cut_graphs(3, 12)) > 40


@pytest.mark.soak
def test_values_are_those_of_the_listed_program_on_all_graphs_of_up_to_five_vertices_and_many_random_ones() -> None:
    assert compare(cut_graphs(6, 600)) > 2_000
    crowded = [nx.gnp_random_graph(40, p, seed=seed) for p in (0.1, 0.3, 0.7) for seed in range(12)]
    heavy = [nx.barabasi_albert_graph(80, 3, seed=seed) for seed in range(12)]
    shapes = [two_stars(Graph.from_networkx(each)) for each in crowded + heavy]
    assert compare([(stars, cap) for stars in shapes for cap in caps_of(stars)]) > 200


def test_whatever_prices_and_weights_are_nothing_is_certified_beyond_the_tolerance() -> None:
    generator = np.random.default_rng(8)
    accepted = refused = 0
    for stars, cap in cut_graphs(0, 12):
        exact = PackedPatterns(stars).truncated(cap).value
        program = star_program(stars, cap)
        prices, scale, weights = next(descending_prices(program))
        for size in (0.0, 1e-6, 1e-4, 1e-2, 1.0):
            spoilt = np.clip(prices + generator.normal(size=len(prices)) * size * scale, 0, 1.9 * scale)
            value = certified_stars(PricedStars(program, spoilt.astype(np.int64), scale), weights)
            if value is None:
                refused += 1
            else:
                accepted += 1
                assert exact - PACKED.slack * cap <= value.value <= exact + PACKED.slack * cap
    assert accepted > 50 and refused > 50


def test_without_newtons_method_a_plain_descent_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_two_stars, "descending_prices", lambda _: iter(()))
    clique, star = (two_stars(Graph.from_networkx(plain)) for plain in (nx.complete_graph(4), nx.star_graph(4)))
    assert compare([(clique, 4), (clique, 8), (star, 3)]) == 3


def test_a_plain_descent_goes_on_until_it_is_certified() -> None:
    program = star_program(two_stars(Graph.from_networkx(nx.complete_graph(4))), 4)
    values = list(islice(plain_descent(program), 24))
    assert values[0] is None and any(value is not None for value in values)


HOSTILE = {
    "star": (nx.star_graph(20_000), lambda cap: cap),
    "clique": (nx.complete_graph(60), lambda cap: 60 * cap / 3),
    "bipartite": (nx.complete_bipartite_graph(30, 100), None),
    "double star": (nx.Graph([(hub, leaf) for hub in (0, 1) for leaf in range(2, 4_000)]), None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_graphs_take_no_more_memory_than_their_edges(name: str) -> None:
    plain, value = HOSTILE[name]
    graph = Graph.from_networkx(plain)
    stars = two_stars(graph)
    tracemalloc.start()
    for cap in (int(stars.loads.max()) // 2, int(stars.loads.max()) // 50):
        mine = TwoStars(stars).truncated(cap).value / PACKED.steps
        if value is not None:
            assert value(cap) - 1e-3 <= mine <= value(cap) + cap / 1024
        assert 0 < mine < stars.total
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000 * graph.edges + 2**20


def test_a_hub_moves_the_count_by_no_more_than_the_cap() -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(150, 4, seed=5))
    hub = int(graph.degrees().argmax())
    for cap in (100, 600):
        move = TwoStars(two_stars(graph)).truncated(cap).value
        move -= TwoStars(two_stars(without_vertex(graph, hub))).truncated(cap).value
        assert PACKED.steps * cap / 2 < move <= PACKED.sensitivity(cap)


def test_totals_are_exact_beyond_64_bits() -> None:
    values = np.array([2**61 + 1, 5, 2**60 + 3])
    assert exact_totals(values, np.array([2**30, 7, 1]), np.array([0, 1, 0]), 2) == [
        2**30 * (2**61 + 1) + 2**60 + 3,
        35,
    ]


def test_mixtures_are_means() -> None:
    mixture = Mixture.starting_at(64, 2**20)
    assert sum(mixture.parts()) == pytest.approx(1)
    program = star_program(two_stars(Graph.from_networkx(nx.star_graph(5))), 9)
    loads, total, unit = mixture.exact_loads(PricedStars(program, np.zeros(program.rows, np.int64), 2**20))
    assert (
        total
        == pytest.approx(
            10
            * unit
            * sum(
                p * min(1, 1 / (c.width / 2**20) + 1 / 3) for p, c in zip(mixture.parts(), mixture.clips, strict=True)
            ),
            rel=1e-4,
        )
        and max(loads) == total
    )
