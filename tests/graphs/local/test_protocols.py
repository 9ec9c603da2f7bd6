"""Estimates are centred, as wrong as stated, and add up over servers; clients report once."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import networkx as nx
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.graphs import Graph
from discreet.graphs.counts import stars, triangles
from discreet.graphs.local import (
    Broadcast,
    CountReport,
    DegreeReport,
    Estimate,
    ListReport,
    LocalDegrees,
    LocalEdges,
    LocalStars,
    LocalTriangles,
    StarReport,
    list_variance,
    neighbour_lists,
)

GRAPH = Graph.from_networkx(nx.relaxed_caveman_graph(2, 6, 0.1, seed=1))
LISTS = neighbour_lists(GRAPH)
N = GRAPH.vertices


def degrees_once() -> Estimate:
    scheme = LocalDegrees(N, 1)
    server = scheme.server()
    for vertex, own in enumerate(LISTS):
        server.add(scheme.report(vertex, own))
    return server.edges()


def edges_once() -> Estimate:
    scheme = LocalEdges(N, 1)
    server = scheme.server()
    for vertex, own in enumerate(LISTS):
        server.add(scheme.report(vertex, own))
    return server.edges()


def stars_once() -> Estimate:
    scheme = LocalStars(N, 8)
    server = scheme.server()
    for vertex, own in enumerate(LISTS):
        server.add(scheme.report(vertex, own))
    return server.stars()


def triangles_once(epsilon: int = 12) -> Estimate:
    """With all that is known of the graph in its standard deviation, where no cap cuts."""
    scheme = LocalTriangles(N, epsilon)
    clients = [scheme.client(vertex, own) for vertex, own in enumerate(LISTS)]
    first = scheme.first_server()
    for client in clients:
        first.add(client.first())
    broadcast = first.broadcast()
    server = scheme.server()
    for client in clients:
        server.add(client.second(broadcast))
    estimate = server.triangles()
    higher = [own[broadcast.rank[own] > broadcast.rank[vertex]] for vertex, own in enumerate(LISTS)]
    return Estimate(estimate.value, sqrt(estimate.std**2 + list_variance(higher, scheme.edges.flip)), estimate.reports)


PROTOCOLS: dict[str, tuple[Callable[[], Estimate], float]] = {
    "edges by degrees": (degrees_once, GRAPH.edges),
    "edges by lists": (edges_once, GRAPH.edges),
    "2-stars": (stars_once, stars(GRAPH)),
    "triangles": (triangles_once, triangles(GRAPH)),
}


def check_errors(name: str, runs: int, tolerance: float) -> None:
    once, truth = PROTOCOLS[name]
    estimates = [once() for _ in range(runs)]
    assert {each.reports for each in estimates} == {N}
    standard = np.array([(each.value - truth) / each.std for each in estimates])
    assert (standard**2).mean() == pytest.approx(1, abs=tolerance)
    assert abs(standard.mean()) < 0.1 + 7 / sqrt(runs)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_errors_are_as_stated(name: str) -> None:
    """The mean square of 100 standardised errors within 8 standard errors (for a kurtosis of 4)."""
    check_errors(name, 100, 8 * sqrt(3 / 100))


@pytest.mark.soak
@pytest.mark.parametrize("name", PROTOCOLS)
def test_mean_square_errors_are_within_a_tenth_of_the_stated_variance(name: str) -> None:
    """9,000 runs: 6.2 standard errors for a kurtosis of 3.3, a false alarm below 1e-9."""
    check_errors(name, 9_000, 0.1)


def test_noisy_degrees_are_by_vertex() -> None:
    scheme = LocalDegrees(N, 100)
    server = scheme.server()
    for vertex, own in enumerate(LISTS):
        server.add(scheme.report(vertex, own))
    assert server.degrees.tolist() == GRAPH.degrees().tolist()  # wrong with a probability of 12 · 2 e^−100


def test_a_large_spend_gives_the_graph_and_its_triangles() -> None:
    edges = LocalEdges(N, 100)
    server = edges.server()
    for vertex, own in enumerate(LISTS):
        server.add(edges.report(vertex, own))
    assert edges.flip > 0
    joined = np.unpackbits(server.rows, axis=1, bitorder="little", count=N)
    wrong = int(np.abs(joined.sum() - GRAPH.edges))
    assert wrong <= 5  # 66 flips of probability 2**−16
    assert triangles_once(100).value == pytest.approx(triangles(GRAPH), abs=10)


def test_servers_add_up() -> None:
    degree, edge, star = LocalDegrees(N, 1), LocalEdges(N, 1), LocalStars(N, 1)
    for scheme in (degree, edge, star):
        reports = [scheme.report(vertex, own) for vertex, own in enumerate(LISTS)]
        one, two, both = scheme.server(), scheme.server(), scheme.server()
        for report in reports:
            (one if report.vertex % 3 else two).add(report)  # type: ignore[arg-type]
            both.add(report)  # type: ignore[arg-type]
        one.merge(two)  # type: ignore[arg-type]
        asked = "stars" if scheme is star else "edges"
        assert getattr(one, asked)() == getattr(both, asked)()
        with pytest.raises(ParameterError, match="both"):
            one.merge(two)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="already"):
            one.add(reports[0])  # type: ignore[arg-type]
        other = type(scheme)(N, 2).server()
        with pytest.raises(ParameterError, match="same protocol"):
            one.merge(other)  # type: ignore[arg-type]


def test_both_rounds_of_triangles_add_up() -> None:
    scheme = LocalTriangles(N, 2)
    clients = [scheme.client(vertex, own) for vertex, own in enumerate(LISTS)]
    one, two, both = (scheme.first_server() for _ in range(3))
    for client in clients:
        report = client.first()
        both.add(report)
        (one if client.vertex % 2 else two).add(report)
    one.merge(two)
    broadcast = both.broadcast()
    assert one.broadcast().rank.tolist() == broadcast.rank.tolist()
    assert np.array_equal(one.broadcast().rows, broadcast.rows)
    left, right, all_of_them = (scheme.server() for _ in range(3))
    for client in clients:
        count = client.second(broadcast)
        all_of_them.add(count)
        (left if client.vertex % 2 else right).add(count)
    left.merge(right)
    assert left.triangles().value == all_of_them.triangles().value
    assert left.triangles().std == pytest.approx(all_of_them.triangles().std)


def test_a_client_reports_once_in_each_round() -> None:
    scheme = LocalTriangles(N, 2)
    client = scheme.client(3, LISTS[3])
    broadcast = scheme.first_server().broadcast()
    with pytest.raises(ParameterError, match="0 of 2 rounds"):
        client.second(broadcast)
    client.first()
    with pytest.raises(ParameterError, match="once"):
        client.first()
    with pytest.raises(ParameterError, match="another protocol"):
        client.second(Broadcast(broadcast.rank[:-1], broadcast.rows))
    client.second(broadcast)
    with pytest.raises(ParameterError, match="once"):
        client.second(broadcast)


def test_a_client_shows_nobody_its_neighbours() -> None:
    assert "neighbours" not in repr(LocalTriangles(N, 2).client(3, LISTS[3]))


def test_lists_are_checked_at_the_client() -> None:
    scheme = LocalDegrees(5, 100)
    assert scheme.report(2, [1, 1, 2, 4]).degree == 2
    assert scheme.report(2, []).degree == 0
    for vertex, own in ((5, [1]), (-1, [1]), (True, [1]), (2, [5]), (2, [-1]), (2, [0.5]), (2, [[1]])):
        with pytest.raises(ParameterError):
            scheme.report(vertex, own)


@pytest.mark.parametrize("vertices", [0, 1, True, 2.0, "9", 2**24 + 1])
@pytest.mark.parametrize("kind", [LocalDegrees, LocalEdges, LocalStars, LocalTriangles])
def test_vertices_are_checked(kind: type[LocalDegrees], vertices: object) -> None:
    with pytest.raises(ParameterError):
        kind(vertices, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0, -1, 101, "x", float("nan")])
@pytest.mark.parametrize("kind", [LocalDegrees, LocalEdges, LocalStars, LocalTriangles])
def test_epsilon_is_checked(kind: type[LocalDegrees], epsilon: object) -> None:
    with pytest.raises(ParameterError):
        kind(10, epsilon)  # type: ignore[arg-type]


def test_reports_that_no_client_makes_are_refused() -> None:
    for server, report in (
        (LocalDegrees(9, 1).server(), DegreeReport(9, 1)),
        (LocalDegrees(9, 1).server(), DegreeReport(-1, 1)),
        (LocalDegrees(9, 1).server(), DegreeReport(1, 2**63)),
        (LocalDegrees(9, 1).server(), DegreeReport(1, 1.5)),  # type: ignore[arg-type]
        (LocalEdges(9, 1).server(), ListReport(3, b"")),
        (LocalEdges(9, 1).server(), ListReport(3, b"\xff")),
        (LocalEdges(9, 1).server(), ListReport(9, b"\x00\x00")),
        (LocalStars(9, 1).server(), StarReport(1, 0, 5)),
        (LocalStars(9, 1).server(), StarReport(1, 9, 5)),
        (LocalTriangles(9, 1).server(), CountReport(1, 9, 5)),
        (LocalTriangles(9, 1).server(), CountReport(1, 3, "5")),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError):
            server.add(report)  # type: ignore[arg-type]
        assert len(server._reported) == 0  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="leaves"):
        LocalStars(9, 1, 9)
    with pytest.raises(ParameterError, match="too small"):
        LocalEdges(9, "1e-6")
