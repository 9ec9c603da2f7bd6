"""Features of neighbourhoods through a session: charged once, free again, stored, verified, or refused for free."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import graphs
from discreet.audit import run_entries
from discreet.errors import BudgetExceeded, LedgerError, ParameterError, QueryError
from discreet.graphs import Graph, GraphFeatures
from discreet.graphs.features import GRID, _question, neighbour_sums, normalized, unit_vectors
from discreet.release import kind_of, verify_loss

CLUB = nx.karate_club_graph()
VECTORS = np.random.default_rng(3).normal(size=(34, 3))
LOUD = dp.mu(4000)  # hardly any noise


def policy_with(
    budget: dict[str, Any] | None = None, vertex: dict[str, Any] | None = None, **graph: Any
) -> dict[str, Any]:
    column = vertex or {"type": "int", "bounds": [0, 33], "nullable": False}
    return {
        "version": "1",
        "budget": budget or {"mu": 10_000},
        "tables": {"ties": {"unit": "rows", "columns": {"a": column, "b": column}}},
        "graphs": {"club": {"edges": "ties", "ends": ["a", "b"], "protects": "edge", **graph}},
    }


def ties(pairs: list[tuple[Any, Any]] | None = None) -> dict[str, pa.Table]:
    a, b = zip(*(pairs or list(CLUB.edges)), strict=True)
    return {"ties": pa.table({"a": pa.array(a), "b": pa.array(b)})}


@pytest.fixture(scope="module")
def release() -> GraphFeatures:
    with dp.connect(ties(), policy_with()) as session:
        return graphs.open(session, "club").features(VECTORS, spend=dp.mu(1), hops=2)


def test_with_hardly_any_noise_it_is_the_exact_sums() -> None:
    with dp.connect(ties(), policy_with()) as session:
        loud = graphs.open(session, "CLUB").features(VECTORS, spend=LOUD, hops=3)
    units = unit_vectors(VECTORS, 34)
    for noisy in loud.noisy:
        exact = neighbour_sums(Graph.from_networkx(CLUB), units)
        assert np.abs(noisy - exact).max() < 60  # σ is below 5, a tail of 1e-30
        units = normalized(noisy)
    assert loud.loss == LOUD and loud.std < 0.002 < loud.error(0.9999) < 0.01


def test_shapes_names_and_lengths(release: GraphFeatures) -> None:
    features = release.to_numpy()
    assert features.shape == (34, 9) and features.dtype == np.float64
    assert np.array_equal(features[:, :3], unit_vectors(VECTORS, 34) / GRID)
    assert (np.linalg.norm(features.reshape(34, 3, 3), axis=2) <= 1).all()
    assert np.abs(features[:, :3] - VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)).max() < 2 / GRID
    table = release.to_arrow()
    assert table.column_names == ["vertex", "x0", "x1", "x2", *(f"x{i}, hop {h}" for h in (1, 2) for i in range(3))]
    assert table["vertex"].to_pylist() == list(range(34))
    assert np.array_equal(np.column_stack([table[name] for name in table.column_names[1:]]), features)
    assert release.sums().shape == (2, 34, 3) and release.std == pytest.approx(2, rel=1e-3)
    assert "one edge is protected" in str(release) and release.shown_rows == len(release.cells()) == 2
    with pytest.raises(ParameterError, match="level"):
        release.error(1)


def test_the_same_question_is_free_and_other_vectors_are_another() -> None:
    with dp.connect(ties(), policy_with()) as session:
        club = graphs.open(session, "club")
        first, second, longer = (club.features(each, spend=dp.mu(1)) for each in (VECTORS, VECTORS, 4 * VECTORS))
        assert first.to_json() == second.to_json() == longer.to_json()
        assert session.spent == dp.mu(1)
        moved = VECTORS.copy()
        moved[0, 0] += 1
        for given in ({"vectors": moved}, {"hops": 1}, {"spend": dp.mu(2)}):
            before = session.spent
            club.features(**{"vectors": VECTORS, "spend": dp.mu(1), **given})
            assert session.spent != before


@pytest.mark.parametrize(
    ("budget", "spend", "noise"),
    [
        ({"epsilon": 4, "delta": 1e-4}, dp.approx(2, 1e-5), "Gaussian"),
        ({"rho": 2}, dp.rho("0.5"), "DiscreteGaussian"),
        ({"mu": 2}, dp.mu("0.5"), "Gaussian"),
    ],
)
def test_currencies(budget: dict[str, Any], spend: dp.Loss, noise: str) -> None:
    with dp.connect(ties(), policy_with(budget)) as session:
        released = graphs.open(session, "club").features(VECTORS, spend=spend)
        assert released.loss == spend == session.spent
    assert released.certificate["aggregation"]["noise"]["mechanism"] == noise
    verify_loss(released.certificate)


def test_tables_of_vectors_are_matched_by_vertex() -> None:
    named = {"type": "string", "keys": ["cy", "ann", "bob"], "nullable": True}
    pairs = [("ann", "bob"), ("bob", "ann"), (None, "cy"), ("eve", "ann")]
    vectors = pa.table({"tall": [0.0, 3, 0], "vertex": ["cy", "bob", "ann"], "old": pa.array([7, 4, -2])})
    with dp.connect(ties(pairs), policy_with(vertex=named)) as session:
        released = graphs.open(session, "club").features(vectors, spend=LOUD, hops=1)
    table = released.to_arrow().to_pydict()
    assert table["vertex"] == ["ann", "bob", "cy"] and list(table)[1:] == ["tall", "old", "tall, hop 1", "old, hop 1"]
    assert np.abs(released.sums()[0] - [[0.6, 0.8], [0, -1], [0, 0]]).max() < 0.02
    assert GraphFeatures.from_bytes(released.to_bytes()).to_arrow().equals(released.to_arrow())


def test_vertices_that_begin_elsewhere() -> None:
    vertex = {"type": "int", "bounds": [10, 12], "nullable": False}
    vectors = pa.table({"vertex": [12, 10, 11], "x": [-1, 1, 1]})
    with dp.connect(ties([(10, 12), (9, 10)]), policy_with(vertex=vertex)) as session:
        released = graphs.open(session, "club").features(vectors, spend=LOUD, hops=1)
    assert released.to_arrow()["vertex"].to_pylist() == [10, 11, 12]
    assert np.abs(released.sums()[0].ravel() - [-1, 0, 1]).max() < 0.02


def numbered(**columns: Any) -> pa.Table:
    return pa.table({"vertex": range(34), **columns})


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (VECTORS[:-1], "34 vertices"),
        (np.where(VECTORS > 1, np.nan, VECTORS), "finite"),
        (None, "shape"),
        ("vectors", "shape"),
        (pa.table({"x": range(34)}), "one column 'vertex'"),
        (numbered(), "columns beside"),
        (numbered(x=["a"] * 34), "'x' are none"),
        (numbered(x=[None, *range(33)]), "nulls"),
        (numbered(x=[np.nan] * 34), "finite"),
        (pa.table({"vertex": [*range(33), 32], "x": range(34)}), "once"),
        (pa.table({"vertex": range(1, 35), "x": range(34)}), "once"),
        (pa.table({"vertex": [str(i) for i in range(34)], "x": range(34)}), "once"),
        (pa.table({"vertex": pa.array([], pa.int64()), "x": pa.array([], pa.int64())}), "once"),
        (pa.table([range(34), range(34), range(34)], names=["vertex", "x", "x"]), "a name each"),
        (numbered(**{"x": range(34), "x, hop 1": range(34)}), "a name each"),
    ],
)
def test_vectors_that_do_not_fit_are_refused_before_the_charge(vectors: Any, words: str) -> None:
    with dp.connect(ties(), policy_with()) as session:
        with pytest.raises(ParameterError, match=words):
            graphs.open(session, "club").features(vectors, spend=dp.mu(1))
        assert session.spent.epsilon() == 0


def test_other_refusals_come_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.connect(ties(), policy_with({"epsilon": 4, "delta": 1e-4})) as session:
        club = graphs.open(session, "club")
        with pytest.raises(ParameterError, match="without a delta"):
            club.features(VECTORS, spend=dp.pure(1))
        with pytest.raises(ParameterError, match="spend"):
            club.features(VECTORS, spend=1)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="hops"):
            club.features(VECTORS, spend=dp.approx(1, 1e-5), hops=0)
        with pytest.raises(BudgetExceeded):
            club.features(VECTORS, spend=dp.approx(5, 1e-5))
        monkeypatch.setattr(_question, "MOST_NUMBERS", 34 * 3 * 3 - 1)
        with pytest.raises(QueryError, match="306 numbers"):
            club.features(VECTORS, spend=dp.approx(1, 1e-5))
        assert session.spent.epsilon() == 0


def test_people_have_no_features() -> None:
    policy = policy_with({"rho": 4}, protects="node", max_degree=20)
    policy["tables"]["ties"]["unit"] = "ends"
    with dp.connect(ties(), policy) as session:
        with pytest.raises(QueryError, match=r"about one person.*counts and degrees"):
            graphs.open(session, "club").features(VECTORS, spend=dp.rho(1))
        assert session.spent.epsilon() == 0


def test_it_is_stored_read_and_verified(release: GraphFeatures, tmp_path: Path) -> None:
    release.save(tmp_path / "features.json")
    read = dp.release.load(tmp_path / "features.json")
    assert isinstance(read, GraphFeatures) and read.to_json() == release.to_json()
    assert np.array_equal(read.to_numpy(), release.to_numpy())
    kind_of(release.certificate).verify_loss(release.certificate)
    stated = release.certificate
    assert stated["aggregation"] == {
        "hops": 2, "bound": GRID, "noise": {"mechanism": "Gaussian", "sigma": stated["aggregation"]["noise"]["sigma"]},
    }  # fmt: skip
    assert stated["answer"] == release.digest() and stated["vertices"] == 34 and len(stated["vectors"]) == 64


def test_it_is_compact() -> None:
    """Noise of 16 bits takes little more than two bytes in each number's base 64."""
    with dp.connect(ties(), policy_with()) as session:
        released = graphs.open(session, "club").features(np.ones((34, 500)), spend=dp.mu(4))
    assert len(released.to_bytes()) < 3 * 34 * 500 * 2 * 4 / 3 + 20_000


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["aggregation"].update(hops=3),
        lambda c: c["aggregation"].update(hops="2"),
        lambda c: c["aggregation"].update(bound=GRID + 1),
        lambda c: c["aggregation"]["noise"].update(sigma="8000"),
        lambda c: c["aggregation"].update(noise={"mechanism": "DiscreteLaplace", "scale": "9999999"}),
        lambda c: c.pop("aggregation"),
        lambda c: c.update(protects="node"),
        lambda c: c.update(relation="substitute"),
    ],
)
def test_a_certificate_that_was_changed_is_refused(release: GraphFeatures, change: Any) -> None:
    changed = json.loads(json.dumps(dict(release.certificate)))
    change(changed)
    with pytest.raises(LedgerError):
        verify_loss(changed)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(vertices=35),
        lambda s: s.update(vertices=-1),
        lambda s: s.update(vertices="34"),
        lambda s: s.update(vertices=2**40),
        lambda s: s.update(columns=[]),
        lambda s: s.update(columns=[1, 2, 3]),
        lambda s: s.update(keys=["a"]),
        lambda s: s.update(keys=[1.5] * 34),
        lambda s: s.update(graph=1),
        lambda s: s["noisy"].pop(),
        lambda s: s["noisy"][0].update(type="float64"),
        lambda s: s["noisy"][0].update(data="AAAA"),
        lambda s: s["noisy"][0].update(data="?"),
        lambda s: s["vectors"].update(data=s["noisy"][0]["data"], type=s["noisy"][0]["type"]),
        lambda s: s["aggregation"].update(bound=16),
    ],
)
def test_bytes_that_were_changed_are_refused(release: GraphFeatures, change: Any) -> None:
    stored = json.loads(release.to_bytes())
    change(stored)
    with pytest.raises(LedgerError, match="cannot be read"):
        GraphFeatures.from_bytes(json.dumps(stored).encode())


def test_a_graph_without_edges_is_answered() -> None:
    empty = {"ties": pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})}
    with dp.connect(empty, policy_with()) as session:
        released = graphs.open(session, "club").features(VECTORS, spend=LOUD)
    assert np.abs(released.sums()).max() < 0.02


def test_the_audit_does_not_refute_the_claim_and_certifies_most_of_it() -> None:
    """False alarm 1e-9; the certified μ is 0.857 on average, with a standard deviation of 0.012."""
    [audited] = run_entries(["NoisyAggregation of two vertices"], samples=40_000, confidence=1 - 1e-9)
    assert not audited.verdict.violated
    assert audited.verdict.mu_lower is not None and audited.verdict.mu_lower > 0.75
