"""Directed graphs: exact values and what one arc moves, through a session, and mistakes in it with their exact loss."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import permutations, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import graphs
from discreet.errors import LedgerError, ParameterError, PolicyError, QueryError
from discreet.graphs import DirectedGraph, GraphCount, GraphDegrees, GraphMixing
from discreet.graphs.edge import _measurements, _mixing, _question, mixing_counts, sorted_degrees
from discreet.ledger import open_ledger
from discreet.mechanisms import DiscreteLaplace
from discreet.policy import load_policy
from discreet.release import ReleaseContext, Terms, kind_of, load, verify_loss

STATISTICS = ("edges", "density", "reciprocity", "components", "largest out-degree", "largest in-degree")
SIDES = ["left", "right"]
WEB = nx.gnp_random_graph(30, 0.15, seed=5, directed=True)


def policy_with(budget: dict[str, Any] | None = None, vertices: int = 30, **graph: Any) -> dict[str, Any]:
    column = {"type": "int", "bounds": [0, vertices - 1], "nullable": False}
    side = {"type": "string", "keys": SIDES}
    return {
        "version": "1",
        "budget": budget or {"epsilon": 100_000},
        "tables": {
            "follows": {"unit": "rows", "columns": {"a": column, "b": column}},
            "places": {"public": True, "key": "id", "columns": {"id": column, "side": side}},
        },
        "graphs": {"web": {"edges": "follows", "ends": ["a", "b"], "protects": "edge", "directed": True, **graph}},
    }


def source(pairs: Any = None) -> dict[str, pa.Table]:
    a, b = zip(*(list(WEB.edges) if pairs is None else pairs), strict=True)
    places = pa.table({"id": list(range(30)), "side": [SIDES[i % 2] for i in range(30)]})
    return {"follows": pa.table({"a": a, "b": b}), "places": places}


@cache
def digraphs(n: int) -> list[DirectedGraph]:
    """All directed graphs of n named vertices: bit i of a number is arc i of `permutations`."""
    arcs = list(permutations(range(n), 2))
    return [
        DirectedGraph.from_pairs([arc for i, arc in enumerate(arcs) if number >> i & 1], n)
        for number in range(1 << len(arcs))
    ]


@cache
def all_measured(n: int) -> list[dict[str, tuple[int, ...]]]:
    """What is measured of each of `digraphs`."""
    return [measured(graph) for graph in digraphs(n)]


def measured(graph: DirectedGraph) -> dict[str, tuple[int, ...]]:
    """All that is measured of a graph, as it is before noise."""
    with patch.object(_measurements, "with_noise", lambda exact, _: exact):
        return {
            each: _measurements.measurements(each, graph.vertices, dp.pure(1), directed=True)[0].draw(graph)
            for each in STATISTICS
        }


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_values_are_those_of_networkx_on_all_small_graphs(n: int) -> None:
    for graph, exact in zip(digraphs(n), all_measured(n), strict=True):
        other = nx.DiGraph()
        other.add_nodes_from(range(n))
        other.add_edges_from(graph.ends.tolist())
        assert exact["edges"] == exact["density"] == (other.number_of_edges(),)
        assert exact["components"] == (nx.number_weakly_connected_components(other),)
        for way, degrees in (("out", other.out_degree), ("in", other.in_degree)):
            assert graph.degrees(way).tolist() == [d for _, d in degrees]  # type: ignore[arg-type]
            assert exact[f"largest {way}-degree"] == (max((d for _, d in degrees), default=0),)
        release = GraphCount("g", n, "reciprocity", (), exact["reciprocity"], dp.pure(1), {}, directed=True)
        assert release.value == pytest.approx(nx.overall_reciprocity(other) if graph.arcs else 0)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_one_arc_moves_one_number_by_one_and_this_is_attained(n: int) -> None:
    """Of all neighbours: each measurement together, sorted degrees, and the numbers of mixing."""
    every, places = digraphs(n), np.arange(n) % 2
    exact = all_measured(n)
    most = dict.fromkeys([*STATISTICS, "out", "in", "mixing"], 0)
    degrees = {way: [np.sort(graph.degrees(way))[::-1] for graph in every] for way in ("out", "in")}  # type: ignore[arg-type]
    mixing = [mixing_counts(graph, places, 3) for graph in every]
    for number in range(len(every)):
        for arc in range(n * (n - 1)):
            if (other := number ^ (1 << arc)) < number:
                continue
            for each in STATISTICS:
                pair = zip(exact[number][each], exact[other][each], strict=True)
                most[each] = max(most[each], sum(abs(a - b) for a, b in pair))
            for way in ("out", "in"):
                most[way] = max(most[way], int(np.abs(degrees[way][number] - degrees[way][other]).sum()))
            most["mixing"] = max(most["mixing"], int(np.abs(mixing[number] - mixing[other]).sum()))
    assert set(most.values()) == {1}


def test_toggling_is_one_arc() -> None:
    arcs, every = list(permutations(range(3), 2)), digraphs(3)
    for number, graph in enumerate(every):
        for i, (tail, head) in enumerate(arcs):
            assert graph.toggled(tail, head).ends.tolist() == every[number ^ (1 << i)].ends.tolist()
    with pytest.raises(ParameterError):
        every[0].toggled(1, 1)


def test_a_directed_graph_is_checked() -> None:
    for ends in ([(0, 0)], [(1, 0), (0, 1)], [(0, 1), (0, 1)], [(0, 3)], [(-1, 0)]):
        with pytest.raises(ParameterError):
            DirectedGraph(3, np.array(ends))
    with pytest.raises(ParameterError):
        DirectedGraph.from_pairs([(0, 5)], 3)
    graph = DirectedGraph.from_networkx(nx.DiGraph([("x", "y"), ("y", "x"), ("x", "x")]))
    assert (graph.arcs, graph.undirected().edges, repr(graph)) == (2, 1, "<DirectedGraph>")
    with pytest.raises(ValueError, match="read-only"):
        graph.ends[0] = 1


def test_every_statistic_is_its_exact_value_with_hardly_any_noise(tmp_path: Path) -> None:
    simple, spend, releases = DirectedGraph.from_networkx(WEB), dp.pure(60), []
    with dp.connect(source(), policy_with()) as session:
        web = graphs.open(session, "web")
        exact = {
            "edges": simple.arcs,
            "density": nx.density(WEB),
            "reciprocity": nx.overall_reciprocity(WEB),
            "components": nx.number_weakly_connected_components(WEB),
            "largest out-degree": max(d for _, d in WEB.out_degree),
            "largest in-degree": max(d for _, d in WEB.in_degree),
        }
        for statistic, value in exact.items():
            release = web.count(statistic, spend)
            assert isinstance(release, GraphCount)
            assert release.value == pytest.approx(value) and release.error() == pytest.approx(0)
            assert "one arc is protected" in release.note() and release.certificate["directed"] is True
            releases.append(release)
        for way, degrees in (("out", WEB.out_degree), ("in", WEB.in_degree)):
            release = web.degrees(spend, direction=way)  # type: ignore[arg-type]
            assert isinstance(release, GraphDegrees)
            assert release.degrees().tolist() == sorted((d for _, d in degrees), reverse=True)
            assert f"{way}-degrees" in release.note() and release.certificate["direction"] == way
            releases.append(release)
        spent = session.spent
        assert web.degrees(spend, direction="out").to_json() == releases[-2].to_json() and session.spent == spent
    for i, each in enumerate(releases):
        each.save(tmp_path / f"{i}.json")
        read = load(tmp_path / f"{i}.json")
        assert type(read) is type(each) and read.to_json() == each.to_json() and str(read)
        kind_of(each.certificate).verify_loss(each.certificate)


def test_directions_count_and_loops_and_repeats_do_not() -> None:
    pairs = [(0, 1), (1, 0), (0, 1), (2, 2), (1, 2), (0, 99), (-5, 3)]
    with dp.connect(source(pairs), policy_with()) as session:
        web = graphs.open(session, "web")
        assert web.count("edges", dp.pure(60)).value == 3
        reciprocity = web.count("reciprocity", dp.pure(60))
        assert isinstance(reciprocity, GraphCount) and reciprocity.noisy == (2, 1)
        assert web.degrees(dp.pure(60), direction="in").noisy[:4].tolist() == [1, 1, 1, 0]  # type: ignore[union-attr]


def test_the_error_of_reciprocity_holds_wherever_both_noises_are_within_theirs() -> None:
    """Of all joined and mutual pairs up to 8, and all noises of up to 2 in size."""
    measurement = _measurements.Measurement(_measurements.RECIPROCITY, DiscreteLaplace(1))
    half = int(DiscreteLaplace(1).error((1 + 0.8) / 2))
    assert half == 2
    for joined in range(9):
        for mutual in range(joined + 1):
            exact = 2 * mutual / (joined + mutual) if joined else 0
            for noise in product(range(-half, half + 1), repeat=2):
                noisy = (joined + noise[0], mutual + noise[1])
                release = GraphCount("g", 9, "reciprocity", (measurement,), noisy, dp.pure(1), {}, directed=True)
                error = release.error(0.8)
                assert error is not None and abs(release.value - exact) <= error + 1e-12 and 0 <= release.value <= 1


def test_mixing_is_the_matrix_of_arcs_and_its_assortativity() -> None:
    with dp.connect(source(), policy_with()) as session:
        mixed = graphs.open(session, "web").mixing("side", dp.pure(60))
    nx.set_node_attributes(WEB, {i: SIDES[i % 2] for i in range(30)}, "side")
    ends = nx.attribute_mixing_matrix(WEB, "side", normalized=False, mapping={"left": 0, "right": 1})
    assert mixed.matrix()[:2, :2].tolist() == ends.tolist()
    assert mixed.assortativity == pytest.approx(nx.attribute_assortativity_coefficient(WEB, "side"))
    assert mixed.pairs.reshape(3, 3).tolist() == [[210, 225, 0], [225, 210, 0], [0, 0, 0]]
    assert mixed.to_arrow().num_rows == mixed.shown_rows == 4 and "one arc is protected" in mixed.note()
    assert json.dumps(mixed.to_vega_lite(), allow_nan=False).count("of tail") > 0
    read = GraphMixing.from_bytes(mixed.to_bytes())
    assert read.to_json() == mixed.to_json() and (read.matrix() == mixed.matrix()).all()
    verify_loss(mixed.certificate)


def test_the_assortativity_of_arcs_is_right_on_average_and_off_as_it_says() -> None:
    """Seeded, so without a false alarm."""
    draws, true = np.random.default_rng(8), np.array([[40, 10], [25, 60]])
    share = true / true.sum()
    exact = (np.trace(share) - (share @ share).sum()) / (1 - (share @ share).sum())
    mechanism, sizes, q = DiscreteLaplace(scale=3), (30, 30, 0), np.exp(-1 / 3)
    values, errors = [], []
    for _ in range(3000):
        noise = draws.geometric(1 - q, 9) - draws.geometric(1 - q, 9)
        noisy = np.pad(true, ((0, 1), (0, 1))).ravel() + noise
        release = GraphMixing("g", "t.c", (*SIDES, None), sizes, mechanism, noisy, dp.pure(1), {}, directed=True)
        values.append(release.assortativity)
        errors.append(release.assortativity_error(0.6827))
    assert abs(np.mean(values) - exact) < 0.004
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.07)


@pytest.mark.parametrize(
    "statistic", ["triangles", "largest degree", "degeneracy", "2-stars", "global clustering", None]
)
def test_what_has_no_direction_is_refused_with_the_remedy(statistic: Any) -> None:
    with dp.connect(source(), policy_with()) as session:
        web = graphs.open(session, "web")
        with pytest.raises(QueryError, match="without directed = true"):
            web.count(statistic, dp.pure(1))
        assert session.spent.epsilon() == 0


def test_other_questions_are_refused_before_the_charge() -> None:
    with dp.connect(source(), policy_with()) as session:
        web = graphs.open(session, "web")
        for ask in (
            lambda: web.cuts(dp.pure(1)),
            lambda: web.synthetic(dp.pure(1)),
            lambda: web.features(np.ones((30, 1)), dp.approx(1, 1e-6)),
            lambda: web.clustering(dp.pure(1)),
        ):
            with pytest.raises(QueryError, match="without directed = true"):
                ask()
        for direction, words in ((None, "direction="), ("both", "'out' or 'in'")):
            with pytest.raises(ParameterError, match=words):
                web.degrees(dp.pure(1), direction=direction)  # type: ignore[arg-type]
        assert session.spent.epsilon() == 0 and "an arc" in repr(web)
        assert "One arc" in web.meaning(2, dp.pure(1)) and "2 arcs" in web.meaning(2, dp.pure(1))
    with dp.connect(source(), policy_with(directed=False)) as session:
        web = graphs.open(session, "web")
        with pytest.raises(ParameterError, match="no directions"):
            web.degrees(dp.pure(1), direction="out")
        with pytest.raises(QueryError, match="no statistic"):
            web.count("reciprocity", dp.pure(1))


def test_policies_say_who_is_protected() -> None:
    policy = load_policy(policy_with())
    plain = policy_with()
    del plain["graphs"]["web"]["directed"]
    assert load_policy(plain).digest() == load_policy(policy_with(directed=False)).digest() != policy.digest()
    people = policy_with(protects="node", max_degree=3)
    people["tables"]["follows"]["unit"] = "ends"
    with pytest.raises(PolicyError, match="directed = true is for protects"):
        load_policy(people)
    both = policy_with()
    both["graphs"]["pairs"] = {"edges": "follows", "ends": ["a", "b"], "protects": "edge"}
    with pytest.raises(PolicyError, match="a policy and a ledger each"):
        load_policy(both)
    assert (policy.counts, load_policy(plain).counts) == ("arcs", "edges")
    with pytest.raises(PolicyError, match="directed"):
        load_policy(policy_with(directed="yes"))


def test_an_arc_is_charged_to_a_ledger_of_arcs_alone(tmp_path: Path) -> None:
    with dp.connect(source(), policy_with(), tmp_path / "arcs.ledger") as session:
        graphs.open(session, "web").count("edges", dp.pure(1))
        with pytest.raises(LedgerError, match="counts the losses of arcs"):
            session.sql("SELECT COUNT(*) AS n FROM follows", spend=dp.pure(1))
    with pytest.raises(LedgerError, match="protects edges"):
        dp.connect(source(), policy_with(directed=False), tmp_path / "arcs.ledger")
    with (
        open_ledger(tmp_path / "edges.ledger", dp.pure(1), counts="edges") as edges,
        pytest.raises(LedgerError, match="protects arcs"),
    ):
        dp.connect(source(), policy_with(), edges)


def test_plans_are_of_arcs() -> None:
    with dp.connect(source(), policy_with()) as session:
        web = graphs.open(session, "web")
        plan = web.plan("density", spend=dp.pure(1))
        assert plan.error() == pytest.approx(3 / 870) and "one arc" in plan.explain()
        plan = web.plan("reciprocity", spend=dp.pure(1))
        assert plan.error() is None and "the answer tells it" in plan.explain()
        assert plan.to_dict()["directed"] is True and session.spent.epsilon() == 0


def test_certificates_that_were_changed_are_refused() -> None:
    with dp.connect(source(), policy_with()) as session:
        web = graphs.open(session, "web")
        count, degrees = web.count("reciprocity", dp.pure(1)), web.degrees(dp.pure(1), direction="out")
        mixed = web.mixing("side", dp.pure(1))
    assert degrees.certificate["noise"] == {"mechanism": "DiscreteLaplace", "scale": "1"}
    without = {name: value for name, value in degrees.certificate.items() if name != "direction"}
    with pytest.raises(LedgerError, match="costs more"):
        verify_loss(without)  # as degrees of an undirected graph, two of which an edge moves
    for release, name in ((count, "directed"), (degrees, "direction"), (mixed, "directed")):
        stored = json.loads(release.to_bytes())
        for changed in ("up", False, None):
            for part in (stored, stored["certificate"]):
                original = part[name]
                part[name] = changed
                with pytest.raises(LedgerError):
                    type(release).from_bytes(json.dumps(stored).encode())
                part[name] = original
        del stored[name]
        with pytest.raises(LedgerError):
            type(release).from_bytes(json.dumps(stored).encode())
    for changed in ({"directed": False}, {"directed": 1}, {"measured": [{"statistic": "triangles"}]}):
        with pytest.raises(LedgerError):
            verify_loss({**count.certificate, **changed})


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_falling_sequence_is_kept_as_out_degrees(n: int) -> None:
    every = {tuple(sorted(graph.degrees("out").tolist(), reverse=True)) for graph in digraphs(n)}
    falling = {each for each in product(range(n), repeat=n) if list(each) == sorted(each, reverse=True)}
    assert every == falling
    for each in falling:
        assert tuple(sorted_degrees(np.array(each, np.int64), directed=True).tolist()) == each


Rows = list[tuple[int, int]]
PAIRS: dict[str, tuple[Rows, Rows]] = {
    "new": ([(2, 3)], [(2, 3), (0, 1)]),
    "returned": ([(0, 1)], [(0, 1), (1, 0)]),
    "repeated": ([(2, 3)], [(2, 3), (0, 1), (0, 1)]),
    "star": ([(0, leaf) for leaf in range(1, 8)], [(0, leaf) for leaf in range(1, 9)]),
}


@contextmanager
def laws() -> Iterator[list[tuple[np.ndarray, float]]]:
    drawn: list[tuple[np.ndarray, float]] = []

    def noisy(exact: Any, mechanism: Any) -> Any:
        drawn.append((np.asarray(exact, float), float(mechanism.scale)))
        return exact

    with ExitStack() as stack:
        for module in (_measurements, _question, _mixing):
            stack.enter_context(patch.object(module, "with_noise", noisy))
        yield drawn


def lost(pair: tuple[Rows, Rows], asked: str) -> float:
    """What one draw of an answer loses: its noise is discrete Laplace, so the sum of what moves by its scale."""
    policy, drawn = load_policy(policy_with()), []
    question: Any = {
        "out": graphs.ReleaseDegrees("web", dp.pure(1), direction="out"),
        "in": graphs.ReleaseDegrees("web", dp.pure(1), direction="in"),
        "mixing": graphs.ReleaseMixing("web", "side", dp.pure(1)),
    }.get(asked) or graphs.CountGraph("web", asked, dp.pure(1))

    def refused(*_: Any) -> Any:
        raise AssertionError("a graph is read by its rows")

    for rows in pair:
        ends = pa.table([pa.array(np.array(rows, np.int64)[:, place]) for place in range(2)], ["v0", "v1"])
        places = pa.table([pa.array(range(30)), pa.array([i % 2 for i in range(30)], pa.int32())], ["v0", "k0"])
        read: Callable[..., Any] = lambda request, _, ends=ends, places=places: (  # noqa: E731
            ends if "follows" in request.bounded.tables else places
        )
        context = ReleaseContext(policy, refused, refused, dict, read)
        with laws() as seen:
            question.prepare(Terms.of_policy(policy)).answer(context)
        drawn.append(seen)
    assert len(drawn[0]) == len(drawn[1]) > 0
    return sum(
        float("inf") if s != t or len(a) != len(b) else float(np.abs(a - b).sum()) / s
        for (a, s), (b, t) in zip(*drawn, strict=True)
    )


def both_ends(graph: DirectedGraph, direction: Any) -> np.ndarray:
    """Of both directions together."""
    return np.bincount(graph.ends.ravel(), minlength=graph.vertices).astype(np.int64)


def symmetric(graph: DirectedGraph, places: np.ndarray, values: int) -> np.ndarray:
    """An arc counts in both its cells."""
    counts = mixing_counts(graph, places, values).reshape(values, values)
    return (counts + counts.T).ravel()


def with_repeats(cls: Any, pieces: Any, vertices: int) -> DirectedGraph:
    """A row that is there twice is another arc, to a vertex of its own."""
    rows = np.concatenate([np.empty((0, 2), np.int64), *pieces])
    unique = np.unique(rows, axis=0)
    more = [[0, vertices + i] for i in range(len(rows) - len(unique))]
    arcs = np.concatenate([unique, np.array(more, np.int64).reshape(-1, 2)])
    return _from_pieces(cls, [arcs], vertices + len(more))


_from_pieces = DirectedGraph.from_pieces.__func__  # type: ignore[attr-defined]
_OF_ARCS = _measurements._MOVED_BY_ONE_ARC
MUTANTS: dict[str, tuple[str, str, tuple[Any, str, Any]]] = {
    "degrees of both directions with the noise of one": ("star", "out", (DirectedGraph, "degrees", both_ends)),
    "reciprocity of arcs and mutual pairs": (
        "returned", "reciprocity",
        (
            _measurements, "_MOVED_BY_ONE_ARC",
            {**_OF_ARCS, _measurements.RECIPROCITY: lambda graph: (graph.arcs, graph.mutual_pairs())},
        ),
    ),
    "reciprocity of returned arcs": (
        "returned", "reciprocity",
        (
            _measurements, "_MOVED_BY_ONE_ARC",
            {
                **_OF_ARCS,
                _measurements.RECIPROCITY: lambda graph: (graph.undirected().edges, 2 * graph.mutual_pairs()),
            },
        ),
    ),
    "a symmetric matrix": ("new", "mixing", (_mixing, "mixing_counts", symmetric)),
    "repeats count": ("repeated", "edges", (DirectedGraph, "from_pieces", classmethod(with_repeats))),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_loses_more_than_it_claims_and_the_sound_code_does_not(mutant: str) -> None:
    pair, asked, (where, name, broken) = MUTANTS[mutant]
    assert lost(PAIRS[pair], asked) <= 1 + 1e-9
    with patch.object(where, name, broken):
        assert lost(PAIRS[pair], asked) > 1.05


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("asked", [*STATISTICS, "out", "in", "mixing"])
def test_sound_answers_stay_within_their_claims(pair: str, asked: str) -> None:
    assert lost(PAIRS[pair], asked) <= 1 + 1e-9


def test_two_people_who_are_joined_both_ways_have_two_arcs() -> None:
    """What `meaning(2)` tells: an undirected edge's claim of 1 would be false here."""
    assert lost(([(2, 3)], [(2, 3), (0, 1), (1, 0)]), "edges") == pytest.approx(2)
