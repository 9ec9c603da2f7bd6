"""Synthetic graphs through a session: charged once, free again, stored, verified, and refused before the charge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest

import discreet as dp
from discreet import graphs
from discreet.errors import LedgerError, ParameterError, QueryError
from discreet.graphs import Graph, GraphSynthesis
from discreet.release import verify_loss

TOWN = nx.relaxed_caveman_graph(20, 10, 0.2, seed=1)


def policy_with(budget: dict[str, Any] | None = None, protects: str = "edge", vertices: int = 200) -> dict[str, Any]:
    vertex = {"type": "int", "bounds": [0, vertices - 1], "nullable": False}
    return {
        "version": "1",
        "budget": budget or {"epsilon": 100},
        "tables": {"ties": {"unit": "rows" if protects == "edge" else "ends", "columns": {"a": vertex, "b": vertex}}},
        "graphs": {"town": {"edges": "ties", "ends": ["a", "b"], "protects": protects}},
    }


def ties() -> dict[str, pa.Table]:
    a, b = zip(*TOWN.edges, strict=True)
    return {"ties": pa.table({"a": a, "b": b})}


@pytest.fixture(scope="module")
def release() -> GraphSynthesis:
    with dp.connect(ties(), policy_with()) as session:
        return graphs.open(session, "town").synthetic(spend=dp.pure(20))


def test_it_is_like_the_graph(release: GraphSynthesis) -> None:
    assert release.graph.edges == pytest.approx(TOWN.number_of_edges(), rel=0.05)
    rows = {each.statistic: each for each in release.comparisons}
    assert rows["average clustering"].synthetic == pytest.approx(nx.average_clustering(TOWN), rel=0.2)
    assert release.loss == dp.pure(20)
    assert Graph.from_networkx(release.to_networkx()).ends.tolist() == release.graph.ends.tolist()
    assert release.to_arrow().num_rows == release.graph.edges
    assert "communities" in release.note() and "triangles" in str(release)


def test_the_same_question_is_free_and_has_the_same_edges() -> None:
    with dp.connect(ties(), policy_with()) as session:
        town = graphs.open(session, "town")
        first, second = (town.synthetic(spend=dp.pure(1)) for _ in range(2))
        assert first.graph.ends.tolist() == second.graph.ends.tolist()
        assert session.spent == dp.pure(1)
        town.synthetic(spend=dp.pure(2))
        assert session.spent == dp.pure(3)


@pytest.mark.parametrize(
    ("budget", "spend", "charged"),
    [
        ({"epsilon": 2}, dp.pure(1), dp.pure(1)),
        ({"epsilon": 2, "delta": 1e-6}, dp.approx(1, 1e-7), dp.pure(1)),
        ({"rho": 2}, dp.rho("0.5"), dp.rho("0.5")),
    ],
)
def test_currencies(budget: dict[str, Any], spend: dp.Loss, charged: dp.Loss) -> None:
    with dp.connect(ties(), policy_with(budget)) as session:
        released = graphs.open(session, "town").synthetic(spend=spend)
        assert released.loss == charged
        verify_loss(released.certificate)


def test_it_is_stored_read_and_verified(release: GraphSynthesis, tmp_path: Path) -> None:
    release.save(tmp_path / "town.json")
    read = dp.release.load(tmp_path / "town.json")
    assert isinstance(read, GraphSynthesis) and read.to_json() == release.to_json()
    verify_loss(read.certificate)


def changed(release: GraphSynthesis, change: Any) -> dict[str, Any]:
    certificate = json.loads(json.dumps(dict(release.certificate)))
    change(certificate)
    return certificate


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["measured"]["degrees"].update(scale="1/100"),
        lambda c: c["measured"]["clustering"].update(scale="1"),
        lambda c: c["measured"]["triangles"].update(epsilon="19"),
        lambda c: c["measured"]["triangles"].update(statistic="2-stars"),
        lambda c: c["measured"]["triangles"].update(vertices=100),
        lambda c: c["measured"].update(vertices=2),
        lambda c: c["measured"].pop("clustering"),
        lambda c: c.update(protects="node"),
        lambda c: c.update(measured=[]),
    ],
)
def test_a_certificate_that_was_changed_is_refused(release: GraphSynthesis, change: Any) -> None:
    with pytest.raises(LedgerError):
        verify_loss(changed(release, change))


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(edges=[[0, 0], [1, 1]]),
        lambda s: s.update(edges=[[0], [200]]),
        lambda s: s.update(edges=[[0.5], [1]]),
        lambda s: s.update(survival=[1]),
        lambda s: s.update(triangles="4"),
        lambda s: s.update(clustering=[2**70]),
        lambda s: s.pop("measured"),
    ],
)
def test_a_file_that_was_changed_is_refused(release: GraphSynthesis, change: Any) -> None:
    stored = json.loads(release.to_bytes())
    change(stored)
    with pytest.raises(LedgerError):
        GraphSynthesis.from_bytes(json.dumps(stored).encode())


def test_refusals_come_before_the_charge() -> None:
    with dp.connect(ties(), policy_with({"mu": 1})) as session:
        with pytest.raises(ParameterError, match="mu"):
            graphs.open(session, "town").synthetic(spend=dp.mu(1))
        with pytest.raises(ParameterError):
            graphs.open(session, "town").synthetic(spend=1)  # type: ignore[arg-type]
    with (
        dp.connect(ties(), policy_with(protects="node")) as session,
        pytest.raises(QueryError, match="protects people"),
    ):
        graphs.open(session, "town").synthetic(spend=dp.pure(1))
    with dp.connect(ties(), policy_with(vertices=2)) as session:
        with pytest.raises(ParameterError, match="vertices"):
            graphs.open(session, "town").synthetic(spend=dp.pure(1))
        assert session.spent.epsilon() == 0
