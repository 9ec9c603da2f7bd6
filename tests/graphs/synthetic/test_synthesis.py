"""A synthetic graph has what was measured, and depends on nothing else."""

from __future__ import annotations

import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.counts import triangles
from discreet.graphs.synthetic import MeasurementPlan, NoisyMeasurements, synthesize
from discreet.graphs.synthetic._blocks import block_graph
from discreet.graphs.synthetic._statistics import UNIT, clustering_by_class, survival
from discreet.graphs.synthetic._targets import targets_of
from discreet.privacy import approx, mu, pure, rho


@pytest.fixture(scope="module")
def clustered() -> Graph:
    return Graph.from_networkx(nx.relaxed_caveman_graph(60, 10, 0.2, seed=2))


@pytest.mark.parametrize("spend", [pure(40), approx(40, 1e-6), rho(20)], ids=str)
def test_a_large_spend_gives_back_what_was_measured(clustered: Graph, spend: object) -> None:
    """Tuned graphs are within 3 % of their targets in each of 30 runs, with a deviation of 1 %; 15 % is far out."""
    plan = MeasurementPlan.calibrate(spend, 600)  # type: ignore[arg-type]
    result = synthesize(plan.measure(clustered))
    degrees = np.sort(clustered.degrees())[::-1]
    assert np.abs(np.sort(result.graph.degrees())[::-1] - degrees).mean() < 0.1
    assert triangles(result.graph) == pytest.approx(triangles(clustered), rel=0.15)
    sums, wanted = clustering_by_class(result.graph).sum(), clustering_by_class(clustered).sum()
    assert sums == pytest.approx(wanted, rel=0.15)
    assert not np.array_equal(result.graph.ends, clustered.ends)


def test_what_blocks_cannot_have_is_in_the_report() -> None:
    """Hubs whose neighbours are hardly joined, in a graph so small that edges at random join them."""
    graph = Graph.from_networkx(nx.powerlaw_cluster_graph(600, 5, 0.8, seed=2))
    rows = {
        each.statistic: each for each in synthesize(MeasurementPlan.calibrate(pure(40), 600).measure(graph)).comparisons
    }
    assert rows["edges"].synthetic == pytest.approx(graph.edges, rel=0.01)
    assert rows["triangles"].measured == pytest.approx(triangles(graph), rel=0.01)
    off = [abs(rows[each].synthetic / rows[each].measured - 1) for each in ("triangles", "average clustering")]
    assert max(off) > 0.1


def test_the_report_shows_both_sides(clustered: Graph) -> None:
    result = synthesize(MeasurementPlan.calibrate(pure(5), 600).measure(clustered))
    rows = {each.statistic: each for each in result.comparisons}
    assert list(rows) == [
        "edges", "largest degree", "pairs of neighbours", "triangles", "global clustering", "average clustering"
    ]  # fmt: skip
    assert rows["edges"].synthetic == result.graph.edges
    assert rows["triangles"].synthetic == triangles(result.graph)
    assert rows["triangles"].std is None  # its noise depends on the graph
    assert rows["average clustering"].std is not None
    assert any("communities" in each for each in result.unmeasured)


def test_edges_come_out_as_arrow_and_networkx(clustered: Graph) -> None:
    result = synthesize(MeasurementPlan.calibrate(pure(5), 600).measure(clustered))
    table = result.to_arrow()
    assert np.column_stack([table["a"].to_numpy(), table["b"].to_numpy()]).tolist() == result.graph.ends.tolist()
    assert table.schema.metadata[b"vertices"] == b"600"
    plain = result.to_networkx()
    assert Graph.from_networkx(plain).ends.tolist() == result.graph.ends.tolist()
    assert plain.number_of_nodes() == 600


def test_any_noise_gives_a_graph() -> None:
    """Post-processing may not fail: what the noise does is nobody's mistake."""
    for vertices in (3, 4, 40):
        plan = MeasurementPlan.calibrate(pure("0.01"), vertices)
        for graph in (Graph.from_pairs([], vertices), Graph.from_networkx(nx.complete_graph(vertices))):
            for _ in range(3):
                result = synthesize(plan.measure(graph))
                assert result.graph.vertices == vertices


@settings(max_examples=20)
@given(st.data())
def test_any_measurements_at_all_give_a_graph(data: st.DataObject) -> None:
    vertices = data.draw(st.integers(3, 12))
    plan = MeasurementPlan.calibrate(pure(1), vertices)
    wild = st.sampled_from([-(2**63), -1, 0, 1, vertices, 2**34, 2**63 - 1])
    classes = len(clustering_by_class(Graph.from_pairs([], vertices)))
    measured = NoisyMeasurements(
        plan,
        np.array(data.draw(st.lists(wild, min_size=vertices - 1, max_size=vertices - 1)), np.int64),
        np.array(data.draw(st.lists(wild, min_size=classes, max_size=classes)), np.int64),
        data.draw(st.sampled_from([-(10**300), -1, 0, 10, 10**300])),
    )
    graph = synthesize(measured).graph
    assert (graph.degrees() <= vertices - 1).all()


def test_noise_is_added_to_each_number() -> None:
    """False alarm below 1e-9: each of 99 numbers is as it was with probability tanh(1/80)."""
    graph = Graph.from_networkx(nx.cycle_graph(100))
    measured = MeasurementPlan.calibrate(pure("0.1"), 100).measure(graph)
    assert np.count_nonzero(measured.survival == survival(graph)) < 40
    assert not np.array_equal(measured.clustering, clustering_by_class(graph))
    assert measured.triangles != 0


def test_measurements_are_centred_with_the_stated_noise() -> None:
    """Mean and variance of 150 × 299 draws, to 8 standard errors (for kurtosis 6): false alarm below 1e-9."""
    graph = Graph.from_networkx(nx.path_graph(300))
    plan = MeasurementPlan.calibrate(pure(1), 300)
    noise = np.array([plan.measure(graph).survival - survival(graph) for _ in range(150)]).astype(float)
    std = plan.degrees.std
    assert abs(noise.mean()) < 8 * std / np.sqrt(noise.size)
    assert noise.var() == pytest.approx(std**2, rel=8 * np.sqrt(5 / noise.size))


def test_a_hub_out_of_noise_is_not_believed() -> None:
    """A graph without edges rarely gets one: at most 30 of 100 with a probability above 1 − 1e-9, at 1.3 % each."""
    plan = MeasurementPlan.calibrate(pure(1), 200)
    empty = Graph.from_pairs([], 200)
    large = sum(int(targets_of(plan.measure(empty)).degrees[0] > 50) for _ in range(100))
    assert large <= 30


# The generator.


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 30])
@pytest.mark.parametrize("clustering", [0.0, 0.4, 1.0])
def test_degrees_are_met(degree: int, clustering: float) -> None:
    graph = block_graph(np.full(300, degree), np.full(8, clustering))
    assert graph.degrees().tolist() == [degree] * 300


def test_degrees_that_no_graph_has_are_met_in_part() -> None:
    graph = block_graph(np.array([5, 5, 1, 0, 0, 0]), np.full(3, 0.5))
    assert graph.edges <= 2
    full = block_graph(np.full(40, 39), np.full(6, 1.0))
    assert full.edges == 40 * 39 // 2


def test_more_clustering_asked_for_gives_more() -> None:
    sums = [clustering_by_class(block_graph(np.full(600, 12), np.full(8, c))).sum() / UNIT / 600 for c in (0, 0.3, 0.7)]
    assert sums[0] < 0.1 < 0.2 < sums[1] < 0.45 < 0.55 < sums[2]


def test_a_graph_without_triangles_takes_no_more_room_than_its_edges() -> None:
    """Blocks of little clustering are not as large as the graph: here all pairs of vertices would be 4.5 · 10⁶."""
    tree = Graph.from_networkx(nx.full_rary_tree(5, 3_000))
    tracemalloc.start()
    result = synthesize(MeasurementPlan.calibrate(pure(2), 3_000).measure(tree))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30 * 2**20
    assert result.graph.edges == pytest.approx(tree.edges, rel=0.05)
    assert triangles(result.graph) < 0.02 * tree.edges


def test_two_graphs_of_one_measurement_differ(clustered: Graph) -> None:
    measured = MeasurementPlan.calibrate(pure(5), 600).measure(clustered)
    assert not np.array_equal(synthesize(measured).graph.ends, synthesize(measured).graph.ends)


# Bad input.


@pytest.mark.parametrize("vertices", [0, 2, 2**24 + 1, True, 10.0, "10"])
def test_the_number_of_vertices_is_checked(vertices: object) -> None:
    with pytest.raises(ParameterError):
        MeasurementPlan.calibrate(pure(1), vertices)  # type: ignore[arg-type]


@pytest.mark.parametrize("spend", [mu(1), pure("1e-12"), rho("1e-30")], ids=str)
def test_a_spend_that_buys_nothing_is_refused(spend: object) -> None:
    with pytest.raises(ParameterError):
        MeasurementPlan.calibrate(spend, 10)  # type: ignore[arg-type]


def test_a_graph_of_another_size_is_refused() -> None:
    with pytest.raises(ParameterError, match="10 vertices"):
        MeasurementPlan.calibrate(pure(1), 10).measure(Graph.from_pairs([(0, 1)], 9))
    with pytest.raises(ParameterError):
        NoisyMeasurements(MeasurementPlan.calibrate(pure(1), 10), np.zeros(3, np.int64), np.zeros(3, np.int64), 0)
