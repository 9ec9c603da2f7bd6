"""Counts and degrees of graphs, seen by somebody who knows all edges and wonders about one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.catalog._entry import Entry
from discreet.graphs import (
    CountGraph,
    DirectedGraph,
    Graph,
    Ladder,
    NoisyAggregation,
    RandomizedGraph,
    ReleaseMixing,
    SmoothCount,
)
from discreet.graphs.counts import ClusteringSum, Stars, Triangles
from discreet.graphs.edge import Measurement, measurements, mixing_counts
from discreet.graphs.node import CapScores, EdgeFlows, NodeCount, NodeDegrees, choose_cap, edge_order, projected_degrees
from discreet.mechanisms import DiscreteLaplace
from discreet.noise import rounded_pareto
from discreet.prices import Additive, Choice, with_noise
from discreet.privacy import mu, pure

__all__ = ["graph_entries"]

_LEAVES = 80
_DEGREE = 64


@dataclass(frozen=True, eq=False)
class _Counted:
    """A count with noise, drawn many times: the scale is computed once for each graph."""

    mechanism: SmoothCount

    def draw(self, data: Graph, size: int) -> list[int]:
        """`size` independent counts."""
        value, scale = self.mechanism.before_noise(data)
        return [rounded_pareto(Fraction(value), scale, self.mechanism.shape) for _ in range(size)]


@dataclass(frozen=True, eq=False)
class _Climbed:
    """A count by the ladder, drawn many times: A(G, k) is computed once for each graph."""

    mechanism: Ladder

    def draw(self, data: Graph, size: int) -> list[int]:
        """`size` independent counts."""
        return self.mechanism.law(data).draw(size)


@dataclass(frozen=True, eq=False)
class _Mixed:
    """Numbers of edges between the values of vertices, drawn many times."""

    mechanism: Additive
    places: NDArray[np.int64]

    def draw(self, data: Graph, size: int) -> list[tuple[int, ...]]:
        """`size` independent lists of noisy numbers."""
        counts = mixing_counts(data, self.places, int(self.places.max()) + 1)
        return [tuple(row) for row in with_noise(np.tile(counts, (size, 1)), self.mechanism).tolist()]


@dataclass(frozen=True, eq=False)
class _Returned:
    """The joined and the mutual pairs of a directed graph, drawn many times."""

    measurement: Measurement

    def draw(self, data: DirectedGraph, size: int) -> list[tuple[int, ...]]:
        """`size` independent pairs of noisy numbers."""
        return [self.measurement.draw(data) for _ in range(size)]


@dataclass(frozen=True, eq=False)
class _Flipped:
    """A randomised graph, drawn many times."""

    mechanism: RandomizedGraph

    def draw(self, data: Graph, size: int) -> list[bytes]:
        """`size` independent graphs, as bytes."""
        return [self.mechanism.release(data).tobytes() for _ in range(size)]


@dataclass(frozen=True, eq=False)
class _CutCount:
    """A count under a cap, drawn many times: the truncations are computed once for each graph."""

    mechanism: NodeCount

    def draw(self, data: Graph, size: int) -> list[tuple[int, int]]:
        """`size` independent pairs of the cap and the count in steps."""
        scores = self.mechanism.scores(self.mechanism.extension(data).truncated)
        caps = _chosen(self.mechanism.choice, scores, size)
        return [(self.mechanism.caps[i], self._noisy(scores, i, data.vertices)) for i in caps]

    def _noisy(self, scores: CapScores, i: int, vertices: int) -> int:
        measured = self.mechanism.resolution.measured(scores.solve(i).value, vertices)
        (noisy,) = self.mechanism.noise(self.mechanism.caps[i]).release([measured])
        return noisy


@dataclass(frozen=True, eq=False)
class _CutDegrees:
    """A distribution of degrees under a cap, drawn many times."""

    mechanism: NodeDegrees

    def draw(self, data: Graph, size: int) -> list[tuple[int, ...]]:
        """`size` independent noisy sums, behind the cap."""
        order = edge_order(data, range(data.vertices), b"a fixed salt")
        scores = self.mechanism.scores(EdgeFlows(data).truncated)
        degrees = {cap: projected_degrees(data, cap, order) for cap in self.mechanism.caps}
        caps = [self.mechanism.caps[i] for i in _chosen(self.mechanism.choice, scores, size)]
        return [(cap, *self.mechanism.measured(degrees[cap], cap).sums.tolist()) for cap in caps]


@dataclass(frozen=True, eq=False)
class _Aggregated:
    """Noisy sums of the neighbours of two vertices, which may be joined, drawn many times, in as many copies of them.

    Vectors are (1), so a sum is 1 or 0, and that of a later hop 1 of either sign or 0: what somebody who knows all but
    the edge makes of the sums is the first number of an output.
    """

    mechanism: NoisyAggregation

    def draw(self, data: Graph, size: int) -> list[tuple[int, ...]]:
        """`size` independent outputs: a score, and the sums of both vertices in each hop."""
        ends = (data.ends[None, :, :] + 2 * np.arange(size)[:, None, None]).reshape(-1, 2)
        noisy = self.mechanism.release(Graph.from_pairs(ends, 2 * size), np.ones((2 * size, 1)))
        sums = noisy.reshape(self.mechanism.hops, size, 2)
        signs = np.concatenate([np.ones((1, size, 2), np.int64), np.where(sums[:-1] < 0, -1, 1)])
        scores = (sums * signs[:, :, ::-1]).sum(axis=(0, 2))
        return [
            (int(score), *each)
            for score, each in zip(scores, sums.swapaxes(0, 1).reshape(size, -1).tolist(), strict=True)
        ]


def _chosen(choice: Choice | None, scores: CapScores, size: int) -> list[int]:
    return [0] * size if choice is None else [choose_cap(choice, scores) for _ in range(size)]


def _hubs() -> Graph:
    """Two vertices with 80 neighbours in common, and no edge between them."""
    return Graph.from_pairs([(hub, leaf) for hub in (0, 1) for leaf in range(2, 2 + _LEAVES)])


def _clique() -> Graph:
    """A clique without one edge: 64 common neighbours of its ends, as of all others."""
    return Graph.from_pairs([(a, b) for a in range(66) for b in range(a)]).toggled(0, 1)


def graph_entries() -> tuple[Entry, ...]:
    """Graphs with an edge and without, and with a person and without.

    >>> [entry.name for entry in graph_entries()][:3]
    ['SmoothCount of two hubs', 'SmoothCount of a clique', 'SmoothCount of a star']
    """
    return (*_edge_entries(), *_ladder_entries(), *_pair_entries(), *_node_entries(), _feature_entry())


def _edge_entries() -> tuple[Entry, ...]:
    epsilon, hubs, clique = 1, _hubs(), _clique()
    star = Graph.from_pairs([(0, leaf) for leaf in range(1, 91)], 92)
    triangles = SmoothCount(Triangles(hubs.vertices), epsilon)
    cliques = SmoothCount(Triangles(clique.vertices), epsilon)
    stars = SmoothCount(Stars(star.vertices, 2), epsilon)
    clustering = SmoothCount(ClusteringSum(hubs.vertices), epsilon)
    cases = (
        ("two hubs", triangles, (hubs, hubs.toggled(0, 1)), "Triangles(82)", "the edge of two hubs is in 80 triangles"),
        ("a clique", cliques, (clique, clique.toggled(0, 1)), "Triangles(66)", "a clique less an edge: 64 triangles"),
        ("a star", stars, (star, star.toggled(0, 91)), "Stars(92, 2)", "an edge at the centre moves 2-stars by 90"),
        (
            "clustering", clustering, (hubs, hubs.toggled(0, 1)), "ClusteringSum(82)",
            "the edge of two hubs moves 80 coefficients from 0 to 1",
        ),
    )  # fmt: skip
    return tuple(
        Entry(
            name=f"SmoothCount of {name}",
            group="graphs",
            shown=f"SmoothCount({shown}, epsilon=1)",
            mechanism=_Counted(mechanism),
            pairs=(pair,),
            claim=pure(epsilon),
            kind=SmoothCount,
            samples=40_000,
            note=f"{note}, which is its local sensitivity; a draw takes a fifth of a millisecond",
        )
        for name, mechanism, pair, shown, note in cases
    )


def _ladder_entries() -> tuple[Entry, ...]:
    hubs, path = _hubs(), Graph.from_pairs([(0, 1)], 12)
    triangles, stars = Ladder(Triangles(hubs.vertices), 1), Ladder(Stars(12, 2), 1)
    cases = (
        (
            "two hubs", triangles, (hubs, hubs.toggled(0, 1)), "Triangles(82)",
            "the edge of two hubs is in 80 triangles, a rung; the rungs are the same, so half of the claim is reached",
        ),
        (
            "a path", stars, (path, path.toggled(1, 2)), "Stars(12, 2)",
            "the count moves by a rung, and each rung is wider by an integer: 0.799 of the claim of 1",
        ),
    )  # fmt: skip
    return tuple(
        Entry(
            name=f"Ladder of {name}",
            group="graphs",
            shown=f"Ladder({shown}, epsilon=1)",
            mechanism=_Climbed(mechanism),
            pairs=(pair,),
            claim=pure(1),
            kind=Ladder,
            samples=40_000,
            note=note,
        )
        for name, mechanism, pair, shown, note in cases
    )


def _pair_entries() -> tuple[Entry, ...]:
    path = Graph.from_pairs([(0, 1), (1, 2)])
    pair = (path, path.toggled(0, 2))
    arc = DirectedGraph.from_pairs([(0, 1)])
    (reciprocity,) = measurements("reciprocity", arc.vertices, pure(1), directed=True)
    return (
        Entry(
            name="CountGraph of an arc",
            group="graphs",
            shown='CountGraph("arc", "reciprocity", spend=pure(1))',
            mechanism=_Returned(reciprocity),
            pairs=((arc, arc.toggled(1, 0)),),
            claim=pure(1),
            kind=CountGraph,
            samples=40_000,
            note="an arc that is returned moves the mutual pairs by 1, and the joined pairs not",
        ),
        Entry(
            name="ReleaseMixing of a path",
            group="graphs",
            shown='ReleaseMixing("path", "dept", spend=pure(1))',
            mechanism=_Mixed(DiscreteLaplace(1), np.array([0, 0, 1])),
            pairs=(pair,),
            claim=pure(1),
            kind=ReleaseMixing,
            samples=40_000,
            note="an edge moves one of three numbers by 1",
        ),
        Entry(
            name="RandomizedGraph of a path",
            group="graphs",
            shown="RandomizedGraph(3, epsilon=1)",
            mechanism=_Flipped(RandomizedGraph(3, 1)),
            pairs=(pair,),
            claim=pure(1),
            kind=RandomizedGraph,
            samples=40_000,
            note="an edge changes one bit of three, and every output attains the claim",
        ),
    )


def _node_entries() -> tuple[Entry, ...]:
    star = Graph.from_pairs([(0, leaf) for leaf in range(1, _DEGREE + 1)])
    alone = star.without(0)
    bound = f"max_degree={_DEGREE}, spend=pure(1)"
    public, bought = (NodeCount("edges", _DEGREE, pure(1), cap) for cap in ("public", "bought"))
    components = NodeCount("components", _DEGREE, pure(1), "public")
    degrees = NodeDegrees(2, pure(1), "public")
    path = Graph.from_pairs([(0, 1), (1, 2)])
    cases: tuple[tuple[str, str, Any, Any, tuple[Graph, Graph], str], ...] = (
        (
            "NodeCount of a star", f'NodeCount("edges", {bound}, cap="public")', _CutCount(public), NodeCount,
            (star, alone), "the centre has all edges",
        ),
        (
            "NodeCount of a star, cap bought", f'NodeCount("edges", {bound})', _CutCount(bought), NodeCount,
            (star, alone), "the centre moves both the choice and the count; no output tells all of either",
        ),
        (
            "NodeCount of components of a star", f'NodeCount("components", {bound}, cap="public")',
            _CutCount(components), NodeCount, (star, Graph.from_pairs([], _DEGREE)),
            "the centre joins all others: 1 component or 64",
        ),
        (
            "NodeDegrees of a path", 'NodeDegrees(max_degree=2, spend=pure(1), cap="public")', _CutDegrees(degrees),
            NodeDegrees, (path, Graph.from_pairs([], 2)), "the middle comes or goes: the sums move by 2, 0 and 1",
        ),
    )  # fmt: skip
    return tuple(
        Entry(
            name=name,
            group="graphs",
            shown=shown,
            mechanism=mechanism,
            pairs=(pair,),
            claim=pure(1),
            kind=kind,
            samples=10_000,
            note=note,
        )
        for name, shown, mechanism, kind, pair, note in cases
    )


def _feature_entry() -> Entry:
    apart, spend = Graph.from_pairs([], 2), mu(1)
    return Entry(
        name="NoisyAggregation of two vertices",
        group="graphs",
        shown="NoisyAggregation.calibrate(mu(1), hops=2)",
        mechanism=_Aggregated(NoisyAggregation.calibrate(spend, 2)),
        pairs=((apart.toggled(0, 1), apart),),
        claim=spend,
        delta="1e-2",
        kind=NoisyAggregation,
        samples=100_000,
        note="the edge moves the sums of both its ends in each hop by as much as it can; outputs are scored",
    )
