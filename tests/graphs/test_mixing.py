"""Mixing by a public attribute: exact numbers, which attributes there are, what an edge moves, and mistakes in it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from small import labelled

import discreet as dp
from discreet import graphs
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.graphs import Graph, GraphMixing
from discreet.graphs.edge import _mixing
from discreet.mechanisms import DiscreteLaplace
from discreet.policy import load_policy
from discreet.release import ReleaseContext, Terms, verify_loss

CLUB = nx.karate_club_graph()
SIDES = ["Mr. Hi", "Officer"]


def policy_with(people: dict[str, Any] | None = None, budget: dict[str, Any] | None = None, **more: Any) -> Any:
    vertex = {"type": "int", "bounds": [0, 33], "nullable": False}
    columns = {"id": {"type": "int"}, "side": {"type": "string", "keys": SIDES}}
    return {
        "version": "1",
        "budget": budget or {"epsilon": 1000},
        "tables": {
            "ties": {"unit": "rows", "columns": {"a": vertex, "b": vertex}},
            "people": people or {"public": True, "key": "id", "columns": columns},
            **more,
        },
        "graphs": {"club": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
    }


def source(sides: dict[int, Any] | None = None, pairs: Any = None) -> dict[str, pa.Table]:
    a, b = zip(*(CLUB.edges if pairs is None else pairs), strict=True)
    known = {v: CLUB.nodes[v]["club"] for v in CLUB} if sides is None else sides
    return {
        "ties": pa.table({"a": a, "b": b}),
        "people": pa.table({"id": pa.array(list(known), pa.int64()), "side": list(known.values())}),
    }


@pytest.fixture(scope="module")
def release() -> GraphMixing:
    with dp.connect(source(), policy_with()) as session:
        return graphs.open(session, "club").mixing("side", spend=dp.pure(60))


def test_with_hardly_any_noise_it_is_the_mixing_matrix(release: GraphMixing) -> None:
    assert release.to_arrow().to_pydict() == {
        "a": ["Mr. Hi", "Mr. Hi", "Officer"],
        "b": ["Mr. Hi", "Officer", "Officer"],
        "edges": [35, 11, 32],
        "pairs": [136, 289, 136],
    }
    ends = nx.attribute_mixing_matrix(CLUB, "club", normalized=False, mapping={"Mr. Hi": 0, "Officer": 1})
    matrix = release.matrix()[:2, :2]
    assert (matrix + np.diag(np.diag(matrix)) == ends).all()
    assert release.assortativity == pytest.approx(nx.attribute_assortativity_coefficient(CLUB, "club"))
    assert (release.values, release.sizes, release.error()) == ((*SIDES, None), (17, 17, 0), 0)
    assert "assortativity 0.718" in release.note() and "Officer" in str(release)
    spec = release.to_vega_lite()
    assert json.dumps(spec, allow_nan=False) and spec["title"]["text"] == "Edges of club by side and other side"


def test_vertices_without_a_value_have_none_and_the_order_of_rows_does_not_count() -> None:
    sides = {0: "Mr. Hi", 1: None, 2: "stranger", 3: "Officer"}
    tables = source(sides, [(0, 1), (0, 2), (0, 3), (4, 5), (1, 1), (3, 0)])
    twice = pa.concat_tables([tables["people"], pa.table({"id": [3, 0, 99], "side": ["Mr. Hi", "Officer", "Officer"]})])
    for people in (twice, twice.take(list(range(len(twice)))[::-1])):
        with dp.connect({**tables, "people": people}, policy_with()) as session:
            mixed = graphs.open(session, "club").mixing("PEOPLE.side", spend=dp.pure(60))
        assert mixed.sizes == (2, 0, 32)
        assert mixed.matrix().tolist() == [[1, 0, 2], [0, 0, 0], [2, 0, 1]]
        assert mixed.to_arrow().to_pydict()["b"] == ["Mr. Hi", None, None]


@pytest.mark.parametrize(
    ("column", "of_vertex"),
    [
        ({"type": "int", "keys": {"from": 1, "to": 3}}, lambda v: v % 3 + 1),
        ({"type": "int", "keys": [1, 2, 3], "bounds": [0, 9]}, lambda v: v % 3 + 1),
        ({"type": "bool"}, lambda v: v % 3 == 0),
        ({"type": "bool", "nullable": False}, lambda v: v % 3 == 0),
    ],
)
def test_attributes_of_other_types(column: dict[str, Any], of_vertex: Callable[[int], Any]) -> None:
    policy = policy_with({"public": True, "columns": {"id": {"type": "int", "bounds": [0, 33]}, "kind": column}})
    policy["graphs"]["club"]["nodes"] = "people.id"
    people = pa.table({"id": list(CLUB), "kind": [of_vertex(v) for v in CLUB]})
    with dp.connect({**source(), "people": people}, policy) as session:
        mixed = graphs.open(session, "club").mixing("kind", spend=dp.pure(60))
    nx.set_node_attributes(CLUB, {v: str(of_vertex(v)) for v in CLUB}, "kind")
    assert mixed.assortativity == pytest.approx(nx.attribute_assortativity_coefficient(CLUB, "kind"))
    assert GraphMixing.from_bytes(mixed.to_bytes()).values == mixed.values


def test_vertices_that_are_listed() -> None:
    names = {"type": "string", "keys": ["ann", "bob", "cy"]}
    policy = policy_with(
        {"public": True, "key": "name", "columns": {"name": {"type": "string"}, "old": {"type": "bool"}}}
    )
    policy["tables"]["ties"]["columns"] = {"a": names, "b": names}
    tables = {
        "ties": [("ann", "bob"), ("bob", "cy"), ("cy", "eve")],
        "people": [("cy", True), ("ann", True), ("eve", True)],
    }
    columns = {"ties": ("a", "b"), "people": ("name", "old")}
    tables = {k: pa.table(dict(zip(columns[k], zip(*rows, strict=True), strict=True))) for k, rows in tables.items()}
    with dp.connect(tables, policy) as session:
        mixed = graphs.open(session, "club").mixing("old", spend=dp.pure(60))
    assert mixed.sizes == (0, 2, 1) and mixed.matrix()[1].tolist() == [0, 0, 2]


def test_a_plan_is_free_and_its_error_is_the_release_s() -> None:
    with dp.connect(source(), policy_with()) as session:
        club = graphs.open(session, "club")
        plan = club.plan("mixing", dp.pure(1), attribute="side")
        assert isinstance(plan, graphs.MixingPlan) and session.spent.epsilon() == 0
        assert plan.numbers == 6 and plan.error() == 3 < plan.error(together=6)
        assert "± 3 for each number" in plan.explain() and "6 numbers" in plan.explain() and "by 1" in plan.explain()
        assert plan.to_dict()["values"] == SIDES and len(plan.cells()) == plan.shown_rows == 2 and str(plan)
        release = club.mixing("side", dp.pure(1))
        assert (plan.error(0.9), plan.loss, len(release.noisy)) == (release.error(0.9), release.loss, plan.numbers)
        for ask, words in (
            (lambda: club.plan("mixing", dp.pure(1)), "name it as attribute"),
            (lambda: club.plan("edges", dp.pure(1), attribute="side"), "leave it out"),
            (lambda: club.plan("mixing", dp.pure(1), attribute="side", cap="public"), "no cap"),
            (lambda: club.plan("mixing", dp.pure(1), {"sensitivity": 3}, attribute="side"), "nothing to assume"),
            (lambda: plan.error(together=7), "from 1 to 6"),
            (lambda: plan.error(1), "level"),
        ):
            with pytest.raises(ParameterError, match=words):
                ask()
        with pytest.raises(QueryError, match="no public attribute"):
            club.plan("mixing", dp.pure(1), attribute="shoe")
    policy = policy_with()
    policy["graphs"]["club"]["directed"] = True
    plan = graphs.plan(load_policy(policy), "club", "mixing", dp.pure(1), attribute="side")
    assert isinstance(plan, graphs.MixingPlan) and plan.numbers == 9 and "one arc" in plan.explain()


PLACES = {"public": True, "key": "id", "columns": {"id": {"type": "int"}, "side": {"type": "int", "keys": [1]}}}


def with_column(name: str, **column: Any) -> dict[str, Any]:
    """The policy, one column of its public table another one."""
    return policy_with({**PLACES, "columns": {**PLACES["columns"], name: column}})


@pytest.mark.parametrize(
    ("attribute", "policy", "words"),
    [
        ("shoe", policy_with(), "no public attribute 'shoe'.*people.side"),
        ("id", policy_with(), "no public attribute"),
        (3, policy_with(), "named by a text"),
        ("side", policy_with(places=PLACES), "2 public tables"),
        ("side", policy_with({"unit": "rows", "columns": {"id": {"type": "int"}}}), "declare a table with public"),
        ("side", policy_with({**PLACES, "key": None}), "declare a table"),
        ("side", with_column("id", type="string"), "declare a table"),
        ("side", with_column("side", type="string"), "list its keys"),
        ("side", with_column("side", type="int", keys={"from": 1, "to": 1001}), "group them"),
        ("side", with_column("side", type="date", keys=["2026-01-01"]), "texts, whole numbers"),
    ],
)
def test_what_is_no_attribute_is_refused_before_the_charge(attribute: Any, policy: Any, words: str) -> None:
    tables = {**source(), "places": source()["people"]}
    with dp.connect({name: tables[name] for name in policy["tables"]}, policy) as session:
        with pytest.raises(QueryError, match=words):
            graphs.open(session, "club").mixing(attribute, spend=dp.pure(1))
        assert session.spent.epsilon() == 0


def test_a_name_that_two_tables_have_is_said_with_its_table() -> None:
    places = pa.table({"id": [0], "side": [1]})
    with dp.connect({**source(), "places": places}, policy_with(places=PLACES)) as session:
        mixed = graphs.open(session, "club").mixing("places.side", spend=dp.pure(60))
    assert mixed.sizes == (1, 33)


def test_people_are_not_protected_by_it() -> None:
    policy = policy_with()
    policy["graphs"]["club"]["protects"] = "node"
    policy["tables"]["ties"]["unit"] = "ends"
    with dp.connect(source(), policy) as session, pytest.raises(QueryError, match="protects people"):
        graphs.open(session, "club").mixing("side", spend=dp.pure(1))


@pytest.mark.parametrize(
    ("budget", "spend", "charged"),
    [
        ({"epsilon": 2, "delta": 1e-6}, dp.approx(1, 1e-7), dp.pure(1)),
        ({"rho": 2}, dp.rho("0.5"), dp.rho("0.5")),
        ({"mu": 2}, dp.mu(1), dp.mu(1)),
    ],
)
def test_it_is_charged_once_in_any_currency(budget: dict[str, Any], spend: dp.Loss, charged: dp.Loss) -> None:
    with dp.connect(source(), policy_with(budget=budget)) as session:
        club = graphs.open(session, "club")
        first, second = (club.mixing("side", spend=spend) for _ in range(2))
        assert first.loss == charged and first.noisy.tolist() == second.noisy.tolist()
        assert session.spent.fits(charged)
        verify_loss(first.certificate)
        with pytest.raises(ParameterError):
            club.mixing("side", spend=1)  # type: ignore[arg-type]


def test_it_is_stored_read_and_verified(release: GraphMixing, tmp_path: Path) -> None:
    release.save(tmp_path / "mixing.json")
    read = dp.release.load(tmp_path / "mixing.json")
    assert isinstance(read, GraphMixing) and read.to_json() == release.to_json()
    verify_loss(read.certificate)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(noise={"mechanism": "DiscreteLaplace", "scale": "1/61"}),
        lambda c: c.update(noise={"mechanism": "Laplace", "scale": "1"}),
        lambda c: c.update(loss=dp.privacy.to_json(dp.pure(59))),
        lambda c: c.update(protects="node"),
        lambda c: c.update(relation="substitute"),
        lambda c: c.pop("noise"),
    ],
)
def test_a_certificate_that_was_changed_is_refused(release: GraphMixing, change: Any) -> None:
    certificate = json.loads(json.dumps(dict(release.certificate)))
    change(certificate)
    with pytest.raises(LedgerError):
        verify_loss(certificate)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["noisy"].pop(),
        lambda s: s.update(noisy=[0.5] * 6),
        lambda s: s.update(values=["a", "a", None]),
        lambda s: s.update(values=["a", "b", "c"]),
        lambda s: s.update(values=["a", [], None]),
        lambda s: s.update(sizes=[1, 2]),
        lambda s: s.update(sizes=[1, 2, -3]),
        lambda s: s.update(attribute=3),
        lambda s: s.update(noise={}),
    ],
)
def test_a_file_that_was_changed_is_refused(release: GraphMixing, change: Any) -> None:
    stored = json.loads(release.to_bytes())
    change(stored)
    with pytest.raises(LedgerError):
        GraphMixing.from_bytes(json.dumps(stored).encode())


def mixing_of(matrix: list[list[int]], sizes: list[int], scale: int) -> GraphMixing:
    """A release of a matrix of edges, its noise drawn."""
    upper = np.array(matrix)[np.triu_indices(len(matrix))]
    mechanism = DiscreteLaplace(scale)
    noisy = np.array(mechanism.release(upper.tolist()), np.int64)
    values = (*map(str, range(len(matrix) - 1)), None)
    return GraphMixing("g", "t.c", values, tuple(sizes), mechanism, noisy, dp.pure(1), {})


def test_the_error_of_assortativity_is_that_of_many_draws() -> None:
    """400 draws. If coverage is .95, it is seen below .86 with probability 7e-11; a mean off by 7 errors has 3e-12."""
    matrix = [[20 + 300 * (i == j) if 9 not in (i, j) else 0 for j in range(10)] for i in range(10)]
    ends = np.array(matrix) + np.diag(np.diag(matrix))
    within, random = np.trace(matrix) * 2 / ends.sum(), ((ends.sum(axis=0) / ends.sum()) ** 2).sum()
    exact = (within - random) / (1 - random)
    draws = [mixing_of(matrix, [100] * 9 + [0], 30) for _ in range(400)]
    off = np.array([each.assortativity for each in draws], float) - exact
    stated = np.array([each.assortativity_error(0.95) for each in draws], float)
    assert np.mean(np.abs(off) <= stated) >= 0.86
    assert np.mean(np.abs(off) <= stated / 1.96 * 0.6) <= 0.65
    assert abs(off.mean()) < 7 * off.std() / 20
    naive = np.array([((each.matrix().sum(0) + np.diag(each.matrix())) ** 2.0).sum() for each in draws])
    assert naive.mean() > (ends.sum(axis=0) ** 2.0).sum()  # what noise adds, which is taken off


def test_assortativity_that_noise_leaves_nothing_of_is_none() -> None:
    for matrix in ([[-5, 0], [0, 0]], [[40, 0], [0, 0]]):
        mixed = GraphMixing(
            "g", "t.c", ("x", None), (9, 9), DiscreteLaplace(1), np.array([matrix[0][0], 0, 0]), dp.pure(1), {}
        )
        if matrix[0][0] < 0:
            assert mixed.assortativity is None and mixed.assortativity_error() is None
            assert "assortativity" not in mixed.note()
    for level in (0, 1, 1.5):
        with pytest.raises(ParameterError):
            mixed.error(level)
        with pytest.raises(ParameterError):
            mixed.assortativity_error(level)


KINDS = [1, 0, 1, 1, 2]
"""The places of values of five vertices."""


PEOPLE = {"public": True, "key": "id", "columns": {"id": {"type": "int"}, "k": {"type": "int", "keys": [0, 1, 2]}}}


def prepare(spend: dp.Loss) -> Any:
    return graphs.ReleaseMixing("club", "k", spend).prepare(Terms.of_policy(load_policy(policy_with(PEOPLE))))


def drawn(rows: list[tuple[int, int]], spend: dp.Loss, prepared: Any = None) -> tuple[list[int], float]:
    """The numbers that noise is added to, in a real answer, and the scale of the noise."""
    question = prepared or prepare(spend)
    ends = np.array(rows, np.int64).reshape(-1, 2)
    tables = {
        "ties": [ends[:, 0], ends[:, 1]],
        "people": [np.arange(5), np.array([question.attribute.values.index(each) for each in KINDS])],
    }

    def read(asked: Any, _: bytes) -> pa.Table:
        (name,) = asked.bounded.tables
        plan = question.table.plan if name == "ties" else question.attribute.plan
        return pa.table(dict(zip([each.column for each in plan.features], tables[name], strict=True)))

    seen: list[tuple[list[int], float]] = []

    def noisy(exact: Any, mechanism: Any) -> Any:
        seen.append((exact.tolist(), float(mechanism.scale)))
        return exact

    with patch.object(_mixing, "with_noise", noisy):
        question.answer(ReleaseContext(question.policy, refused, refused, dict, read))
    ((numbers, scale),) = seen
    return numbers, scale


def refused(*_: Any) -> Any:
    raise AssertionError("a graph is read by its rows")


def lost(rows: list[tuple[int, int]], more: list[tuple[int, int]], spend: dp.Loss) -> float:
    """The exact loss on two graphs that differ in an edge: the L1 distance by the scale of discrete Laplace noise."""
    (first, scale), (second, same) = (drawn(each, spend) for each in (rows, rows + more))
    if scale != same or len(first) != len(second):
        return math.inf
    return sum(abs(a - b) for a, b in zip(first, second, strict=True)) / scale


def test_the_loss_between_all_neighbours_of_five_vertices() -> None:
    """One edge moves exactly one number by 1, in all 1,024 graphs."""
    once = prepare(dp.pure(1))
    numbers = np.array([drawn(graph.ends.tolist(), dp.pure(1), once)[0] for graph in labelled(5)])
    every = np.arange(1024)
    for edge in range(10):
        assert (np.abs(numbers - numbers[every ^ (1 << edge)]).sum(axis=1) == 1).all()
    assert numbers.shape[1] == 10 and numbers.sum(axis=1).max() == 10
    assert lost([(0, 1)], [(1, 2)], dp.pure("0.5")) == pytest.approx(0.5)


_counts, _prices, _from_pieces = _mixing.mixing_counts, _mixing.additive_prices, Graph.from_pieces.__func__


def both_orders(graph: Graph, places: Any, values: int) -> Any:
    square = np.zeros((values, values), np.int64)
    np.add.at(square, tuple(places[graph.ends].T), 1)
    return (square + square.T).ravel()


def both_ends(graph: Graph, places: Any, values: int) -> Any:
    return np.bincount(places[graph.ends].ravel(), minlength=values).astype(np.int64)


def joined_values(graph: Graph, places: Any, values: int) -> Any:
    counts = _counts(graph, places, values)
    return counts[counts > 0]


def with_repeats(cls: Any, pieces: Any, vertices: int) -> Graph:
    """A repeat counts: as an edge between two vertices more."""
    rows = np.concatenate([*pieces])
    graph = _from_pieces(cls, [rows], vertices)
    extra = [[graph.vertices - 2 - 2 * i, graph.vertices - 1 - 2 * i] for i in range(len(rows) - graph.edges)]
    return _from_pieces(cls, [graph.ends, np.array(extra, np.int64).reshape(-1, 2)], graph.vertices)


MUTANTS: dict[str, tuple[list[tuple[int, int]], Any, str, Any]] = {
    "the matrix in both orders, each with noise for one": ([(0, 1)], _mixing, "mixing_counts", both_orders),
    "ends by their value, each with noise for one": ([(0, 1)], _mixing, "mixing_counts", both_ends),
    "pairs of values that are seen": ([(0, 4)], _mixing, "mixing_counts", joined_values),
    "twice the spend": ([(0, 1)], _mixing, "additive_prices", lambda _, norms: _prices(dp.pure(2), norms)),
    "repeats count": ([(0, 1), (1, 0)], Graph, "from_pieces", classmethod(with_repeats)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_loses_more_than_it_claims(name: str) -> None:
    more, where, attribute, broken = MUTANTS[name]
    assert lost([(0, 2)], more, dp.pure(1)) <= 1 + 1e-9
    with patch.object(where, attribute, broken):
        assert lost([(0, 2)], more, dp.pure(1)) > 1.05
