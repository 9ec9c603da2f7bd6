"""Truncated counts move by at most the cap when a vertex goes, and are the counts where nothing is cut."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog
from tests.graphs.node.neighbours import (
    edges,
    remembered,
    removals,
    small,
    three_stars,
    triangles,
    two_stars,
)
from tests.graphs.small import labelled

from discreet.graphs import Graph, counts
from discreet.graphs.node import HALF_EDGES, PACKED, PackedPatterns, Resolution, Stars, Triangles, edge_flow
from discreet.graphs.node._interior_point import Packing, solve_packing
from discreet.graphs.node._patterns import Groups, Patterns
from discreet.graphs.node._simplex import exact_packing
from discreet.graphs.node._truncation import certified, exactly

CASES = {
    "edges": (edges, HALF_EDGES, lambda graph: graph.edges, lambda graph: graph.degrees()),
    "triangles": (triangles, PACKED, counts.triangles, lambda graph: Triangles(graph.vertices, graph.ends).loads),
    "two_stars": (two_stars, PACKED, counts.stars, lambda graph: Stars(graph.vertices, graph.ends, 2).loads),
    "three_stars": (
        three_stars,
        PACKED,
        lambda graph: counts.stars(graph, 3),
        lambda graph: Stars(graph.vertices, graph.ends, 3).loads,
    ),
}
CAPS = {"edges": (1, 2, 3, 4), "triangles": (1, 2, 3, 5), "two_stars": (1, 3, 6), "three_stars": (2, 5)}


def check(name: str, graphs: Iterable[Graph], caps: Iterable[int]) -> int:
    value, resolution, count, loads = CASES[name]
    value = remembered(value)
    tight = 0
    for graph in graphs:
        exact, most = count(graph), loads(graph).max(initial=0)
        for cap in caps:
            mine = value(graph, cap)
            if most <= cap:
                assert mine == resolution.steps * exact
            assert 0 <= mine <= resolution.steps * exact + resolution.slack * cap
            for _, fewer in removals(graph):
                move = mine - value(fewer, cap)
                assert -resolution.slack * cap <= move <= resolution.sensitivity(cap)
                tight += move >= resolution.steps * cap
    return tight


@pytest.mark.parametrize("name", CASES)
def test_lipschitz_on_all_graphs_of_up_to_five_vertices_and_random_ones(name: str) -> None:
    assert check(name, small(5, drawn=3), CAPS[name]) > 0


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
def test_lipschitz_on_all_graphs_of_up_to_six_vertices_all_with_names_up_to_five_and_1000_random_ones(
    name: str,
) -> None:
    check(name, small(6, drawn=1_000), CAPS[name])
    check(name, labelled(5), CAPS[name])


def program(patterns: list[tuple[int, ...]], n: int, cap: int) -> float:
    """The linear program as it stands, one variable for each pattern, by HiGHS."""
    if not patterns:
        return 0.0
    matrix = np.array([[vertex in pattern for pattern in patterns] for vertex in range(n)], float)
    return -linprog(-np.ones(len(patterns)), A_ub=matrix, b_ub=np.full(n, cap), bounds=(0, 1)).fun


def patterns_of(name: str, graph: Graph) -> list[tuple[int, ...]]:
    plain = nx.Graph(graph.ends.tolist())
    near = {v: sorted(plain[v]) if v in plain else [] for v in range(graph.vertices)}
    match name:
        case "edges":
            return list(map(tuple, graph.ends.tolist()))
        case "triangles":
            return [
                t for t in combinations(range(graph.vertices), 3) if all(plain.has_edge(*p) for p in combinations(t, 2))
            ]
        case "two_stars":
            return [(v, *leaves) for v in near for leaves in combinations(near[v], 2)]
        case _:
            return [(v, *leaves) for v in near for leaves in combinations(near[v], 3)]


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_that_of_the_linear_program(name: str) -> None:
    value, resolution, *_ = CASES[name]
    cut = 0
    for graph in small(3, drawn=15):
        patterns = patterns_of(name, graph)
        for cap in CAPS[name]:
            exact = program(patterns, graph.vertices, cap)
            above = value(graph, cap) / resolution.steps - exact
            assert -1e-6 <= above <= resolution.slack * cap / resolution.steps + 1e-6
            cut += exact < len(patterns) - 0.5
    assert cut > 8


def grouped(patterns: Patterns, cap: int) -> Groups:
    return patterns.groups(patterns.loads > cap)


def cut_cases() -> list[tuple[Groups, int, int]]:
    graphs = list(small(0, drawn=14))
    shapes = [(Triangles(g.vertices, g.ends), 2) for g in graphs] + [(Stars(g.vertices, g.ends, 2), 5) for g in graphs]
    cases = [(grouped(shape, cap), shape.vertices, cap) for shape, cap in shapes]
    return [(groups, n, cap) for groups, n, cap in cases if 0 < len(groups.members) <= 40]


def test_the_exact_method_gives_a_feasible_optimum() -> None:
    cases = cut_cases()
    assert len(cases) > 8
    for groups, n, cap in cases:
        weights, prices = exact_packing(groups.members, groups.multiplicity, n, cap)
        m = [Fraction(int(each)) for each in groups.multiplicity]
        rows = [[v for v in row if v < n] for row in groups.members.tolist()]
        assert all(0 <= x <= 1 for x in weights) and all(y >= 0 for y in prices)
        for v in range(n):
            assert sum(k * x for k, x, row in zip(m, weights, rows, strict=True) if v in row) <= cap
        primal = sum(k * x for k, x in zip(m, weights, strict=True))
        assert primal == cap * sum(prices) + sum(
            k * max(Fraction(0), 1 - sum(prices[v] for v in row)) for k, row in zip(m, rows, strict=True)
        )


def test_whatever_a_solver_returns_no_value_is_certified_beyond_the_tolerance() -> None:
    generator = np.random.default_rng(4)
    accepted = 0
    for groups, n, cap in cut_cases():
        exact = exactly(groups, n, cap)
        good = solve_packing(groups.members, groups.multiplicity, n, cap, cap / 8192)
        for size in (0, 1e-5, 1e-3, 1e-2, 1):
            spoilt = Packing(
                good.weights + size * generator.normal(size=len(good.weights)),
                good.prices + size * generator.normal(size=n),
            )
            value = certified(groups, spoilt, n, cap)
            if value is not None:
                accepted += 1
                assert exact.value - 1 < value.value <= exact.value + PACKED.slack * cap
                smaller = max(cap - 1, 1)
                less = exactly(groups, n, smaller).value if smaller < cap else exact.value
                assert less - 1 <= value.value - value.slope * (cap - smaller)
            else:
                assert size > 0
    assert accepted > 15
    nothing = Packing(np.full(len(groups.members), np.nan), np.full(n, np.inf))
    assert certified(groups, nothing, n, cap) is None


def test_without_a_certificate_the_exact_method_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    triangle = PackedPatterns(Triangles(4, np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])))
    usual = triangle.truncated(2).value
    monkeypatch.setattr(
        "discreet.graphs.node._truncation.solvers",
        lambda: (lambda g, n, c: Packing(np.zeros(len(g.members)), np.zeros(n)),),
    )
    exact = -(-PACKED.steps * 8 // 3)
    assert triangle.truncated(2).value == exact and 0 <= usual - exact <= PACKED.slack * 2


def test_large_multiplicities_are_summed_in_integers_of_any_size() -> None:
    groups = Groups(np.array([[0, 1]]), np.array([2**55]), 2**54)
    value = certified(groups, Packing(np.array([0.5]), np.array([1.0, 0.0])), 2, 2**54)
    assert value is not None and value.value == PACKED.steps * 2**55


def test_values_are_concave_and_rise_with_the_cap() -> None:
    for graph in small(0, drawn=20):
        flows = [edge_flow(graph, cap) for cap in range(12)]
        steps = np.diff(flows)
        assert (steps >= 0).all() and (np.diff(steps) <= 0).all() and flows[-1] == 2 * graph.edges


def test_resolutions() -> None:
    assert (Resolution(1024, 1).sensitivity(3), Resolution(1024, 1).weight(3)) == (3075, 3078)
