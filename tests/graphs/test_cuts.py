"""Cuts of a randomised graph: its exact law on small graphs, unbiased numbers with their errors, and mistakes in it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from small import labelled

import discreet as dp
from discreet import graphs
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.graphs import Graph, GraphCuts, RandomizedGraph
from discreet.graphs.edge import _randomized_graph
from discreet.graphs.edge._randomized_graph import packed_pairs, pairs_between, unpacked_pairs
from discreet.release import verify_loss

CLUB = nx.karate_club_graph()


class Chosen:
    """Draws whose coins are chosen by the test, and the probability of what was chosen."""

    def __init__(self, coins: tuple[bool, ...]) -> None:
        self.coins, self.probability = list(coins), Fraction(1)

    def packed_coins(self, p: Fraction, rows: int, bits: int) -> Any:
        taken = [[self.coins.pop(0) for _ in range(bits)] for _ in range(rows)]
        for each in np.ravel(taken):
            self.probability *= p if each else 1 - p
        return np.packbits(np.array(taken, bool), axis=1, bitorder="little")


Law = dict[bytes, Fraction]
Release = Callable[[RandomizedGraph, Graph], Any]


def law_of(mechanism: RandomizedGraph, graph: Graph, release: Release = RandomizedGraph.release, coins: int = 1) -> Law:
    """The exact distribution of the release: all outcomes of the coins of all pairs."""
    law: Law = defaultdict(Fraction)
    for outcome in product((False, True), repeat=coins * math.comb(graph.vertices, 2)):
        draws = Chosen(outcome)
        with patch.object(_randomized_graph, "fresh_draws", lambda draws=draws: draws):
            law[np.asarray(release(mechanism, graph)).tobytes()] += draws.probability
        assert not draws.coins
    assert sum(law.values()) == 1
    return law


def lost(first: Law, second: Law) -> float:
    if {key for key, p in first.items() if p} != {key for key, p in second.items() if p}:
        return math.inf
    return max(abs(math.log(first[key] / second[key])) for key in first if first[key])


@pytest.mark.parametrize("epsilon", ["0.5", 3])
def test_the_exact_loss_between_all_neighbours_of_four_vertices(epsilon: Any) -> None:
    mechanism = RandomizedGraph(4, epsilon)
    laws = [law_of(mechanism, graph) for graph in labelled(4)]
    losses = [lost(laws[i], laws[i ^ (1 << edge)]) for i in range(64) for edge in range(6)]
    claim = float(mechanism.epsilon)
    assert claim * 0.999 < min(losses) <= max(losses) <= claim
    assert lost(laws[0], laws[63]) == pytest.approx(6 * max(losses))


SETS = [([0], [1, 2, 3]), ([0, 1], [2, 3]), ([0, 1, 2], [1, 2, 3]), ([0, 1, 2, 3], [0, 1, 2, 3]), ([2], [2]), ([], [1])]


def test_numbers_are_unbiased_with_the_stated_standard_error_by_the_exact_law() -> None:
    mechanism = RandomizedGraph(4, 1)
    for graph in [*labelled(4)][::7]:
        law = law_of(mechanism, graph)
        for first, second in SETS:
            some, others = (np.isin(np.arange(4), each) for each in (first, second))
            exact = sum((a in first and b in second) or (b in first and a in second) for a, b in graph.ends.tolist())
            estimates = {
                key: mechanism.estimate(*pairs_between(np.frombuffer(key, np.uint8).reshape(4, 1), some, others))
                for key in law
            }
            mean = sum(float(p) * estimates[key].value for key, p in law.items())
            variance = sum(float(p) * (estimates[key].value - exact) ** 2 for key, p in law.items())
            assert mean == pytest.approx(exact, abs=1e-9)
            std = next(iter(estimates.values())).std
            assert math.sqrt(variance) == pytest.approx(std, abs=1e-7)


@pytest.mark.parametrize("n", [1, 8, 9, 37])
def test_pairs_between_sets_are_those_of_a_plain_search(n: int) -> None:
    rng = np.random.default_rng(n)
    pairs = [pair for pair in combinations(range(n), 2) if rng.random() < 0.4]
    graph = Graph.from_pairs(pairs or np.empty((0, 2), np.int64), n)
    rows = _randomized_graph._rows_of(graph)
    assert (unpacked_pairs(packed_pairs(rows), n) == rows).all()
    for _ in range(20):
        some, others = rng.random((2, n)) < rng.random()
        between = [(a, b) for a, b in combinations(range(n), 2) if (some[a] and others[b]) or (some[b] and others[a])]
        assert pairs_between(rows, some, others) == (len(set(between) & set(pairs)), len(between))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("pairs", [1, 10, 400])
def test_errors_hold_for_any_number_of_edges(pairs: int, level: float) -> None:
    """By the exact law: of the pairs that are joined some are lost, and of the others some are added."""
    for epsilon, share in product([0.1, 1, 4], [0, 0.1, 0.5, 1]):
        mechanism = RandomizedGraph(5, str(epsilon))
        q, edges = float(mechanism.flip), round(pairs * share)
        law = np.convolve(
            stats.binom.pmf(range(pairs - edges + 1), pairs - edges, q), stats.binom.pmf(range(edges + 1), edges, 1 - q)
        )
        off = np.array([abs(mechanism.estimate(ones, pairs).value - edges) for ones in range(pairs + 1)])
        bound = mechanism.estimate(0, pairs).error(level)
        assert law[off <= bound + 1e-9].sum() >= level
        assert bound <= 5 * mechanism.std(pairs) * stats.norm.ppf((1 + level) / 2) + 3


def policy_with(budget: dict[str, Any] | None = None, vertex: dict[str, Any] | None = None) -> dict[str, Any]:
    column = vertex or {"type": "int", "bounds": [0, 33], "nullable": False}
    return {
        "version": "1",
        "budget": budget or {"epsilon": 100},
        "tables": {"ties": {"unit": "rows", "columns": {"a": column, "b": column}}},
        "graphs": {"club": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
    }


def ties(pairs: Any = None) -> dict[str, pa.Table]:
    a, b = zip(*(CLUB.edges if pairs is None else pairs), strict=True)
    return {"ties": pa.table({"a": a, "b": b})}


@pytest.fixture(scope="module")
def release() -> GraphCuts:
    with dp.connect(ties(), policy_with()) as session:
        return graphs.open(session, "club").cuts(spend=dp.pure(4))


def test_any_cut_follows_from_one_release(release: GraphCuts) -> None:
    """Each is off by more than its error at 1 − 1e-11 with probability 1e-11."""
    sides = [[v for v in CLUB if CLUB.nodes[v]["club"] == side] for side in ("Mr. Hi", "Officer")]
    for first, second, exact in ((sides[0], None, 11), (sides[0], sides[0], 35), (range(34), range(34), 78)):
        cut = release.cut(first, second)
        assert abs(cut.value - exact) <= cut.error(1 - 1e-11)
    assert release.edges() == release.cut(range(34), range(34))
    assert release.cut([]).std == release.cut([]).value == release.cut([]).pairs == 0
    table = release.to_arrow()
    assert table.num_rows == int(np.bitwise_count(release.rows).sum())
    assert release.vertices == 34 and "flipped" in release.note() and "all vertices" in str(release)
    for strange in (34, -1, "ann", 0.5):
        with pytest.raises(ParameterError, match="no vertex"):
            release.cut([strange])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="level"):
        release.edges().error(1)


def test_a_larger_graph_within_its_errors() -> None:
    """20 cuts, each off by more with probability 1e-11; the sum of squares in standard errors has a free side."""
    plain = nx.gnp_random_graph(300, 0.05, seed=1)
    graph, mechanism = Graph.from_networkx(plain), RandomizedGraph(300, 2)
    rng, rows = np.random.default_rng(2), mechanism.release(graph)
    assert (rows[:, -1] >> 4 == 0).all()
    for _ in range(20):
        some = rng.random(300) < rng.random()
        cut = mechanism.estimate(*pairs_between(rows, some, ~some))
        assert abs(cut.value - nx.cut_size(plain, set(np.flatnonzero(some)))) <= cut.error(1 - 1e-11)


def test_vertices_are_called_as_in_the_data() -> None:
    named = {"type": "string", "keys": ["cy", "ann", "bob"]}
    with dp.connect(ties([("ann", "bob"), ("eve", "cy")]), policy_with(vertex=named)) as session:
        cuts = graphs.open(session, "club").cuts(spend=dp.pure(60))
    assert cuts.named == ("ann", "bob", "cy") and cuts.cut(["ann"], ["bob"]).pairs == 1
    assert GraphCuts.from_bytes(cuts.to_bytes()).named == cuts.named
    numbered = {"type": "int", "bounds": [10, 12]}
    with dp.connect(ties([(10, 12), (9, 11)]), policy_with(vertex=numbered)) as session:
        cuts = graphs.open(session, "club").cuts(spend=dp.pure(60))
    assert cuts.cut([10, 11], [12]).pairs == 2
    with pytest.raises(ParameterError, match="no vertex 0"):
        cuts.cut([0])


@pytest.mark.parametrize(
    ("budget", "spend", "charged"),
    [
        ({"epsilon": 2}, dp.pure(1), dp.pure(1)),
        ({"epsilon": 2, "delta": 1e-6}, dp.approx(1, 1e-7), dp.pure(1)),
        ({"rho": 2}, dp.rho("0.5"), dp.rho("0.5")),
    ],
)
def test_it_is_charged_once(budget: dict[str, Any], spend: dp.Loss, charged: dp.Loss) -> None:
    with dp.connect(ties(), policy_with(budget)) as session:
        club = graphs.open(session, "club")
        first, second = (club.cuts(spend=spend) for _ in range(2))
        assert first.to_json() == second.to_json() and charged == first.loss
        assert session.spent.fits(charged)
        verify_loss(first.certificate)


def test_refusals_come_before_the_charge() -> None:
    with dp.connect(ties(), policy_with({"mu": 1})) as session:
        with pytest.raises(ParameterError, match="mu"):
            graphs.open(session, "club").cuts(spend=dp.mu(1))
        with pytest.raises(ParameterError):
            graphs.open(session, "club").cuts(spend=1)  # type: ignore[arg-type]
    large = policy_with(vertex={"type": "int", "bounds": [0, 16_384]})
    with dp.connect(ties(), large) as session:
        with pytest.raises(ParameterError, match=r"16,384 vertices.*mixing"):
            graphs.open(session, "club").cuts(spend=dp.pure(1))
        assert session.spent.epsilon() == 0
    with dp.connect(ties(), policy_with()) as session, pytest.raises(ParameterError, match="epsilon"):
        graphs.open(session, "club").cuts(spend=dp.pure("0.0001"))
    people = policy_with()
    people["graphs"]["club"]["protects"] = "node"
    people["tables"]["ties"]["unit"] = "ends"
    with dp.connect(ties(), people) as session, pytest.raises(QueryError, match="protects people"):
        graphs.open(session, "club").cuts(spend=dp.pure(1))
    for vertices in (-1, True, 2.0):
        with pytest.raises(ParameterError):
            RandomizedGraph(vertices, 1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="3 vertices"):
        RandomizedGraph(3, 1).release(Graph.from_pairs([(0, 1)]))


def test_a_plan_is_free_and_its_errors_are_those_of_cuts() -> None:
    with dp.connect(ties(), policy_with()) as session:
        club = graphs.open(session, "club")
        plan = club.plan("cuts", dp.pure(1))
        assert isinstance(plan, graphs.CutsPlan) and session.spent.epsilon() == 0
        release = club.cuts(dp.pure(1))
        for first, second in (([0], None), (range(9), None), (range(5), range(5, 20)), ([], [1])):
            sizes = len(first), None if second is None else len(second)
            cut = release.cut(first, second)
            assert plan.std(*sizes) == cut.std and plan.error(*sizes, level=0.9) == cut.error(0.9)
        assert plan.loss == release.loss and plan.explain().count("±") == plan.shown_rows == len(plan.cells()) == 3
        assert [each["vertices"] for each in plan.to_dict()["cuts"]] == [1, 10, 17] and "flipped" in plan.explain()
        for sizes in ((35,), (-1,), (20, 15), (1.0,), (True,)):
            with pytest.raises(ParameterError, match="34 vertices in all"):
                plan.error(*sizes)  # type: ignore[arg-type]
        for ask in (
            lambda: club.plan("cuts", dp.pure(1), cap="public"),
            lambda: club.plan("cuts", dp.pure(1), attribute="side"),
            lambda: club.plan("cuts", dp.pure(1), {"sensitivity": 2}),
            lambda: club.plan("cuts", dp.mu(1)),
        ):
            with pytest.raises(ParameterError):
                ask()


def test_it_is_stored_read_and_verified(release: GraphCuts, tmp_path: Path) -> None:
    release.save(tmp_path / "cuts.json")
    read = dp.release.load(tmp_path / "cuts.json")
    assert isinstance(read, GraphCuts) and read.to_json() == release.to_json()
    verify_loss(read.certificate)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["noise"].update(epsilon="4.1"),
        lambda c: c["noise"].update(epsilon="5", flip=str(RandomizedGraph(34, 5).flip)),
        lambda c: c["noise"].update(flip="1/65536"),
        lambda c: c["noise"].update(mechanism="RandomizedResponse"),
        lambda c: c["noise"].update(epsilon="4" * 200),
        lambda c: c["noise"].pop("flip"),
        lambda c: c.update(vertices=2**20),
        lambda c: c.update(protects="node"),
        lambda c: c.update(loss=dp.privacy.to_json(dp.pure(3))),
    ],
)
def test_a_certificate_that_was_changed_is_refused(release: GraphCuts, change: Any) -> None:
    certificate = json.loads(json.dumps(dict(release.certificate)))
    change(certificate)
    with pytest.raises(LedgerError):
        verify_loss(certificate)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(pairs=s["pairs"][:-4]),
        lambda s: s.update(pairs=s["pairs"] + "AAAA"),
        lambda s: s.update(pairs="////" + s["pairs"][4:]),
        lambda s: s.update(pairs="?" + s["pairs"][1:]),
        lambda s: s.update(vertices=33),
        lambda s: s.update(vertices=True),
        lambda s: s.update(first=None),
        lambda s: s.update(first="0"),
        lambda s: s.update(first=None, named=["a"] * 34),
        lambda s: s.update(named=list(range(34))),
        lambda s: s["noise"].update(flip="1/3"),
        lambda s: s.update(graph=None),
    ],
)
def test_a_file_that_was_changed_is_refused(release: GraphCuts, change: Any) -> None:
    stored = json.loads(release.to_bytes())
    change(stored)
    with pytest.raises(LedgerError):
        GraphCuts.from_bytes(json.dumps(stored).encode())


def flipped(mechanism: RandomizedGraph, graph: Graph) -> Any:
    return RandomizedGraph.release(mechanism, graph)


def edges_alone(mechanism: RandomizedGraph, graph: Graph) -> Any:
    """Edges are left out at random, and none is added."""
    return flipped(mechanism, graph) & _randomized_graph._rows_of(graph)


def both_rows(mechanism: RandomizedGraph, graph: Graph) -> Any:
    """A pair is reported in the rows of both its ends, with coins of their own."""
    return np.concatenate([flipped(mechanism, graph), flipped(mechanism, graph)])


def with_edges(mechanism: RandomizedGraph, graph: Graph) -> Any:
    """The number of edges is released beside, so that no pair need be corrected."""
    return np.append(flipped(mechanism, graph), graph.edges)


def noisy_half(mechanism: RandomizedGraph, graph: Graph) -> Any:
    """Coins of half the probability."""
    with patch.object(_randomized_graph, "flip_probability", lambda epsilon: _flip(epsilon) / 2):
        return flipped(mechanism, graph)


def without_strangers(mechanism: RandomizedGraph, graph: Graph) -> Any:
    """Vertices without edges have no false ones."""
    rows = flipped(mechanism, graph)
    rows[graph.degrees() == 0] = 0
    return rows


_flip = _randomized_graph.flip_probability


@pytest.mark.parametrize(
    ("mutant", "coins"),
    [(edges_alone, 1), (both_rows, 2), (with_edges, 1), (noisy_half, 1), (without_strangers, 1)],
)
def test_a_mutant_loses_more_than_it_claims(mutant: Release, coins: int) -> None:
    mechanism, graph = RandomizedGraph(3, 1), Graph.from_pairs([(0, 1)], 3)
    seen = [law_of(mechanism, each, mutant, coins) for each in (graph, graph.toggled(0, 2))]
    assert lost(*seen) > 1.05
    sound = [law_of(mechanism, each) for each in (graph, graph.toggled(0, 2))]
    assert lost(*sound) <= 1
