"""Planted vertices in published graphs, and counts that differ by an edge: what is told, what is not, and mutants."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import discreet as dp
from discreet import attack, graphs
from discreet.attack import Control, Outcome, Planting, balanced_pairs, edge_differencing, planted, without_names
from discreet.attack.graphs import _search
from discreet.attack.graphs._edges import are_joined
from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.counts import Triangles, triangles
from discreet.mechanisms import DiscreteLaplace

ALARM = 1e-9
"""How often a check of chance fails where nothing is wrong."""
GRAPH = Graph.from_networkx(nx.powerlaw_cluster_graph(600, 6, 0.3, seed=1))


def is_chance(outcome: Outcome, chance: float = 0.5) -> bool:
    low, high = binom.interval(1 - ALARM, outcome.targets, chance)
    return bool(low <= outcome.right <= high)


def planting(count: int = 100, graph: Graph = GRAPH) -> Planting:
    return Planting.random(graph.vertices, balanced_pairs(graph, count))


def session_over(graph: Graph) -> dp.Session:
    vertex = {"type": "int", "bounds": [0, graph.vertices - 1], "nullable": False}
    policy = {
        "version": "1",
        "budget": {"epsilon": 1},
        "tables": {"ties": {"unit": "rows", "columns": {"a": vertex, "b": vertex}}},
        "graphs": {"town": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
    }
    return dp.connect({"ties": graph.to_arrow()}, policy)


def tells_nearly_all(outcome: Outcome) -> bool:
    """What the attack on a list without names has to reach: and its control has to be what the pairs make it."""
    return outcome.success >= 0.95 and outcome.baseline == 0.5 and outcome.false_claims == 0


def as_table(graph: Graph, name: Callable[[int], Any]) -> pa.Table:
    a, b = ([name(each) for each in column] for column in graph.ends[::-1].T.tolist())
    return pa.table({"from": b, "to": a})


def test_a_list_without_names_tells_the_targeted_edges() -> None:
    plan = planting()
    data = plan.into(GRAPH)
    assert (data.vertices, data.edges) == (
        600 + plan.size,
        GRAPH.edges + int(plan.inside.sum()) // 2 + int(plan.links.sum()),
    )
    published = without_names(data)
    assert published.ends.tolist() != data.ends.tolist()
    assert sorted(published.degrees()) == sorted(data.degrees())
    releases: list[Any] = [
        published,
        nx.Graph(published.ends.tolist()),
        as_table(published, lambda v: f"user {v * 7919 % 1000}-{v}"),
        as_table(published, lambda v: -v).to_pandas(),
    ]
    for release, truth, tolerance in zip(releases, [GRAPH, data] * 2, [0, 0, None, 2], strict=True):
        outcome = planted(release, plan, truth, tolerance=tolerance)
        assert tells_nearly_all(outcome)
        assert outcome.claims == outcome.targets == 100
        assert outcome.evidence.column_names == ["a", "b", "claimed", "guess", "right"]
        assert outcome.evidence.select(["a", "b"]).to_pydict() == dict(zip("ab", plan.pairs.T.tolist(), strict=True))


def test_a_synthetic_graph_does_not_tell_them() -> None:
    plan = planting(400)
    with session_over(plan.into(GRAPH)) as session:
        release = graphs.open(session, "town").synthetic(spend=dp.pure(1))
    for published in (release, release.graph, release.to_arrow()):
        outcome = planted(published, plan, GRAPH)
        assert (outcome.claims, outcome.right, outcome.advantage) == (0, 200, 0)
    nearest = planted(release, plan, GRAPH, tolerance=None)
    assert nearest.claims and nearest.claims > 100
    assert is_chance(nearest)


def test_a_list_of_other_people_tells_nothing_though_the_planted_are_there() -> None:
    """Edges of both graphs are coins: what is guessed by the wrong one is right for half."""
    one, two = (Graph.from_networkx(nx.gnp_random_graph(150, 0.5, seed=seed)) for seed in (1, 2))
    plan = planting(600, one)
    outcome = planted(without_names(plan.into(two)), plan, one)
    assert outcome.claims == 600
    assert is_chance(outcome)
    assert tells_nearly_all(planted(without_names(plan.into(one)), plan, one))


def test_without_the_planted_vertices_nothing_is_claimed() -> None:
    plan = planting()
    for published in (GRAPH, Graph(600, np.empty((0, 2), np.int64)), Graph.from_pairs([(0, 1)], 2)):
        outcome = planted(published, plan, GRAPH)
        assert (outcome.claims, outcome.success) == (0, 0.5)
        assert planted(published, plan, GRAPH, tolerance=None).targets == 100


def test_unrecognised_pairs_are_guessed_as_most_are() -> None:
    ring = Graph.from_pairs([(i, (i + 1) % 50) for i in range(50)])
    for pairs, share in (([(0, 1), (1, 2), (5, 9)], 2 / 3), ([(0, 1), (1, 3), (5, 9), (8, 4)], 3 / 4)):
        outcome = planted(ring, Planting.random(50, pairs), ring)
        assert (outcome.success, outcome.baseline, outcome.claims) == (share, share, 0)


def test_a_tolerance_recognises_what_was_changed_a_little() -> None:
    plan = planting()
    first, second = next(
        (i, j) for i, j in itertools.combinations(range(plan.size), 2) if j > i + 1 and plan.inside[i, j]
    )
    published = without_names(plan.into(GRAPH).toggled(600 + first, 600 + second))
    assert planted(published, plan, GRAPH, tolerance=2).claims == 0
    for tolerance in (3, None):  # an edge less, and two degrees
        assert tells_nearly_all(planted(published, plan, GRAPH, tolerance=tolerance))


def test_walks_are_those_of_a_search_over_all_orders() -> None:
    dice, several = np.random.default_rng(1), 0
    for _ in range(20):
        graph = Graph.from_networkx(nx.gnp_random_graph(7, 0.5, seed=int(dice.integers(2**31))))
        plan, degrees = Planting.random(7, [(0, 1)], size=4), dice.integers(2, 5, 4)
        off = {order: differs(graph, order, plan.inside, degrees) for order in itertools.permutations(range(7), 4)}
        least = min(off.values())
        for tolerance in (0, 1, 4):
            walks = _search._walks(_search._Neighbours.of_graph(graph), plan.inside, degrees, tolerance)
            expected = {order for order, each in off.items() if each == least <= tolerance}
            several += len(expected) > 1
            assert {tuple(each) for each in walks.tolist()} == expected
    assert several


def differs(graph: Graph, order: tuple[int, ...], inside: Any, degrees: Any) -> float:
    """By how much the vertices in this order differ from those planted; infinite where the path is broken."""
    joined = set(map(tuple, graph.ends.tolist()))
    inner = {(i, j): tuple(sorted((order[i], order[j]))) in joined for i, j in itertools.combinations(range(4), 2)}
    if not all(inner[i, i + 1] for i in range(3)):
        return math.inf
    off = sum(bool(inside[i, j]) != each for (i, j), each in inner.items())
    return off + int(np.abs(graph.degrees()[list(order)] - degrees).sum())


def test_plantings_are_random_and_recognisable() -> None:
    pairs = balanced_pairs(GRAPH, 200)
    plans = [Planting.random(600, pairs) for _ in range(20)]
    assert {plan.size for plan in plans} == {math.ceil(2.1 * math.log2(600))} == {20}
    data = plans[0].into(GRAPH)
    assert data.degrees()[600:].tolist() == plans[0].degrees.tolist()
    for plan in plans:
        assert plan.inside.diagonal(1).all() and plan.links.sum(axis=1).min() >= 1
        assert plan.links.sum(axis=1).max() <= 3
        assert len(np.unique(plan.links, axis=0)) == len(plan.targets)
    assert coins_are_fair(plans)
    many = Planting.random(3000, balanced_pairs(Graph.from_pairs([(2 * i, 2 * i + 1) for i in range(1500)]), 3000))
    assert len(many.targets) == 3000 and many.size > math.ceil(2.1 * math.log2(3000))


def coins_are_fair(plans: list[Planting]) -> bool:
    coins = np.concatenate([plan.inside[np.triu_indices(plan.size, 2)] for plan in plans])
    low, high = binom.interval(1 - ALARM, len(coins), 0.5)
    return bool(low <= coins.sum() <= high)


def test_balanced_pairs_are_half_edges_and_all_different() -> None:
    pairs = balanced_pairs(GRAPH, 1000)
    assert are_joined(GRAPH, pairs).tolist() == [True] * 500 + [False] * 500
    assert len(np.unique(np.sort(pairs, axis=1), axis=0)) == 1000
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert pairs.tolist() != balanced_pairs(GRAPH, 1000).tolist()
    clique = Graph.from_pairs([(a, b) for a in range(9) for b in range(a)])
    with pytest.raises(ParameterError, match="too few"):
        balanced_pairs(clique, 2)


def common_neighbours(graph: Graph, pairs: Any) -> Any:
    matrix = nx.to_numpy_array(nx.Graph(graph.ends.tolist()), nodelist=range(graph.vertices))
    return (matrix @ matrix)[pairs[:, 0], pairs[:, 1]]


def edges_of(graph: Graph, count: int) -> Any:
    """Edges whose ends have common neighbours, so that they move the number of triangles."""
    moving = graph.ends[common_neighbours(graph, graph.ends) > 0]
    return moving[np.random.default_rng(1).permutation(len(moving))[:count]]


def test_exact_counts_tell_an_edge() -> None:
    pairs = balanced_pairs(GRAPH, 60)
    by_edges = edge_differencing(lambda graph: graph.edges, GRAPH, pairs, statistic=lambda graph: graph.edges)
    assert (by_edges.success, by_edges.baseline) == (1, 0.5)
    assert by_edges.evidence["moved"].to_pylist() == [1] * 60
    falling = edge_differencing(lambda graph: -graph.edges, GRAPH, pairs, statistic=lambda graph: -graph.edges)
    assert falling.success == 1
    for after in (None, triangles):
        outcome = edge_differencing(triangles, GRAPH, pairs, after=after)
        moving = np.array(outcome.evidence["moved"].to_pylist()) > 0
        assert moving.any()
        assert np.array(outcome.evidence["right"].to_pylist())[moving].all()
        assert not np.array(outcome.evidence["guess"].to_pylist())[~moving].any()
        assert outcome.evidence["moved"].to_pylist() == common_neighbours(GRAPH, pairs).tolist()


VILLAGE = Graph.from_networkx(nx.relaxed_caveman_graph(6, 20, 0.1, seed=1))
EPSILON = 0.5


def within_the_loss(outcome: Outcome, epsilon: float = EPSILON) -> bool:
    """Whether so many right guesses can come from answers that are ε-private, but for the alarm."""
    return bool(outcome.right <= binom.isf(ALARM, outcome.targets, 1 / (1 + math.exp(-epsilon))))


def test_counts_through_the_ledger_do_not_tell_an_edge() -> None:
    """ε = 0.1 allows 52.5 % to be right, and 38 of 40 at the alarm."""

    def count(graph: Graph) -> float:
        with session_over(graph) as session:
            return graphs.open(session, "town").count("triangles", spend=dp.pure(0.1)).value

    pairs = edges_of(VILLAGE, 40)
    exact, private = (edge_differencing(ask, VILLAGE, pairs) for ask in (triangles, count))
    assert exact.success == 1 and not within_the_loss(exact, 0.1)
    assert within_the_loss(private, 0.1)
    assert private.evidence["moved"].to_pylist() == exact.evidence["moved"].to_pylist()


def test_the_same_question_again_tells_no_more() -> None:
    """One answer, drawn once: asked thirty times it is still that one, and has cost once."""
    with session_over(VILLAGE) as session:
        town = graphs.open(session, "town")
        answers = {town.count("triangles", spend=dp.pure(EPSILON)).value for _ in range(30)}
        assert len(answers) == 1 and session.spent == dp.pure(EPSILON)


@pytest.mark.parametrize("pairs", [edges_of(VILLAGE, 200), balanced_pairs(VILLAGE, 200)])
def test_answers_that_have_nothing_to_do_with_the_edge_are_chance(pairs: Any) -> None:
    """Common neighbours foretell an edge of the graph itself; the coin makes that knowledge worthless."""
    noise = DiscreteLaplace(scale=1000)
    assert is_chance(edge_differencing(lambda _: 6000 + noise.release(0), VILLAGE, pairs))
    assert is_chance(edge_differencing(lambda _: 5421, VILLAGE, pairs))


def test_a_coin_that_is_the_graphs_own_edge_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the coin, pairs are guessed by what is known of the rest, and the control would be too low."""
    pairs = balanced_pairs(VILLAGE, 300)
    joined = are_joined(VILLAGE, pairs)

    class Fixed:
        def coins(self, *_: Any) -> Any:
            return joined

    monkeypatch.setattr(sys.modules["discreet.attack.graphs._edges"], "fresh_draws", Fixed)
    assert not is_chance(edge_differencing(lambda _: 9000, VILLAGE, pairs))


@pytest.mark.parametrize("scale", ["1", "1/ε"])
def test_noise_that_forgets_the_sensitivity_is_caught(scale: str) -> None:
    """A pair has up to twenty common neighbours: noise of one unit, or of 1/ε, is no cover for them."""
    noise = DiscreteLaplace(scale=1 if scale == "1" else 1 / EPSILON)
    pairs = edges_of(VILLAGE, 200)
    outcome = edge_differencing(lambda graph: triangles(graph) + noise.release(0), VILLAGE, pairs)
    assert not within_the_loss(outcome)
    private = graphs.SmoothCount(Triangles(VILLAGE.vertices), EPSILON)
    assert within_the_loss(edge_differencing(private.release, VILLAGE, pairs))


# Broken attacks are caught: what is asked of the true ones above, they do not pass.


def test_a_control_that_sees_the_release_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planting()
    published = without_names(plan.into(GRAPH))
    assert tells_nearly_all(planted(published, plan, GRAPH))
    monkeypatch.setattr(_search, "Control", lambda share: Control(1.0 if share else share))
    assert not tells_nearly_all(planted(published, plan, GRAPH))


def test_targets_that_were_not_linked_are_refused_and_would_not_be_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planting()
    links = plan.links.copy()
    links[::2] = False
    for broken in (links, plan.links[np.zeros(len(links), np.int64)]):
        with pytest.raises(ParameterError, match="linked"):
            Planting(600, plan.pairs, plan.inside, broken)
        with monkeypatch.context() as patched:
            patched.setattr(Planting, "__post_init__", lambda _: None)
            unlinked = Planting(600, plan.pairs, plan.inside, broken)
        outcome = planted(without_names(unlinked.into(GRAPH)), unlinked, GRAPH)
        assert not tells_nearly_all(outcome)
        assert outcome.claims is not None and outcome.claims < 60


def test_an_attacker_who_reads_names_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """By numbers all would be right in a list with names; without them nothing is."""
    plan = planting()
    data = plan.into(GRAPH)
    monkeypatch.setattr(_search, "_recognised", lambda *_: plan.pairs)
    assert tells_nearly_all(planted(data, plan, GRAPH))
    assert not tells_nearly_all(planted(without_names(data), plan, GRAPH))


def test_a_fallback_that_sees_the_truth_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planting(400)
    joined = are_joined(GRAPH, plan.pairs)
    outcome = planted(GRAPH, plan, GRAPH)
    assert is_chance(outcome)
    guesses = _search._guesses
    monkeypatch.setattr(_search, "_guesses", lambda *given, usual: (joined, guesses(*given, usual=usual)[1]))
    assert not is_chance(planted(GRAPH, plan, GRAPH))


def test_a_planting_without_coins_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["discreet.attack.graphs._planting"]
    draws = module.fresh_draws()

    class Loaded:
        def coins(self, _: Any, size: int) -> Any:
            return draws.coins(1, size) & (draws.below(3, size) > 0)

    monkeypatch.setattr(module, "fresh_draws", Loaded)
    assert not coins_are_fair([planting() for _ in range(20)])


def test_a_search_that_forgets_edges_or_degrees_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twelve planted vertices, in a graph whose degrees are nearly the same."""
    ring = Graph.from_networkx(nx.connected_watts_strogatz_graph(200, 6, 0.2, seed=1))
    plans = [Planting.random(200, [(0, 1), (5, 9)], size=12) for _ in range(15)]

    def claims() -> int:
        return sum(planted(without_names(plan.into(ring)), plan, ring).claims == 2 for plan in plans)

    assert claims() >= 8
    walks = _search._walks
    with monkeypatch.context() as patched:
        patched.setattr(_search, "_walks", lambda g, inside, degrees, t: walks(g, inside, degrees + 1, t))
        assert claims() < 8
    with monkeypatch.context() as patched:
        patched.setattr(_search, "_walks", lambda g, inside, degrees, t: walks(g, np.ones_like(inside), degrees, t))
        assert claims() < 8


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Planting.random(600, []), "pairs"),
        (lambda: Planting.random(600, [(1, 1)]), "different"),
        (lambda: Planting.random(600, [(1, 600)]), "599"),
        (lambda: Planting.random(600, [(1, 2), (2, 1)]), "once"),
        (lambda: Planting.random(600, [(0.5, 1)]), "integers"),
        (lambda: Planting.random(600, [(1, 2)], size=3), "size"),
        (lambda: Planting.random(600, [(2 * i, 2 * i + 1) for i in range(100)], size=6), "enough"),
        (lambda: planting().into(Graph.from_pairs([(0, 1)])), "600"),
        (lambda: planted(GRAPH, planting(), Graph.from_pairs([(0, 1)])), "truth"),
        (lambda: planted(GRAPH, planting(), GRAPH, tolerance=-1), "tolerance"),
        (lambda: planted(3, planting(), GRAPH), "table"),
        (lambda: planted(pa.table({"a": [1], "b": [2], "c": [3]}), planting(), GRAPH), "two columns"),
        (lambda: balanced_pairs(GRAPH, 7), "even"),
        (lambda: balanced_pairs(GRAPH, 0), "even"),
        (lambda: edge_differencing(triangles, GRAPH, [(0, 0)]), "different"),
        (lambda: edge_differencing(lambda _: math.nan, GRAPH, [(0, 1)]), "finite"),
        (lambda: Planting(9, np.array([[0, 1]]), np.eye(4, dtype=bool), np.ones((2, 4), bool)), "joined both ways"),
        (lambda: Planting(9, np.array([[0, 1]]), np.ones((4, 4), bool), np.ones((3, 4), bool)), "shape"),
        (lambda: Planting(9, np.array([[0, 1]]), np.ones((4, 4)), np.ones((2, 4), bool)), "truth values"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_asked_is_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()


def test_the_outcome_is_explained_as_any_other() -> None:
    plan = planting()
    words = planted(without_names(plan.into(GRAPH)), plan, GRAPH).explain()
    assert "planted subgraph: 100 of 100" in words and "100 claims, of which 0 are false" in words
    assert "no advantage" in attack.planted(GRAPH, plan, GRAPH).explain()
    assert repr(plan).startswith("<Planting of 20 vertices for ")
