"""Graphs through a session: units, charges, free repeats, certificates, and the same integers on a ledger of edges."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import graphs
from discreet.errors import BudgetExceeded, LedgerError, ParameterError, PolicyError, QueryError
from discreet.graphs.counts import Triangles
from discreet.graphs.edge._question import prepare_degrees
from discreet.ledger import open_ledger, verify_release
from discreet.mechanisms import DiscreteLaplace
from discreet.policy import load_policy
from discreet.release import Terms, kind_of, parse_release_file, verify_loss

VERTEX = {"type": "int", "bounds": [0, 33], "nullable": False}
CLUB = nx.karate_club_graph()


def policy_with(
    budget: dict[str, Any] | None = None, vertex: dict[str, Any] | None = None, **graph: Any
) -> dict[str, Any]:
    column = VERTEX if vertex is None else vertex
    return {
        "version": "1",
        "budget": budget or {"epsilon": 100},
        "tables": {"ties": {"unit": "rows", "columns": {"a": column, "b": column}}},
        "graphs": {"club": {"edges": "ties", "ends": ["a", "b"], "protects": "edge", **graph}},
    }


def ties(pairs: list[tuple[Any, Any]] | None = None) -> dict[str, pa.Table]:
    a, b = zip(*(pairs or list(CLUB.edges)), strict=True)
    return {"ties": pa.table({"a": pa.array(a), "b": pa.array(b)})}


@dataclass(frozen=True)
class AlsoOfArcs:
    """A mechanism of the caller's, about arcs."""

    ledger_counts = "arcs"

    def loss(self) -> dp.Loss:
        return dp.pure(1)

    def release(self, value: graphs.Graph) -> int:
        return value.edges + int(DiscreteLaplace(1).release([0])[0])


EXACT = {
    "edges": 78,
    "components": 1,
    "largest degree": 17,
    "degeneracy": 4,
    "triangles": 45,
    "2-stars": 528,
    "3-stars": 1764,
    "4-cycles": 154,
    "4-cliques": 11,
}


def test_every_statistic_is_its_exact_value_with_hardly_any_noise() -> None:
    """ε of 60: an edge moves the 3-stars of this graph by 136 or more, so their noise is still a few units."""
    with dp.connect(ties(), policy_with({"epsilon": 10_000})) as session:
        club = graphs.open(session, "CLUB")
        for statistic, exact in EXACT.items():
            release = club.count(statistic, spend=dp.pure(60))
            assert abs(release.value - exact) <= (0 if release.error() is not None else 400)
            assert release.loss == dp.pure(60)
            verify_loss(release.certificate)
        assert club.count("density", spend=dp.pure(60)).value == pytest.approx(78 / 561)
        assert club.clustering(spend=dp.pure(60)).value == pytest.approx(0.2557, abs=0.2)
        degrees = club.degrees(spend=dp.pure(60))
        assert degrees.degrees().tolist() == sorted((d for _, d in CLUB.degree), reverse=True)
        assert degrees.to_arrow().to_pydict()["vertices"] == [1, 11, 6, 6, 3, 2, 1, 1, 1, 1, 1]
        assert degrees.distribution().sum() == 34


def test_loops_repeats_directions_and_strangers_do_not_count() -> None:
    pairs = [(0, 1), (1, 0), (0, 1), (2, 2), (1, 2), (0, 99), (-5, 3)]
    with dp.connect(ties(pairs), policy_with()) as session:
        assert graphs.open(session, "club").count("edges", spend=dp.pure(60)).value == 2


def test_vertices_are_listed_or_named_by_another_table() -> None:
    named = {"type": "string", "keys": ["ann", "bob", "cy"], "nullable": True}
    pairs = [("ann", "bob"), ("bob", "ann"), (None, "cy"), ("eve", "ann"), ("cy", "bob")]
    with dp.connect(ties(pairs), policy_with(vertex=named)) as session:
        release = graphs.open(session, "club").count("edges", spend=dp.pure(60))
        assert (release.value, release.vertices) == (2, 3)
    policy = policy_with(vertex={"type": "int", "bounds": [0, 99]}, nodes="people.id")
    policy["tables"]["people"] = {"unit": "rows", "columns": {"id": {"type": "int", "keys": [10, 20, 30, 40]}}}
    tables = {**ties([(10, 20), (20, 30), (30, 7), (40, 10)]), "people": pa.table({"id": [10, 20, 30, 40]})}
    with dp.connect(tables, policy) as session:
        release = graphs.open(session, "club").count("edges", spend=dp.pure(60))
        assert (release.value, release.vertices) == (3, 4)


def test_a_graph_without_edges_is_answered() -> None:
    empty = {"ties": pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})}
    with dp.connect(empty, policy_with()) as session:
        club = graphs.open(session, "club")
        assert club.count("edges", spend=dp.pure(60)).value == 0
        assert club.degrees(spend=dp.pure(30)).degrees().tolist() == [0] * 34


def test_a_repeated_question_is_free_and_another_is_not() -> None:
    with dp.connect(ties(), policy_with()) as session:
        club = graphs.open(session, "club")
        first, second = (club.count("triangles", spend=dp.pure(1)) for _ in range(2))
        assert first.value == second.value and session.spent == dp.pure(1)
        club.count("2-stars", spend=dp.pure(1))
        degrees = [club.degrees(spend=dp.pure(1)).noisy.tolist() for _ in range(2)]
        assert degrees[0] == degrees[1] and session.spent == dp.pure(3)


@pytest.mark.parametrize(
    ("budget", "spend"),
    [({"epsilon": 2}, dp.pure(1)), ({"epsilon": 2, "delta": 1e-6}, dp.approx(1, 1e-7)), ({"rho": 2}, dp.rho("0.5"))],
)
def test_currencies(budget: dict[str, Any], spend: dp.Loss) -> None:
    with dp.connect(ties(), policy_with(budget)) as session:
        club = graphs.open(session, "club")
        for statistic in ("edges", "triangles", "global clustering"):
            release = club.count(statistic, spend=dp.rho("0.1") if "rho" in budget else dp.approx("0.1", 1e-8))
            assert release.loss == (dp.rho("0.1") if "rho" in budget else dp.pure("0.1"))
            verify_loss(release.certificate)
        verify_loss(club.degrees(spend=spend).certificate)


def test_triangles_are_not_paid_in_mu() -> None:
    with dp.connect(ties(), policy_with({"mu": 2})) as session:
        club = graphs.open(session, "club")
        assert club.count("edges", spend=dp.mu(1)).loss == dp.mu(1)
        for ask in (club.clustering, lambda spend: club.count("triangles", spend=spend)):
            with pytest.raises(ParameterError, match="mu"):
                ask(spend=dp.mu(1))


def test_refusals_come_before_the_charge() -> None:
    with dp.connect(ties(), policy_with({"epsilon": 1})) as session:
        with pytest.raises(QueryError, match="no graph"):
            graphs.open(session, "enemies")
        club = graphs.open(session, "club")
        for statistic in ("pagerank", "1-stars", "2-cliques", "stars", "65-stars", None):
            with pytest.raises(QueryError, match="no statistic"):
                club.count(statistic, spend=dp.pure(1))  # type: ignore[arg-type]
        with pytest.raises(ParameterError):
            club.count("triangles", spend=1)  # type: ignore[arg-type]
        with pytest.raises(BudgetExceeded):
            club.count("triangles", spend=dp.pure(2))
        assert session.spent.epsilon() == 0


def test_an_edge_is_charged_to_a_ledger_of_edges_alone(tmp_path: Path) -> None:
    with (
        open_ledger(tmp_path / "people.ledger", dp.pure(1)) as people,
        pytest.raises(LedgerError, match="protects edges"),
    ):
        dp.connect(ties(), policy_with(), people)
    with dp.connect(ties(), policy_with(), tmp_path / "edges.ledger") as session:
        graphs.open(session, "club").count("edges", spend=dp.pure(1))
        with pytest.raises(LedgerError, match="counts the losses of edges"):
            session.sql("SELECT COUNT(*) AS n FROM ties", spend=dp.pure(1))
    plain = policy_with()
    del plain["graphs"]
    with pytest.raises(LedgerError, match="a policy is about people"):
        dp.connect(ties(), plain, tmp_path / "edges.ledger")


@pytest.mark.parametrize(
    "mechanism",
    [
        *(each(Triangles(34), 1) for each in (graphs.Ladder, graphs.SmoothCount)),
        graphs.RandomizedGraph(34, 1),
        AlsoOfArcs(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_mechanism_of_graphs_is_charged_to_a_ledger_of_what_it_counts_alone(mechanism: Any, tmp_path: Path) -> None:
    club, counts = graphs.Graph.from_networkx(CLUB), type(mechanism).ledger_counts
    people = {"version": "1", "budget": {"epsilon": 3}, "tables": {"ties": {"unit": "a", "columns": {"b": VERTEX}}}}
    people["tables"]["ties"] |= {"max_rows": 1, "columns": {"a": VERTEX, "b": VERTEX}}  # type: ignore[index]
    for policy, own in ((people, "people"), (policy_with(), "edges"), (policy_with(directed=True), "arcs")):
        with dp.connect(ties(), policy, tmp_path / f"{own}.ledger") as session:
            if counts != own:
                with pytest.raises(LedgerError, match=f"counts the losses of {own}"):
                    session.release(mechanism, club)
                assert session.spent.epsilon() == 0
                continue
            release = session.release(mechanism, club)
            assert session.spent == dp.pure(1) and release.certificate["counts"] == counts
            release.save(tmp_path / "release.json")
    file = parse_release_file((tmp_path / "release.json").read_bytes())
    with open_ledger(tmp_path / f"{counts}.ledger") as ledger:
        checks = {each.name: each.result for each in verify_release(file, ledger=ledger)}
    assert checks["charge"] == "good"


def test_a_certificate_of_arcs_is_of_no_ledger_of_edges(tmp_path: Path) -> None:
    with dp.connect(ties(), policy_with(), tmp_path / "edges.ledger") as session:
        with pytest.raises(ParameterError, match="no directions"):
            prepare_degrees(Terms.of_policy(load_policy(policy_with())), "club", dp.pure(1), "out")
        graphs.open(session, "club").degrees(spend=dp.pure(1)).save(tmp_path / "degrees.json")
    file = parse_release_file((tmp_path / "degrees.json").read_bytes())
    changed = replace(file, certificate={**file.certificate, "direction": "out"})
    with open_ledger(tmp_path / "edges.ledger") as ledger:
        (good,) = (each for each in verify_release(file, ledger=ledger) if each.name == "charge")
        (bad,) = (each for each in verify_release(changed, ledger=ledger) if each.name == "charge")
    assert good.result == "good" and bad.result == "bad" and "counts the losses of edges" in bad.meaning


def test_stars_beyond_what_floats_hold_are_refused_before_the_charge() -> None:
    wide = {"type": "int", "bounds": [0, 2_999_999], "nullable": False}
    with dp.connect(ties(), policy_with(vertex=wide)) as session:
        for statistic in ("64-stars", "64-cliques"):
            with pytest.raises(QueryError, match="count smaller ones"):
                graphs.open(session, "club").count(statistic, spend=dp.pure(1))
            with pytest.raises(ParameterError, match="count smaller ones"):
                dp.recommend(statistic, nodes=3_000_000, spend=dp.pure(1))
        assert session.spent.epsilon() == 0


def test_policies_without_graphs_have_the_digests_that_they_had() -> None:
    plain = policy_with()
    del plain["graphs"]
    policy = dp.policy.load_policy(plain)
    assert "graphs" not in repr(policy)
    assert policy.digest() == dp.policy.load_policy({**plain, "graphs": {}}).digest()
    assert policy.digest() != dp.policy.load_policy(policy_with()).digest()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p["graphs"]["club"].pop("protects"), "protects"),
        (lambda p: p["graphs"]["club"].update(protects="vertex"), "protects"),
        (lambda p: p["graphs"]["club"].update(edges="friends"), "no private table"),
        (lambda p: p["graphs"]["club"].update(ends=["a", "c"]), "two columns"),
        (lambda p: p["graphs"]["club"].update(ends=["a", "a"]), "two columns"),
        (lambda p: p["graphs"]["club"].update(ends=["a"]), "ends"),
        (lambda p: p["graphs"]["club"].update(nodes="people.id"), "people.id"),
        (lambda p: p["graphs"]["club"].update(max_degree=3), "max_degree"),
        (lambda p: p["graphs"]["club"].update(weights="w"), "unknown key"),
        (lambda p: p.update(relation="substitute"), "add_remove"),
        (lambda p: p["tables"]["ties"]["columns"].update(b={"type": "string"}), "one type"),
        (lambda p: p["tables"]["ties"]["columns"].update(a={"type": "int"}), "vertices are public"),
        (lambda p: p["tables"]["ties"].update(unit="a", max_rows=3), "every row"),
        (
            lambda p: (
                p["tables"].update(calls=p["tables"]["ties"] | {"unit": "ends"}),
                p["graphs"].update(other={"edges": "calls", "ends": ["a", "b"], "protects": "node"}),
            ),
            "a ledger each",
        ),
    ],
)
def test_a_policy_that_declares_no_graph_is_refused_with_a_remedy(change: Any, words: str) -> None:
    policy = policy_with()
    change(policy)
    with pytest.raises(PolicyError, match=words):
        dp.policy.load_policy(policy)


def test_a_cap_is_for_people() -> None:
    with dp.connect(ties(), policy_with()) as session:
        club = graphs.open(session, "club")
        for ask in (
            lambda: club.count("edges", dp.pure(1), cap="public"),
            lambda: club.degrees(dp.pure(1), cap="bought"),
        ):
            with pytest.raises(ParameterError, match="no cap"):
                ask()
        assert session.spent.epsilon() == 0


def test_plans_are_free_and_tell_errors_where_they_are_public() -> None:
    with dp.connect(ties(), policy_with()) as session:
        club = graphs.open(session, "club")
        assert club.plan("edges", spend=dp.pure(1)).error() == club.count("edges", spend=dp.pure(1)).error() == 3
        plan = club.plan("triangles", spend=dp.pure(1))
        assert plan.error() is None and "not public" in plan.explain()
        guess = club.plan("triangles", spend=dp.pure(1), assume={"sensitivity": 10})
        assert 25 < guess.error() < 40 and "if one edge moves it by 10" in guess.explain()
        assert guess.to_dict()["measured"] == plan.to_dict()["measured"]
        assert "32 in the worst" not in plan.explain() and "by 32 at most" in plan.explain()
        with pytest.raises(ParameterError, match="assume"):
            club.plan("triangles", spend=dp.pure(1), assume={"nodes": 4})
        assert session.spent == dp.pure(1)


def test_what_an_edge_is_to_a_person() -> None:
    with dp.connect(ties(), policy_with()) as session:
        club = graphs.open(session, "club")
        assert "ε = 5" in club.meaning(10, dp.pure("0.5")) or "5" in club.meaning(10, dp.pure("0.5"))
        with pytest.raises(ParameterError):
            club.meaning(0, dp.pure(1))


def test_releases_are_stored_read_and_verified(tmp_path: Path) -> None:
    with dp.connect(ties(), policy_with()) as session:
        club = graphs.open(session, "club")
        spend = dp.pure(1)
        releases = [club.count("triangles", spend), club.degrees(spend), club.clustering(spend)]
    for i, release in enumerate(releases):
        path = tmp_path / f"{i}.json"
        release.save(path)
        read = dp.release.load(path)
        assert type(read) is type(release) and read.to_json() == release.to_json()
        kind_of(release.certificate).verify_loss(release.certificate)
        assert str(release) and release.cells()


@pytest.mark.parametrize(
    ("key", "value"),
    [("epsilon", "2"), ("shape", 2), ("vertices", 7), ("mechanism", "Lap"), ("statistic", "walks"), ("epsilon", 1)],
)
def test_a_certificate_that_was_changed_is_refused(key: str, value: object) -> None:
    with dp.connect(ties(), policy_with()) as session:
        release = graphs.open(session, "club").count("triangles", spend=dp.pure(1))
    changed = json.loads(json.dumps(dict(release.certificate)))
    changed["measured"][0][key] = value
    with pytest.raises(LedgerError):
        verify_loss(changed)
    with pytest.raises(LedgerError):
        verify_loss({**release.certificate, "protects": "node"})


def test_degrees_that_lose_more_than_is_stated_are_refused() -> None:
    with dp.connect(ties(), policy_with()) as session:
        release = graphs.open(session, "club").degrees(spend=dp.pure(1))
    assert release.certificate["noise"] == {"mechanism": "DiscreteLaplace", "scale": "2"}
    with pytest.raises(LedgerError, match="costs more"):
        verify_loss({**release.certificate, "noise": {"mechanism": "DiscreteLaplace", "scale": "1"}})
    assert np.abs(release.noisy).max() < 17 + 60  # a tail of 1e-13 for each of 34
