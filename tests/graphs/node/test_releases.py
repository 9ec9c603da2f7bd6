"""Graphs of people through a session: what is read, refused, charged to a ledger of people, stored and verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet import census, graphs, synth
from discreet.errors import BudgetExceeded, DataError, LedgerError, ParameterError, PolicyError, QueryError
from discreet.graphs.node import edge_order
from discreet.graphs.node._table import PeopleTable, numbered_texts
from discreet.ledger import open_ledger
from discreet.release import kind_of, verify_loss

CLUB = nx.karate_club_graph()
WIDE = {"type": "int", "bounds": [0, 999]}
PERSON = {"type": "int", "bounds": [0, 99], "nullable": False}


def policy_with(
    budget: dict[str, Any] | None = None, person: dict[str, Any] | None = None, **graph: Any
) -> dict[str, Any]:
    column = person or PERSON
    return {
        "version": "1",
        "budget": budget or {"epsilon": 1_000_000},
        "tables": {
            "ties": {"unit": "ends", "columns": {"a": column, "b": column}},
            "people": {"unit": "id", "max_rows": 1, "columns": {"id": column}},
        },
        "graphs": {
            "club": {"edges": "ties", "ends": ["a", "b"], "protects": "node", "max_degree": 20, "nodes": "people.id"}
            | graph
        },
    }


def without_people(**graph: Any) -> dict[str, Any]:
    policy = policy_with(**graph)
    del policy["graphs"]["club"]["nodes"]
    return policy


def tables(pairs: list[tuple[Any, Any]] | None = None, people: list[Any] | None = None) -> dict[str, pa.Table]:
    a, b = zip(*(pairs or list(CLUB.edges)), strict=True)
    listed = list(range(40)) if people is None else people
    return {"ties": pa.table({"a": pa.array(a), "b": pa.array(b)}), "people": pa.table({"id": pa.array(listed)})}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[graphs.Graph, list[Any]]]:
    """Every graph that is read, with the names of its vertices."""
    seen: list[tuple[graphs.Graph, list[Any]]] = []
    real = PeopleTable.read

    def reading(table: PeopleTable, context: Any) -> tuple[graphs.Graph, list[Any]]:
        seen.append(real(table, context))
        return seen[-1]

    monkeypatch.setattr(PeopleTable, "read", reading)
    return seen


def named(graph: graphs.Graph, names: list[Any]) -> set[frozenset[Any]]:
    return {frozenset((names[a], names[b])) for a, b in graph.ends.tolist()}


@pytest.mark.parametrize("cap", ["public", "bought"])
def test_every_statistic_is_its_exact_value_with_hardly_any_noise(cap: Any) -> None:
    with dp.connect(tables(), policy_with()) as session:
        club = graphs.open(session, "CLUB")
        for statistic, exact in {
            "edges": 78,
            "triangles": 45,
            "2-stars": 528,
            "3-stars": 1764,
            "components": 7,
        }.items():
            release = club.count(statistic, spend=dp.pure(30_000), cap=cap)
            assert release.value == pytest.approx(exact, abs=4.7)  # the tolerance: 1/1024 of the largest cap, 4,560
            assert release.loss == dp.pure(30_000) and release.error() < 6
            verify_loss(release.certificate)
        degrees = club.degrees(spend=dp.pure(30_000), cap=cap)
        verify_loss(degrees.certificate)
    assert isinstance(degrees, graphs.NodePrivateDegrees)
    assert degrees.vertices == pytest.approx(40, abs=0.1)
    shares = [sum(d <= k for _, d in CLUB.degree) + 6 for k in range(4)]  # a block each
    assert (40 * degrees.cumulative[:4]).round(2).tolist() == shares
    low, high = degrees.band()
    assert (low <= degrees.cumulative + 1e-9).all() and (degrees.cumulative <= high + 1e-9).all()


def test_noise_at_a_public_cap_is_the_plan_s_and_a_bought_one_is_among_those_planned() -> None:
    with dp.connect(tables(), policy_with()) as session:
        club = graphs.open(session, "club")
        plan = club.plan("edges", spend=dp.pure(1), cap="public")
        release = club.count("edges", spend=dp.pure(1), cap="public")
        assert isinstance(plan, graphs.NodePlan) and isinstance(release, graphs.NodePrivateCount)
        assert plan.caps == (20,) and plan.error() == release.error() and release.cap == 20
        plan, release = club.plan("edges", spend=dp.pure(1)), club.count("edges", spend=dp.pure(1))
        assert isinstance(plan, graphs.NodePlan) and isinstance(release, graphs.NodePrivateCount)
        assert plan.caps == (1, 2, 4, 8, 16, 20) and plan.error(cap=release.cap) == release.error()
        assert "two fifths" in plan.explain() and len(plan.to_dict()["caps"]) == 6 and len(plan.cells()) == 6
        with pytest.raises(ParameterError, match="cap 3"):
            plan.error(cap=3)


def test_loops_repeats_directions_and_who_is_not_listed_do_not_count(read: list[Any]) -> None:
    pairs = [(10, 20), (20, 10), (10, 20), (30, 30), (20, 30), (10, 77), (-5, 10)]
    with dp.connect(tables(pairs, [10, 20, 30, 40]), policy_with()) as session:
        graphs.open(session, "club").count("edges", spend=dp.pure(1))
    with dp.connect(tables(pairs), without_people()) as session:
        graphs.open(session, "club").count("edges", spend=dp.pure(1))
    (graph, names), (other, others) = read
    assert names == [10, 20, 30, 40] and named(graph, names) == {frozenset((10, 20)), frozenset((20, 30))}
    assert others == [10, 20, 30, 77] and len(named(other, others)) == 3


def test_names_are_compared_by_value_whatever_the_order_of_their_keys(read: list[Any]) -> None:
    keys = ["ann", "bob", "cy", "dee"]
    policy = policy_with(person={"type": "string", "keys": keys})
    policy["tables"]["ties"]["columns"]["b"] = {"type": "string", "keys": keys[::-1]}
    pairs = [("ann", "bob"), ("bob", "ann"), (None, "cy"), ("eve", "ann"), ("cy", "bob")]
    with dp.connect(tables(pairs, ["ann", "bob", "cy"]), policy) as session:
        graphs.open(session, "club").count("edges", spend=dp.pure(1))
    ((graph, names),) = read
    assert names == ["ann", "bob", "cy"] and named(graph, names) == {
        frozenset(("ann", "bob")),
        frozenset(("bob", "cy")),
    }


def test_people_are_texts_that_no_policy_lists(read: list[Any]) -> None:
    policy = policy_with(person={"type": "string", "nullable": False})
    pairs = [("ann", "bob"), ("bob", "ann"), ("cy", "cy"), ("eve", "ann"), ("cy", "bob"), ("Bob", "bob ")]
    people = ["cy", "bob", "ann", "Bob", "", "bob "]
    for order in (1, -1):
        with dp.connect(tables(pairs[::order], people[::order]), policy) as session:
            club = graphs.open(session, "club")
            assert club.count("edges", dp.pure(100_000)).value == pytest.approx(3, abs=0.1)
            assert club.degrees(dp.pure(100_000)).vertices == pytest.approx(6, abs=0.2)  # type: ignore[union-attr]
            assert club.count("2-stars", dp.pure(100_000)).value == pytest.approx(1, abs=0.1)
            with pytest.raises(QueryError, match="lists no names"):
                club.count("3-stars", dp.pure(1))
    for graph, names in read:
        assert names == ["", "Bob", "ann", "bob", "bob ", "cy"]
        assert named(graph, names) == {frozenset(e) for e in (("ann", "bob"), ("bob", "cy"), ("Bob", "bob "))}
    policy["tables"]["ties"]["columns"]["a"] = {"type": "string", "keys": ["ann", "bob", "cy"]}
    with dp.connect(tables(pairs, people), policy) as session:
        graphs.open(session, "club").count("edges", dp.pure(1))
    graph, names = read[-1]
    assert named(graph, names) == {frozenset(e) for e in (("ann", "bob"), ("bob", "cy"))}


@pytest.mark.parametrize("parquet", [False, True])
def test_names_that_are_no_unicode_are_nobody(read: list[Any], tmp_path: Path, parquet: bool) -> None:
    """Engines write the same for each of them, and two people would be one vertex."""
    policy = policy_with(person={"type": "string", "nullable": False})
    people = [b"Jos\xe9", b"Jos\xe8", b"Jos?", "Jos\N{REPLACEMENT CHARACTER}".encode(), b"ann", b"bob"]
    pairs = [(person, b"ann") for person in people if person != b"ann"]
    data: dict[str, Any] = {
        name: pa.table({column: as_text(list(values)) for column, values in columns.items()})
        for name, columns in {
            "ties": {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]},
            "people": {"id": people},
        }.items()
    }
    if parquet:
        for name, table in data.items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
        data = {name: str(tmp_path / f"{name}.parquet") for name in data}
    with dp.connect(data, policy) as session:
        graphs.open(session, "club").count("edges", dp.pure(1))
    ((graph, names),) = read
    assert names == ["ann", "bob"] and named(graph, names) == {frozenset(("ann", "bob"))}


def as_text(values: list[bytes]) -> pa.Array:
    """Bytes that are called text, whatever they are."""
    raw = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def listed_policy(**graph: Any) -> dict[str, Any]:
    policy = policy_with(**graph)
    policy["tables"]["people"] = {"public": True, "columns": {"id": PERSON}}
    return policy


def test_components_of_people_who_stay_are_refused() -> None:
    with dp.connect(tables([(1, 2)], [1, 2]), listed_policy()) as session, pytest.raises(QueryError, match="stays"):
        graphs.open(session, "club").count("components", dp.pure(1))


def test_people_may_be_listed_in_public(read: list[Any], tmp_path: Path) -> None:
    """Then everybody is a vertex, and their number is exact; strangers are none."""
    with dp.connect(tables([(0, 1), (1, 2), (2, 77)], list(range(10))), listed_policy()) as session:
        club = graphs.open(session, "club")
        edges, degrees = club.count("edges", dp.pure(100_000)), club.degrees(dp.pure(1))
        exact = club.degrees(dp.pure(100_000), cap="public")
        with pytest.raises(QueryError, match="public tables alone"):
            session.sql("SELECT COUNT(*) AS n FROM people", spend=dp.pure(1))
    assert edges.value == pytest.approx(2, abs=0.1) and read[0][0].vertices == 10
    assert isinstance(degrees, graphs.NodePrivateDegrees) and isinstance(exact, graphs.NodePrivateDegrees)
    assert degrees.vertices == exact.vertices == 10 and "10 people, listed in public" in degrees.note()
    assert exact.cumulative[:3].tolist() == pytest.approx([0.7, 0.9, 1])
    low, high = degrees.band()
    assert (low <= high).all() and low[-1] == high[-1] == 1
    for i, release in enumerate((edges, degrees)):
        assert release.certificate["listed"] is True
        verify_loss(release.certificate)
        release.save(tmp_path / f"{i}.json")
        assert dp.release.load(tmp_path / f"{i}.json").to_json() == release.to_json()
    noise = {"mechanism": "DiscreteLaplace", "scale": "22"}  # 20 + 20/8 for a person who comes or goes
    public = {**exact.certificate, "noise": noise}
    assert kind_of(public).recompute_loss(public) == dp.pure("20/11")
    for changed in (False, 1, None):
        for each in (degrees.certificate, edges.certificate):
            with pytest.raises(LedgerError):
                verify_loss({**each, "listed": changed})
    with pytest.raises(LedgerError, match="never released"):
        verify_loss({**edges.certificate, "statistic": "components"})
    stored = json.loads(degrees.to_bytes())
    del stored["listed"]
    with pytest.raises(LedgerError):
        graphs.NodePrivateDegrees.from_bytes(json.dumps(stored).encode())


def test_a_part_of_the_people_is_not_listed_in_public() -> None:
    policy = listed_policy() | {"people": "customers", "part": "north"}
    with pytest.raises(PolicyError, match="the unit of a table"):
        dp.policy.load_policy(policy)


def test_no_two_texts_are_one_person() -> None:
    """Also those that are no valid UTF-8, as a Parquet file of Spark's may have, and those that hash alike."""
    column = pa.chunked_array([pa.array([b"a", b"\xff", b"\xed\xb3\xbf", b"a\0", b""]), pa.array([b"a"])])
    again = pa.chunked_array([pa.array([b"\xff", b"x" * 249, b"x" * 250])])
    (first, second), texts = numbered_texts([column, again])
    assert len(set(texts)) == len(texts) == 7
    assert first[0] == first[5] and second[0] == first[1] and second[1] >= 0 and second[2] == -1
    assert len({*first.tolist(), *second.tolist()}) == 7
    assert edge_order(graphs.Graph.from_pairs([(0, 1)], 7), texts, b"salt").tolist() == [0]
    assert [each.tolist() for each in numbered_texts([pa.chunked_array([[]], pa.string())])[0]] == [[]]


def test_without_a_person_the_graph_that_is_read_is_the_graph_without_the_vertex(read: list[Any]) -> None:
    draws = np.random.default_rng(3)
    pairs = [(int(a), int(b)) for a, b in draws.integers(0, 12, (40, 2))]
    for gone in range(12):
        fewer = [pair for pair in pairs if gone not in pair]
        for each, people in ((pairs, list(range(12))), (fewer, [i for i in range(12) if i != gone])):
            with dp.connect(tables(each, people), policy_with()) as session:
                graphs.open(session, "club").degrees(spend=dp.pure(1))
        (graph, names), (less, left) = read[-2:]
        assert left == [name for name in names if name != gone]
        assert named(less, left) == {edge for edge in named(graph, names) if gone not in edge}


def test_an_empty_graph_is_answered() -> None:
    empty = {name: pa.table({column: pa.array([], pa.int64()) for column in columns})
             for name, columns in {"ties": ("a", "b"), "people": ("id",)}.items()}  # fmt: skip
    with dp.connect(empty, policy_with()) as session:
        club = graphs.open(session, "club")
        assert abs(club.count("triangles", spend=dp.pure(100_000)).value) < 1
        degrees = club.degrees(spend=dp.pure(100_000))
        assert isinstance(degrees, graphs.NodePrivateDegrees) and degrees.vertices == 0
        assert degrees.cumulative.tolist() == [1] * (degrees.cap + 1) and np.isfinite(degrees.band()).all()


def test_no_query_of_rows_reads_the_edges_of_people() -> None:
    with dp.connect(tables(), policy_with({"epsilon": 2})) as session:
        for sql in (
            "SELECT COUNT(*) AS n FROM ties",
            "SELECT COUNT(*) AS n FROM people JOIN ties ON people.id = ties.a",
            "SELECT COUNT(*) AS n FROM people WHERE id IN (SELECT a FROM ties)",
            "SELECT COUNT(*) AS n FROM (SELECT a FROM ties) AS t",
        ):
            with pytest.raises(QueryError):
                session.sql(sql, spend=dp.pure(1))
        with pytest.raises(QueryError, match="two people"):
            session.records("SELECT a, b FROM ties")
        assert session.spent.epsilon() == 0
        session.sql("SELECT COUNT(*) AS n FROM people", spend=dp.pure(1))
        graphs.open(session, "club").count("edges", spend=dp.pure(1))
        assert session.spent == dp.pure(2)


def test_nothing_else_reads_the_edges_of_people() -> None:
    areas = pa.table({"a": ["1"]})
    land = census.Geography.of_areas(areas, ["a"], root="all")
    spec = census.Spec(table="ties", geography=land, tables={"t": ()}, shares={"all": 1, "a": 1})
    spend = dp.pure(1)
    with dp.connect(tables(), policy_with()) as session:
        for ask in (
            lambda: census.histogram(session, "a", table="ties", cells=100, spend=spend),
            lambda: census.marginals(session, "ties", spend, ways=1),
            lambda: census.publish(session, spec, spend),
            lambda: synth.fit(session, "ties", spend=spend),
            lambda: session.suggest("ties", "a", spend=spend),
            lambda: session.sql(session.table("ties").count(), spend=spend),
        ):
            with pytest.raises(QueryError, match="two people"):
                ask()
        assert session.spent.epsilon() == 0


def test_a_repeated_question_is_free_and_another_cap_is_not() -> None:
    with dp.connect(tables(), policy_with()) as session:
        club = graphs.open(session, "club")
        first, second = (club.count("triangles", spend=dp.pure(1)) for _ in range(2))
        assert first.to_json() == second.to_json() and session.spent == dp.pure(1)
        club.count("triangles", spend=dp.pure(1), cap="public")
        for _ in range(2):
            club.degrees(spend=dp.pure(1))
        assert session.spent == dp.pure(3)


@pytest.mark.parametrize(
    ("budget", "spend"),
    [
        ({"epsilon": 9}, dp.pure(1)),
        ({"epsilon": 9, "delta": 1e-5}, dp.approx(1, 1e-6)),
        ({"epsilon": 9, "delta": 1e-5}, dp.pure(1)),
        ({"rho": 2}, dp.rho("0.1")),
        ({"mu": 4}, dp.mu("0.5")),
    ],
)
def test_currencies(budget: dict[str, Any], spend: dp.Loss) -> None:
    with dp.connect(tables(), policy_with(budget)) as session:
        club = graphs.open(session, "club")
        for release in (
            club.count("edges", spend),
            club.count("2-stars", spend, cap="public"),
            club.count("components", spend),
            club.degrees(spend),
        ):
            assert release.loss == spend
            verify_loss(release.certificate)


def test_refusals_come_before_the_charge() -> None:
    with dp.connect(tables(), policy_with({"epsilon": 1})) as session:
        club = graphs.open(session, "club")
        for statistic in ("density", "degeneracy", "4-stars", "stars", "global clustering", None):
            with pytest.raises(QueryError, match="count edges, triangles"):
                club.count(statistic, spend=dp.pure(1))  # type: ignore[arg-type]
        with pytest.raises(QueryError, match="count edges, triangles"):
            club.clustering(spend=dp.pure(1))
        with pytest.raises(QueryError, match="privacy of edges alone"):
            club.synthetic(spend=dp.pure(1))
        with pytest.raises(ParameterError):
            club.count("triangles", spend=1)  # type: ignore[arg-type]
        for cap in ("mine", "", 0, False):
            with pytest.raises(ParameterError, match="cap must be"):
                club.count("triangles", spend=dp.pure(1), cap=cap)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="nothing to assume"):
            club.plan("triangles", spend=dp.pure(1), assume={"sensitivity": 3})
        with pytest.raises(BudgetExceeded):
            club.count("triangles", spend=dp.pure(2))
        assert session.spent.epsilon() == 0
    with dp.connect(tables(), policy_with(max_degree=None)) as session:
        for ask in (lambda club: club.count("edges", dp.pure(1)), lambda club: club.degrees(dp.pure(1))):
            with pytest.raises(ParameterError, match="declare a public max_degree"):
                ask(graphs.open(session, "club"))
    with dp.connect(tables(), without_people()) as session:
        with pytest.raises(QueryError, match=r'nodes = "people\.id"'):
            graphs.open(session, "club").degrees(spend=dp.pure(1))
        with pytest.raises(QueryError, match=r'components of club .* nodes = "people\.id"'):
            graphs.open(session, "club").count("components", spend=dp.pure(1))
        assert session.spent.epsilon() == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p["tables"]["ties"].update(unit="rows"), 'unit = "ends"'),
        (lambda p: p["tables"]["ties"].update(unit="a", max_rows=3), 'unit = "ends"'),
        (lambda p: p["tables"]["ties"].update(max_rows=3), "leave max_rows and"),
        (lambda p: p["tables"].update(calls={"unit": "ends", "columns": {"a": PERSON}}), "declare it under"),
        (lambda p: p["tables"]["people"].update(unit="rows", max_rows=None), "people of a table"),
        (lambda p: p.update(relation="substitute"), "add_remove"),
        (lambda p: p["tables"]["ties"]["columns"].update(a={"type": "int"}), "have public bounds"),
        (lambda p: p["graphs"]["club"].update(protects="edge"), 'unit = "rows"'),
        (lambda p: p["graphs"]["club"].update(max_degree=0), "max_degree"),
    ],
)
def test_a_policy_that_declares_no_graph_of_people_is_refused_with_a_remedy(change: Any, words: str) -> None:
    policy = policy_with()
    change(policy)
    with pytest.raises(PolicyError, match=words):
        dp.policy.load_policy(policy)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p["graphs"].update(CLUB=p["graphs"]["club"]), "case alone"),
        (lambda p: (p.update(part="north"), p["graphs"]["club"].pop("nodes")), "in that part"),
    ],
)
def test_graphs_that_cannot_be_told_apart_or_leave_their_part_are_refused(change: Any, words: str) -> None:
    policy = policy_with()
    change(policy)
    with pytest.raises(PolicyError, match=words):
        dp.policy.load_policy(policy)


@pytest.mark.parametrize("kind", ["date", "timestamp", "bool"])
def test_people_are_numbers_or_texts(kind: str) -> None:
    keys = [True, False] if kind == "bool" else ["2020-01-01", "2020-01-02"]
    with pytest.raises(PolicyError, match="whole numbers or texts"):
        dp.policy.load_policy(policy_with(person={"type": kind, "keys": keys}))


def test_bounds_within_which_two_people_could_become_one_are_refused() -> None:
    """Numbers are read on a grid of 30 bits: beyond it H = 2^40 and 2^40 + 1 are one."""
    for bounds in ([0, 2**41], [10**12, 10**12 + 99], [0, 2**63 - 1], [-(2**31), 0]):
        for policy in (policy_with(person={"type": "int", "bounds": bounds}), without_people()):
            policy["tables"]["ties"]["columns"]["b"] = {"type": "int", "bounds": bounds}
            with dp.connect(tables(), policy) as session:
                with pytest.raises(QueryError, match="read as one"):
                    graphs.open(session, "club").count("edges", spend=dp.pure(1))
                assert session.spent.epsilon() == 0
    widest = policy_with(person={"type": "int", "bounds": [-(2**30), 2**30]})
    with dp.connect(tables([(2**30, -(2**30))], [2**30, -(2**30)]), widest) as session:
        assert abs(graphs.open(session, "club").count("edges", spend=dp.pure(60_000)).value - 1) < 0.1


@pytest.mark.parametrize(
    "stored", [[1.2, 1.4, 2.0], ["1", "01", "2"], [True, False, True]], ids=["fractions", "texts", "truth values"]
)
def test_people_that_are_not_stored_as_declared_are_refused(stored: list[Any]) -> None:
    """1.2 and 1.4 would be one vertex, and two people of SQL."""
    ends = [(each, stored[-1]) for each in stored]
    for some in (tables(ends), tables(None, stored)):
        with pytest.raises(DataError, match="two people of a graph could be read as one"):
            dp.connect(some, policy_with())


def test_3_stars_are_counted_where_nobody_can_have_more_leaves_than_memory_holds() -> None:
    large = policy_with(person={"type": "int", "bounds": [0, 999_999]})
    with dp.connect(tables(), large) as session:
        with pytest.raises(QueryError, match="at most 169 possible people"):
            graphs.open(session, "club").count("3-stars", spend=dp.pure(1))
        assert session.spent.epsilon() == 0
        assert graphs.open(session, "club").count("2-stars", spend=dp.pure(1)).loss == dp.pure(1)


def test_no_size_is_told_where_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise MemoryError("an array of shape (60777, 60777)")

    with dp.connect(tables(), policy_with()) as session:
        monkeypatch.setattr("discreet.graphs.node._question.NodeCount.release", full)
        with pytest.raises(DataError, match="not enough memory") as caught:
            graphs.open(session, "club").count("edges", spend=dp.pure(1))
        assert caught.value.__context__ is None and caught.value.__cause__ is None
        assert session.spent == dp.pure(1)


def test_the_band_holds_the_degrees_of_the_cut_graph() -> None:
    """All degrees are 6: the shares leap from 0 to 1 inside a block. 18 or more of 30 miss at 90 % in 1e-10 of runs."""
    regular = nx.random_regular_graph(6, 200, seed=1)
    truth = np.array([0.0] * 6 + [1.0] * 7)
    missed, policy, sources = 0, policy_with(None, WIDE, max_degree=12), tables(list(regular.edges), list(range(200)))
    for _ in range(30):
        with dp.connect(sources, policy) as session:
            release = graphs.open(session, "club").degrees(spend=dp.pure(1), cap="public")
        assert isinstance(release, graphs.NodePrivateDegrees)
        low, high = release.band(0.9)
        missed += bool((truth < low - 1e-12).any() or (truth > high + 1e-12).any())
        assert (np.diff(low) >= 0).all() and (np.diff(high) >= 0).all() and (low <= high).all()
    assert missed < 18


def test_a_ledger_of_edges_refuses_people(tmp_path: Path) -> None:
    with (
        open_ledger(tmp_path / "edges.ledger", dp.pure(1), counts="edges") as edges,
        pytest.raises(LedgerError, match="people"),
    ):
        dp.connect(tables(), policy_with(), edges)


def test_releases_are_stored_read_drawn_and_verified(tmp_path: Path) -> None:
    with dp.connect(tables(), policy_with()) as session:
        club = graphs.open(session, "club")
        spend = dp.pure(1)
        releases = [club.count("triangles", spend), club.count("edges", spend, cap="public"), club.degrees(spend)]
    for i, release in enumerate(releases):
        path = tmp_path / f"{i}.json"
        release.save(path)
        read = dp.release.load(path)
        assert type(read) is type(release) and read.to_json() == release.to_json()
        kind_of(release.certificate).verify_loss(release.certificate)
        assert str(release) and release.cells()
    degrees = releases[-1]
    assert isinstance(degrees, graphs.NodePrivateDegrees)
    assert len(degrees.to_vega_lite()["data"]["values"]) == degrees.cap + 1
    assert degrees.to_arrow().num_rows == degrees.cap + 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("protects", "edge"),
        ("relation", "substitute"),
        ("statistic", "walks"),
        ("cap", 0),
        ("cap", "2"),
        ("noise", {"mechanism": "DiscreteLaplace", "scale": "1/10000"}),
        ("noise", {"mechanism": "Lap", "scale": "1"}),
        ("choice", {"mechanism": "PermuteAndFlip", "epsilon": "2/5", "sensitivity": 2}),
        ("choice", {"mechanism": "PermuteAndFlip", "epsilon": "3", "sensitivity": 1}),
        ("choice", "PermuteAndFlip"),
        ("choice", None),
        ("cap_is", "public"),
        ("cap", 191),  # C(20, 2) is 190
        ("max_degree", "20"),
    ],
)
def test_a_certificate_that_was_changed_is_refused(key: str, value: object) -> None:
    with dp.connect(tables(), policy_with()) as session:
        release = graphs.open(session, "club").count("triangles", spend=dp.pure(1))
    changed = json.loads(json.dumps(dict(release.certificate)))
    changed[key] = value
    with pytest.raises(LedgerError):
        verify_loss(changed)


def test_a_release_that_its_certificate_does_not_describe_is_refused() -> None:
    with dp.connect(tables(), policy_with()) as session:
        release = graphs.open(session, "club").count("triangles", spend=dp.pure(1))
    stored = json.loads(release.to_json())
    for change in (
        {"noise": {"mechanism": "DiscreteLaplace", "scale": "1/100"}},
        {"cap": 1 if release.cap > 1 else 2},
        {"statistic": "edges"},
        {"graph": "town"},
        {"noisy": 10**400},
    ):
        with pytest.raises(LedgerError, match="cannot be read"):
            graphs.NodePrivateCount.from_bytes(json.dumps({**stored, **change}).encode())
    assert graphs.NodePrivateCount.from_bytes(json.dumps(stored).encode()).to_json() == release.to_json()


def test_sums_at_the_ends_of_64_bits_have_a_band() -> None:
    with dp.connect(tables(), policy_with()) as session:
        release = graphs.open(session, "club").degrees(spend=dp.pure(1))
    assert isinstance(release, graphs.NodePrivateDegrees)
    stored = json.loads(release.to_json())
    for sums in ([2**63 - 1] * len(release.sums), [-(2**63)] * len(release.sums)):
        read = graphs.NodePrivateDegrees.from_bytes(json.dumps({**stored, "sums": sums}).encode())
        low, high = read.band()
        assert (low <= high).all() and str(read)


def test_degrees_that_lose_more_than_is_stated_are_refused() -> None:
    with dp.connect(tables(), policy_with()) as session:
        release = graphs.open(session, "club").degrees(spend=dp.pure(1), cap="public")
    assert release.certificate["noise"] == {"mechanism": "DiscreteLaplace", "scale": "22"}
    with pytest.raises(LedgerError, match="costs more"):
        verify_loss({**release.certificate, "noise": {"mechanism": "DiscreteLaplace", "scale": "21"}})
    with pytest.raises(LedgerError, match="costs more"):
        verify_loss({**release.certificate, "cap": 21, "max_degree": 21})


@pytest.mark.parametrize("key", ["cap", "sums", "noise", "choice", "graph"])
def test_bytes_that_are_no_release_are_refused(key: str) -> None:
    with dp.connect(tables(), policy_with()) as session:
        release = graphs.open(session, "club").degrees(spend=dp.pure(1))
    stored = json.loads(release.to_json())
    for bad in (None, -1, [], [1.5], "x" * 9, {}):
        if (key == "choice" and bad is None) or key == "graph":
            continue
        with pytest.raises(LedgerError):
            graphs.NodePrivateDegrees.from_bytes(json.dumps({**stored, key: bad}).encode())
    del stored[key]
    with pytest.raises(LedgerError):
        graphs.NodePrivateDegrees.from_bytes(json.dumps(stored).encode())
