"""What would go wrong: each mutant loses more than it claims, exactly, on small graphs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.graphs.node.laws import Computed, Everything, law_of_scores
from tests.graphs.node.neighbours import key_of, removals, small, without_vertex
from tests.graphs.small import atlas

from discreet.graphs import Graph, counts
from discreet.graphs.node import (
    FORESTS,
    HALF_EDGES,
    PACKED,
    NodeCount,
    SpanningForests,
    block_sums,
    edge_flow,
    edge_order,
    projected_degrees,
)
from discreet.graphs.node._degrees import sums_sensitivity
from discreet.graphs.node._simplex import exact_packing
from discreet.mechanisms import DiscreteLaplace, PermuteAndFlip
from discreet.privacy import pure

NAMES = ["ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal"]
EPSILON = 1.0


def laplace_loss(values: list[np.ndarray], scale: float) -> float:
    """Of discrete Laplace noise on each number, exactly: the log ratio of chances is largest beyond all values."""
    return float(np.abs(values[0] - values[1]).sum()) / scale


def largest(measured: Callable[[Graph], np.ndarray], scale: float, most: int = 5) -> float:
    return max(
        laplace_loss([measured(graph), measured(fewer)], scale) for graph in small(most) for _, fewer in removals(graph)
    )


def flow(graph: Graph, cap: int) -> np.ndarray:
    return np.array([edge_flow(graph, cap)])


def test_the_real_flow_is_within_its_claim_and_half_edges_with_the_sensitivity_of_edges_lose_twice_as_much() -> None:
    assert largest(lambda graph: flow(graph, 2), HALF_EDGES.sensitivity(2) / EPSILON) == EPSILON
    assert largest(lambda graph: flow(graph, 2), 2 / EPSILON) == 2 * EPSILON


def test_vertices_above_the_cap_left_out_with_all_edges() -> None:
    """One edge more pushes all neighbours of a new vertex over the cap: no cap bounds what goes with them."""

    def naive(graph: Graph) -> np.ndarray:
        small_enough = graph.degrees() <= 2
        return np.array([int(small_enough[graph.ends].all(axis=1).sum())])

    assert largest(naive, 2 / EPSILON, most=6) >= 1.5 * EPSILON


def test_no_cap_at_all() -> None:
    assert largest(lambda graph: np.array([graph.edges]), 2 / EPSILON, most=6) == 2.5 * EPSILON


def test_noise_for_one_in_each_degree() -> None:
    """A vertex moves the counts of degrees of all its neighbours."""
    assert largest(lambda graph: np.bincount(graph.degrees(), minlength=8), 1 / EPSILON) >= 9 * EPSILON


def test_a_cap_read_off_the_data_tells_itself_by_the_scale_of_its_noise() -> None:
    """Far out, chances at the two scales differ without bound."""
    star = Graph.from_pairs([(0, 1), (0, 2), (0, 3), (4, 5)], 6)
    fewer = without_vertex(star, 0)
    scales = [int(graph.degrees().max()) / EPSILON for graph in (star, fewer)]
    centres = [star.edges, fewer.edges]

    def log_chance(x: int, scale: float, centre: int) -> float:
        return math.log(math.tanh(1 / (2 * scale))) - abs(x - centre) / scale

    ratios = [
        abs(log_chance(x, scales[0], centres[0]) - log_chance(x, scales[1], centres[1])) for x in (20, 200, 2_000)
    ]
    assert ratios[0] > 5 * EPSILON and ratios[1] > 50 * EPSILON and ratios[2] > 500 * EPSILON


def test_the_best_cap_taken_without_a_choice_that_is_paid() -> None:
    """The cap that is released has chance 1 on one graph and 0 on its neighbour: no ε covers it."""
    every = Everything(NodeCount("edges", 4, pure(100)))
    best = [
        (int(np.argmin(every[graph].scores)), int(np.argmin(every[fewer].scores)))
        for graph in small(5)
        for _, fewer in removals(graph)
    ]
    assert any(a != b for a, b in best)


def test_a_tolerance_that_is_not_charged() -> None:
    """A solver may return any value within its tolerance: on the graph the largest, on its neighbour the least."""
    square = Graph.from_pairs([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    fewer = without_vertex(square, 0)
    members = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    for cap in (1, 2):
        weights, _ = exact_packing(members, np.ones(4, np.int64), 4, cap)
        less, _ = exact_packing(np.array([[0, 1, 2]]), np.ones(1, np.int64), 3, cap)
        exact = [math.ceil(PACKED.steps * sum(weights)), math.ceil(PACKED.steps * sum(less))]
        for graph, value in ((square, exact[0]), (fewer, exact[1])):
            mine = Computed(NodeCount("triangles", 3, pure(1)), graph).count.extension(graph).truncated(cap).value
            assert value - 1 <= mine <= value + PACKED.slack * cap
    star = Graph.from_pairs([(0, 1), (0, 2), (0, 3), (0, 4)])
    gone = without_vertex(star, 0)
    for cap in (1, 6):
        value = PACKED.steps * cap  # all stars have the centre, so that nothing is left without it
        true = NodeCount("stars", 4, pure(1)).extension(star).truncated(cap).value
        assert value <= true <= value + PACKED.slack * cap
        assert NodeCount("stars", 4, pure(1)).extension(gone).truncated(cap).value == 0
        worst = value + PACKED.slack * cap
        assert worst / (PACKED.sensitivity(cap) / EPSILON) == EPSILON
        assert worst / (PACKED.steps * cap / EPSILON) > EPSILON


def star_and_without(leaves: int) -> tuple[Graph, Graph]:
    star = Graph.from_pairs([(0, leaf) for leaf in range(1, leaves + 1)])
    return star, without_vertex(star, 0)


def test_the_real_components_are_within_their_claim_which_is_less_than_the_cap() -> None:
    """The centre of a star joins four parts: all of the sensitivity but for the tolerance."""
    cap, loss = 4, 0.0
    for graph in [star_and_without(4)[0], *small(4)]:
        mine = FORESTS.measured(SpanningForests(graph).truncated(cap).value, graph.vertices)
        for _, fewer in removals(graph):
            less = FORESTS.measured(SpanningForests(fewer).truncated(cap).value, fewer.vertices)
            loss = max(loss, abs(mine - less) / (FORESTS.sensitivity(cap) / EPSILON))
    assert 0.97 * EPSILON < loss <= EPSILON


def test_components_with_noise_for_one_as_where_an_edge_is_protected() -> None:
    star, fewer = star_and_without(4)
    moved = abs(counts.components(star) - counts.components(fewer))
    assert moved / (1 / EPSILON) == 3 * EPSILON


def test_a_tolerance_of_forests_that_is_not_charged() -> None:
    """The star at the top of the tolerance, as a certificate allows: nothing is left to tolerate without its centre."""
    for cap in (4, 8):
        star, fewer = star_and_without(cap)
        top = FORESTS.steps * cap + FORESTS.slack * cap
        exact = SpanningForests(star).truncated(cap).value
        assert FORESTS.steps * cap <= exact <= top and SpanningForests(fewer).truncated(cap).value == 0
        moved = abs(FORESTS.measured(top, star.vertices) - FORESTS.measured(0, fewer.vertices))
        assert moved / (FORESTS.sensitivity(cap) / EPSILON) == EPSILON
        assert moved / (FORESTS.steps * (cap - 1) / EPSILON) > EPSILON


def test_components_of_vertices_within_the_cap() -> None:
    """A vertex that comes pushes the middle of each path it is joined to over the cap: all of their edges go."""

    def naive(graph: Graph, cap: int) -> int:
        within = graph.degrees() <= cap
        return counts.components(Graph(graph.vertices, graph.ends[within[graph.ends].all(axis=1)]))

    paths = Graph.from_pairs([(3 * i + 1, 3 * i + j) for i in range(3) for j in (0, 2)], 10)
    joined = Graph.from_pairs([*paths.ends.tolist(), *((3 * i + 1, 9) for i in range(3))])
    fewer = without_vertex(joined, 9)
    assert abs(naive(joined, 2) - naive(fewer, 2)) / (1 / EPSILON) == 7 * EPSILON
    values = [FORESTS.measured(SpanningForests(g).truncated(2).value, g.vertices) for g in (joined, fewer)]
    assert abs(values[0] - values[1]) <= FORESTS.sensitivity(2)


def test_components_of_who_has_an_edge() -> None:
    """Without a list of people, the leaves of a star go with its centre: ten vertices less a forest, and then none."""
    cap, (star, _) = 4, star_and_without(9)
    measured = FORESTS.measured(SpanningForests(star).truncated(cap).value, star.vertices)
    assert measured / (FORESTS.sensitivity(cap) / EPSILON) > 1.9 * EPSILON


def projection_loss(order: Callable[[Graph, list[str]], np.ndarray], cap: int = 2) -> float:
    """Of noise on the sums over blocks, for all graphs of up to 6 vertices."""
    worst = 0.0
    for graph in small(6, drawn=40):
        names = [*NAMES, *"abcdefgh"][: graph.vertices]
        sums = block_sums(projected_degrees(graph, cap, order(graph, names)), cap)
        for vertex, fewer in removals(graph):
            left = names[:vertex] + names[vertex + 1 :]
            less = block_sums(projected_degrees(fewer, cap, order(fewer, left)), cap)
            worst = max(worst, laplace_loss([sums, less], sums_sensitivity(cap) / EPSILON))
    return worst


def by_row(graph: Graph, names: list[str]) -> np.ndarray:
    """A hash of the row's number: a vertex that goes shifts the rows after it, and they are ordered anew."""
    rows = np.arange(graph.edges, dtype=np.uint64)
    return np.argsort((rows * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40), kind="stable")


def by_degree(graph: Graph, names: list[str]) -> np.ndarray:
    """Edges of vertices of low degree first: degrees are of the data, and a vertex that goes changes them."""
    return np.argsort(graph.degrees()[graph.ends].sum(axis=1), kind="stable")


def test_a_projection_in_the_order_of_rows_or_degrees() -> None:
    assert projection_loss(lambda graph, names: edge_order(graph, names, b"salt")) <= EPSILON
    assert projection_loss(by_row) > 1.3 * EPSILON
    assert projection_loss(by_degree) > 1.3 * EPSILON


def test_the_vertex_itself_forgotten_in_the_sums() -> None:
    cap, worst = 2, 0.0
    for graph in small(5):
        degrees = projected_degrees(graph, cap, np.arange(graph.edges))
        for _, fewer in removals(graph):
            less = projected_degrees(fewer, cap, np.arange(fewer.edges))
            worst = max(worst, laplace_loss([block_sums(degrees, cap), block_sums(less, cap)], cap / EPSILON))
    assert worst > 1.4 * EPSILON


STAR = [(f"leaf {i}", "the centre") for i in range(8)]


def sums_of(pairs: list[tuple[str, str]], people: list[str], numbered: Callable[[str], object]) -> np.ndarray:
    """The sums at a cap of 8, of vertices that are numbered so."""
    place = {each: i for i, each in enumerate(sorted({str(numbered(name)) for name in people}))}
    numbers = [(place[str(numbered(a))], place[str(numbered(b))]) for a, b in pairs]
    return block_sums(Graph.from_pairs(np.array(numbers, np.int64).reshape(-1, 2), len(place)).degrees(), 8)


def test_listed_people_with_the_noise_of_those_who_come_and_go() -> None:
    """The centre of a star stays without its edges, and its own degree moves the sums as well."""
    people = sorted({name for pair in STAR for name in pair})
    sums = [sums_of(pairs, people, str) for pairs in (STAR, [])]
    assert laplace_loss(sums, sums_sensitivity(8, listed=True) / EPSILON) == EPSILON
    assert laplace_loss(sums, sums_sensitivity(8) / EPSILON) > 1.7 * EPSILON


def test_names_by_a_digest_that_two_people_share() -> None:
    """Of two people with one digest one can go, and the other is still there under it."""
    people = [*sorted({name for pair in STAR for name in pair}), "somebody else"]
    digests = {name: i for i, name in enumerate(people)} | {"somebody else": people.index("the centre")}
    for numbered, least, most in ((str, 0.0, EPSILON), (digests.__getitem__, 1.7 * EPSILON, 2 * EPSILON)):
        sums = sums_of(STAR, people, numbered), sums_of([], [each for each in people if each != "the centre"], numbered)
        assert least < laplace_loss(list(sums), sums_sensitivity(8) / EPSILON) <= most


def choice_loss(weight: Callable[[int, int], Fraction]) -> float:
    """Of permute-and-flip at ε = 1 on scores of truncated edges with another weight, without penalties."""
    caps, choice, worst = (1, 2, 4), PermuteAndFlip(1, 1), 0.0
    known: dict[tuple[int, bytes], list[float]] = {}

    def law(graph: Graph) -> list[float]:
        if key_of(graph) not in known:
            known[key_of(graph)] = fresh_law(graph)
        return known[key_of(graph)]

    def fresh_law(graph: Graph) -> list[float]:
        values = [edge_flow(graph, cap) - 2 * cap for cap in caps]
        return law_of_scores(
            choice,
            [max((q - values[i]) / weight(caps[i], caps[j]) for j, q in enumerate(values)) for i in range(len(caps))],
        )

    graphs = [Graph.from_networkx(plain) for plain in atlas() if 0 < len(plain) <= 5]
    for graph in graphs:
        for _, fewer in removals(graph):
            worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(law(graph), law(fewer), strict=True)))
    return worst


def test_scores_of_caps_that_are_not_scaled_by_the_larger_one() -> None:
    assert choice_loss(lambda a, b: Fraction(2 * max(a, b))) <= EPSILON
    assert choice_loss(lambda a, b: Fraction(2 * min(a, b))) > 1.15 * EPSILON
    assert choice_loss(lambda a, b: Fraction(2)) > 1.4 * EPSILON


def test_the_choice_of_a_cap_that_is_not_charged() -> None:
    """All of ε for the noise, and as much again for the choice."""
    count = NodeCount("edges", 3, pure(1))
    every = Everything(count)
    worst = 0.0
    for graph in small(5):
        for _, fewer in removals(graph):
            mine, other = every[graph], every[fewer]
            for cap, p, q in zip(count.caps, mine.law, other.law, strict=True):
                noise = DiscreteLaplace.calibrate(pure(1), HALF_EDGES.sensitivity(cap))
                moved = abs(mine.values[cap].value - other.values[cap].value) / float(noise.scale)
                worst = max(worst, abs(math.log(p / q)) + moved)
    assert worst > 1.05 * EPSILON


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(9, 10)])
def test_noise_of_less_than_the_cap(factor: Fraction) -> None:
    assert largest(lambda graph: flow(graph, 3), float(HALF_EDGES.sensitivity(3) * factor)) > EPSILON
