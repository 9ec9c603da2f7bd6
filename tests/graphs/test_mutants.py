"""Mistakes in counts of graphs: what each loses on graphs that differ in one edge, by the law of its noise.

A mutant is the real code with one mistake patched in. Its laws on the pair are read where the noise is drawn, so its
loss is exact: of Pareto noise at the places where it is largest, of discrete Laplace noise in closed form. A sound
answer of the same question stays within its claim, and every mutant is above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import graphs
from discreet.graphs import Graph
from discreet.graphs.counts import CLUSTERING_UNIT
from discreet.graphs.edge import _measurements, _question, _smooth_count
from discreet.policy import load_policy
from discreet.release import ReleaseContext, Terms
from discreet.sensitivity import Norms, Profile

N = 12
COLUMN = {"type": "int", "bounds": [0, N - 1], "nullable": False}
POLICY = {
    "version": "1",
    "budget": {"epsilon": 1000},
    "tables": {"ties": {"unit": "rows", "columns": {"a": COLUMN, "b": COLUMN}}},
    "graphs": {"g": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
}
STATISTICS = [
    *("edges", "components", "largest degree", "degeneracy"),
    *("triangles", "2-stars", "4-cycles", "4-cliques", "average clustering"),
    *("degree products", "degree assortativity"),
]
Rows = list[tuple[int, int]]
Law = tuple[Any, ...]

HUBS: Rows = [(hub, leaf) for hub in (0, 1) for leaf in range(2, N)]
CLIQUE: Rows = [(a, b) for a in range(N) for b in range(a) if (a, b) != (1, 0)]
STAR: Rows = [(0, leaf) for leaf in range(1, N - 1)]
PATH: Rows = [(0, 1)]
PAIRS: dict[str, tuple[Rows, Rows]] = {
    "hubs": (HUBS, [*HUBS, (0, 1)]),
    "clique": (CLIQUE, [*CLIQUE, (1, 0)]),
    "star": (STAR, [*STAR, (0, N - 1)]),
    "wedge": (PATH, [*PATH, (1, 2)]),
    "two ways": ([(2, 3)], [(2, 3), (0, 1), (1, 0)]),
    "last vertex": ([(0, 1)], [(0, 1), (0, N - 1)]),
}


@contextmanager
def laws() -> Iterator[list[Law]]:
    """What is drawn, in order: ("pareto", center, scale, shape) and ("laplace", values, scale); without noise."""
    drawn: list[Law] = []

    def pareto(center: Fraction, scale: Fraction, shape: int) -> int:
        drawn.append(("pareto", float(center), float(scale), shape))
        return round(center)

    def noisy(exact: Any, mechanism: Any) -> Any:
        drawn.append(("laplace", np.asarray(exact, float).tolist(), float(mechanism.scale)))
        return exact

    with (
        patch.object(_smooth_count, "rounded_pareto", pareto),
        patch.object(_measurements, "with_noise", noisy),
        patch.object(_question, "with_noise", noisy),
    ):
        yield drawn


def asked(rows: Rows, statistic: str, spend: dp.Loss) -> list[Law]:
    ends = [pa.array(np.array(rows, np.int64)[:, place]) for place in range(2)]
    policy = load_policy(POLICY)
    context = ReleaseContext(policy, refused, refused, dict, lambda *_: pa.table(ends, ["v0", "v1"]))
    question = graphs.ReleaseDegrees("g", spend) if statistic == "degrees" else graphs.CountGraph("g", statistic, spend)
    with laws() as drawn:
        question.prepare(Terms.of_policy(policy)).answer(context)
    return drawn


def refused(*_: Any) -> Any:
    raise AssertionError("a graph is read by its rows")


def lost(one: Law, other: Law) -> float:
    """The loss of one draw: infinite where a scale is 0 or something is drawn without noise."""
    if one[0] == "laplace":
        (_, first, scale), (_, second, same) = one, other
        if scale != same or len(first) != len(second):
            return math.inf
        return sum(abs(a - b) for a, b in zip(first, second, strict=True)) / scale
    (_, a, s, shape), (_, b, t, _) = one, other
    if min(s, t) <= 0:
        return 0.0 if (a, s) == (b, t) else math.inf
    sizes = np.concatenate([[0.0], np.geomspace(1e-6, 1e12, 500)])
    at = np.concatenate([a + s * sizes, a - s * sizes, b + t * sizes, b - t * sizes])
    ratio = math.log(t / s) + (shape + 1) * (np.log1p(np.abs(at - b) / t) - np.log1p(np.abs(at - a) / s))
    return float(np.abs(ratio).max())


def total(pair: str, statistic: str, spend: dp.Loss) -> float:
    first, second = (asked(rows, statistic, spend) for rows in PAIRS[pair])
    assert len(first) == len(second) > 0
    return sum(lost(one, other) for one, other in zip(first, second, strict=True))


_smooth, _rate, _from_pieces = _smooth_count.smooth, _smooth_count.pareto_rate, Graph.from_pieces.__func__


def local(statistic: Any, graph: Graph, beta: Any) -> float:
    """The raw local sensitivity."""
    return statistic.profile(graph).at_distance(0)


def product_alone(statistic: Any, graph: Graph, beta: Any) -> float:
    """The product that the new edge has."""
    degrees = np.sort(graph.degrees())
    return float((degrees[-1] + 1) * (degrees[-2] + 1))


def local_search(statistic: Any, graph: Graph, beta: Any) -> float:
    """The largest change by one edge, by trying all."""
    value = statistic.value(graph)
    return float(max(abs(statistic.value(graph.toggled(a, b)) - value) for a in range(N) for b in range(a)))


def one_step_less(statistic: Any, graph: Graph, beta: Any) -> float:
    """The maximum over k without e**(−βk): it is nothing but the local sensitivity of k = 1, and not smooth."""
    profile: Profile = statistic.profile(graph)
    return math.exp(-float(beta)) * profile.at_distance(1)


def present_edges(statistic: Any, graph: Graph, beta: Any) -> float:
    """Of the edges that are there, not of those that could be."""
    values = [abs(statistic.value(graph) - statistic.value(graph.toggled(int(a), int(b)))) for a, b in graph.ends]
    return float(max(values, default=0))


def average(statistic: Any, graph: Graph, beta: Any) -> float:
    """The average sensitivity of an edge, not the largest."""
    values = [abs(statistic.value(graph) - statistic.value(graph.toggled(int(a), int(b)))) for a, b in graph.ends]
    return max(float(np.mean(values or [0])), 1e-9)


def with_repeats(cls: Any, pieces: Any, vertices: int) -> Graph:
    """Repeats count: the graph is made larger by a vertex for each row, joined once."""
    rows = np.concatenate([*pieces])
    graph = _from_pieces(cls, [rows], vertices)
    extra = np.array([[0, graph.vertices + i] for i in range(len(rows) - graph.edges)], np.int64).reshape(-1, 2)
    return _from_pieces(cls, [graph.ends, extra], graph.vertices + len(extra))


def vertices_seen(pieces: Any, _: int) -> Graph:
    rows = np.concatenate([*pieces])
    return _from_pieces(Graph, [rows], int(rows.max()) + 1)


@dataclass(frozen=True)
class Mutant:
    """A mistake, on which pair and in which statistic it shows at ε = 1."""

    name: str
    why: str
    pair: str
    statistic: str
    patches: tuple[tuple[Any, str, Any], ...]


def named_bound(name: str) -> Callable[..., Any]:
    return lambda _, vertices, spend: _measurements.Measurement(
        name, _measurements.additive_prices(spend, Norms(1, 1, 1)).measurement(Fraction(1))
    )


MUTANTS = (
    Mutant(
        "local sensitivity", "The noise has the scale of the raw local sensitivity, which tells of edges.", "wedge",
        "triangles", ((_smooth_count, "smooth", local),),
    ),
    Mutant(
        "sensitivity of present edges", "Edges that could be added are forgotten.", "hubs", "triangles",
        ((_smooth_count, "smooth", present_edges),),
    ),
    Mutant(
        "average sensitivity", "The noise is for an average edge.", "hubs", "triangles",
        ((_smooth_count, "smooth", average),),
    ),
    Mutant(
        "one distance alone", "Only graphs at distance 1 are looked at.", "wedge", "2-stars",
        ((_smooth_count, "smooth", one_step_less),),
    ),
    Mutant(
        "twice the rate", "The noise is half as wide.", "clique", "triangles",
        ((_smooth_count, "pareto_rate", lambda epsilon, shape: 2 * _rate(epsilon, shape)),),
    ),
    Mutant(
        "rate of Laplace noise", "The scale is S/ε, as for Laplace noise, and not S/ε times the shape.", "clique",
        "triangles", ((_smooth_count, "pareto_rate", lambda epsilon, shape: epsilon),),
    ),
    Mutant(
        "a beta of epsilon", "S may change by e**ε at a step, and the tails are stretched by it.", "wedge", "triangles",
        ((_smooth_count.SmoothCount, "beta", property(lambda self: self.epsilon)),),
    ),
    Mutant(
        "half of the triangles' sensitivity", "Each triangle is divided by 3, and the sensitivity is too.", "hubs",
        "triangles", ((_smooth_count, "smooth", lambda *given: _smooth(*given) / 3),),
    ),
    Mutant(
        "the whole spend twice", "Clustering spends all of it on triangles, and all of it on 2-stars.", "clique",
        "global clustering", ((_measurements, "part_of", lambda spend, _: spend),),
    ),
    Mutant(
        "one degree for each edge", "Laplace noise of 1/ε on each degree: an edge moves two.", "wedge", "degrees",
        ((_question, "DEGREES_MOVED", Norms(1, 1, 1)),),
    ),
    Mutant(
        "repeats count", "A row more, and not an edge more, is taken for a neighbour.", "two ways", "edges",
        ((Graph, "from_pieces", classmethod(with_repeats)),),
    ),
    Mutant(
        "vertices that are seen", "The number of vertices is one more than the largest in the rows.", "last vertex",
        "degrees", ((Graph, "from_pieces", classmethod(lambda _, pieces, n: vertices_seen(pieces, n))),),
    ),
    Mutant(
        "stars moved by one", "2-stars get the noise of what an edge moves by 1.", "star", "2-stars",
        (
            (_measurements, "measurement", named_bound("2-stars")),
            (_measurements, "_MOVED_BY_ONE", {"2-stars": lambda graph: math.comb(int(graph.degrees().max()), 2)}),
        ),
    ),
    Mutant(
        "the product of degrees alone", "The edges beside the one that comes are forgotten, whose products grow too.",
        "clique", "degree products", ((_smooth_count, "smooth", product_alone),),
    ),
    Mutant(
        "the whole spend four times", "Assortativity spends all of it on each of its counts.", "hubs",
        "degree assortativity", ((_measurements, "part_of", lambda spend, _: spend),),
    ),
    Mutant(
        "three coefficients", "An edge moves the clustering of its ends and of one other vertex, no more.", "hubs",
        "average clustering", ((_smooth_count, "smooth", lambda statistic, *_: 3.0 * CLUSTERING_UNIT),),
    ),
    Mutant(
        "local sensitivity of clustering", "The noise has the scale of the raw local sensitivity.", "last vertex",
        "average clustering", ((_smooth_count, "smooth", local_search),),
    ),
    Mutant(
        "clustering by vertices", "The sensitivity of the mean for the noise of the sum.", "hubs",
        "average clustering", ((_smooth_count, "smooth", lambda *given: _smooth(*given) / N),),
    ),
)  # fmt: skip


def test_each_has_its_own_name() -> None:
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 10


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_loses_more_than_it_claims_and_the_sound_code_does_not(mutant: Mutant) -> None:
    spend = dp.pure(1)
    assert total(mutant.pair, mutant.statistic, spend) <= 1 + 1e-9
    with ExitStack() as stack:
        for where, name, broken in mutant.patches:
            stack.enter_context(patch.object(where, name, broken))
        seen = total(mutant.pair, mutant.statistic, spend)
    print(f"{mutant.name}: {seen:.3f}")
    assert seen > 1.05


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_sound_answers_stay_within_their_claims(pair: str, statistic: str) -> None:
    assert total(pair, statistic, dp.pure("0.5")) <= 0.5 + 1e-9
