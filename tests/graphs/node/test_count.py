"""Noisy counts with node privacy: within the spend, within the stated error, and refused by public terms alone."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from tests.graphs.node.laws import Computed

from discreet.errors import ParameterError
from discreet.graphs import Graph, counts
from discreet.graphs.node import NodeCount, Stars
from discreet.privacy import approx, mu, pure, rho

GRAPH = Graph.from_networkx(nx.gnp_random_graph(40, 0.2, seed=1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spend", [pure("0.5"), approx(1, "1e-6"), rho("0.1"), mu("0.5")])
@pytest.mark.parametrize("statistic", ["edges", "triangles", "stars", "components"])
@pytest.mark.parametrize("cap", ["public", "bought"])
def test_releases_in_each_currency_are_within_the_spend(spend, statistic, cap) -> None:
    count = NodeCount(statistic, 16, spend, cap)
    assert count.loss().fits(spend)
    release = count.release(GRAPH)
    assert release.cap in count.caps and release.noise == count.noise(release.cap)
    assert release.error(0.9) < release.error(0.99)
    assert (count.error() is None) == (cap == "bought")


@pytest.mark.parametrize(
    ("statistic", "true"),
    [
        ("edges", GRAPH.edges),
        ("triangles", counts.triangles(GRAPH)),
        ("stars", counts.stars(GRAPH, 2)),
        ("components", counts.components(GRAPH)),
    ],
)
def test_with_a_public_cap_the_error_is_what_is_stated(statistic, true) -> None:
    """Of 300 draws at level .9, the number outside is Bin(300, ≤ .1): 79 or more in 1e-9 of runs."""
    count = NodeCount(statistic, int(GRAPH.degrees().max()), pure(1), "public")
    half = count.error(0.9)
    assert half is not None
    tolerance = 0.0 if statistic == "edges" else count.largest_cap / 1024
    values = [count.release(GRAPH).value for _ in range(300)]
    assert sum(abs(value - true) > half + tolerance for value in values) < 79
    assert statistic != "edges" or half <= 2.4 * count.max_degree


def test_a_spend_without_end_gives_the_count_where_nothing_is_cut() -> None:
    for leaves in (2, 3):
        count = NodeCount("stars", int(GRAPH.degrees().max()), pure(10**9), "public", leaves)
        assert count.release(GRAPH).value == pytest.approx(counts.stars(GRAPH, leaves), abs=0.01)


def test_a_cap_is_chosen_near_what_the_graph_needs() -> None:
    """By the exact law of the choice: all degrees are 16, and the public bound is far above."""
    big = Graph.from_networkx(nx.random_regular_graph(16, 600, seed=2))
    count = NodeCount("edges", 4096, pure(2))
    law = dict(zip(count.caps, Computed(count, big).law, strict=True))
    assert law[16] > 0.5 and law[16] + law[32] + law[64] > 0.8
    assert sum(cap * chance for cap, chance in law.items()) < 8 * 16


def test_the_largest_cap_is_what_the_degree_implies() -> None:
    clique, star = Graph.from_networkx(nx.complete_graph(8)), Graph.from_networkx(nx.star_graph(7))
    for graph in (clique, star):
        for statistic, leaves in (("edges", 2), ("triangles", 2), ("stars", 2), ("stars", 3)):
            count = NodeCount(statistic, 7, pure(1), leaves=leaves)  # type: ignore[arg-type]
            loads = graph.degrees() if statistic == "edges" else count.extension(graph).patterns.loads  # type: ignore[union-attr]
            assert loads.max(initial=0) <= count.largest_cap
            assert graph is star or loads.max() == count.largest_cap


def test_numbers_beyond_64_bits_are_cut_above_any_cap() -> None:
    hub = Stars(130_001, np.column_stack([np.zeros(130_000, np.int64), np.arange(1, 130_001)]), 4)
    assert hub.total > 2**63 and hub.loads[:2].tolist() == [2**50, math.comb(129_999, 3)]
    groups = hub.groups(np.arange(hub.vertices) == 0)
    assert (groups.members[:, 0] == 0).all() and groups.multiplicity.tolist() == [2**50] and groups.free == 0


def test_the_caps_of_components_begin_at_four() -> None:
    assert NodeCount("components", 20, pure(1)).caps == (4, 8, 16, 20)
    for most in (1, 3, 4):
        assert (
            NodeCount("components", most, pure(1)).caps == (4,) == NodeCount("components", most, pure(1), "public").caps
        )


def test_an_empty_graph_is_answered() -> None:
    for statistic in ("edges", "triangles", "stars", "components"):
        for graph in (Graph.from_pairs([], 0), Graph.from_pairs([], 5)):
            assert np.isfinite(NodeCount(statistic, 4, pure(1)).release(graph).value)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, 2**21, True, 2.5, None])
def test_node_privacy_needs_a_public_bound_on_degrees(bad: object) -> None:
    with pytest.raises(ParameterError, match="public max_degree"):
        NodeCount("edges", bad, pure(1))  # type: ignore[arg-type]


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ParameterError, match="'edges', 'triangles', 'stars' or 'components'"):
        NodeCount("cliques", 4, pure(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'public' or 'bought'"):
        NodeCount("edges", 4, pure(1), "free")  # type: ignore[arg-type]
    for leaves in (1, 4, True):
        with pytest.raises(ParameterError, match="leaves"):
            NodeCount("stars", 4, pure(1), leaves=leaves)
    with pytest.raises(ParameterError, match="lower max_degree"):
        NodeCount("stars", 2**20, pure(1), leaves=3)
    with pytest.raises(ParameterError, match="spend"):
        NodeCount("edges", 4, 1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        NodeCount("edges", 4, pure("1e-30"))
