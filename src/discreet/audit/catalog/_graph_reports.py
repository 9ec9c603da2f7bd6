"""What is seen of an edge by reports without trust, and in what a synthetic graph is generated from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.catalog._entry import Entry
from discreet.graphs import Graph, SynthesizeGraph
from discreet.graphs.local import LocalDegrees, LocalEdges, LocalStars, LocalTriangles, neighbour_lists
from discreet.graphs.synthetic import MeasurementPlan, clustering_by_class, survival
from discreet.noise import rounded_pareto
from discreet.prices import with_noise
from discreet.privacy import pure

__all__ = ["graph_report_entries"]

_STAR = 12


@dataclass(frozen=True, eq=False)
class _Degrees:
    """The noisy degrees of all clients, behind the least of them."""

    scheme: LocalDegrees

    def draw(self, data: Graph, size: int) -> list[tuple[int, ...]]:
        """`size` independent collections."""
        noisy = self.scheme.noise.release(np.tile(data.degrees(), size).tolist())
        rows = np.array(noisy).reshape(size, data.vertices)
        return [(min(row), *row) for row in rows.tolist()]


@dataclass(frozen=True, eq=False)
class _Lists:
    """The randomised lists of all clients."""

    scheme: LocalEdges

    def draw(self, data: Graph, size: int) -> list[tuple[bytes, ...]]:
        """`size` independent collections."""
        lists = list(enumerate(neighbour_lists(data)))
        return [tuple(self.scheme.report(vertex, own).bits for vertex, own in lists) for _ in range(size)]


@dataclass(frozen=True, eq=False)
class _Stars:
    """A client's cap and noisy stars, behind how many of the two are as if it had one neighbour more than `degree`."""

    scheme: LocalStars
    degree: int

    def draw(self, data: range, size: int) -> list[tuple[int, int, int]]:
        """`size` independent reports of client 0, whose neighbours `data` are."""
        more = self.degree + 1
        least = self.degree_to_cap(more)
        reports = [self.scheme.report(0, np.array(data)) for _ in range(size)]
        stars = more * (more - 1) // 2
        return [((each.cap >= least) + (each.stars >= stars), each.cap, each.stars) for each in reports]

    def degree_to_cap(self, degree: int) -> int:
        """The cap of a client whose noisy degree is this."""
        scale = self.scheme.degree_noise.scale
        return degree + -(-5 * scale.numerator // scale.denominator)


@dataclass(frozen=True, eq=False)
class _Triangles:
    """All reports of both rounds, behind how many of them are as if 0 and 1 were joined."""

    scheme: LocalTriangles

    def draw(self, data: Graph, size: int) -> list[tuple[int, ...]]:
        """`size` independent runs of the protocol."""
        lists = list(enumerate(neighbour_lists(data)))
        return [self._run(lists) for _ in range(size)]

    def _run(self, lists: list[tuple[int, Any]]) -> tuple[int, ...]:
        clients = [self.scheme.client(vertex, own) for vertex, own in lists]
        server, first = self.scheme.first_server(), [client.first() for client in clients]
        for report in first:
            server.add(report)
        second = [client.second(server.broadcast()) for client in clients]
        degrees = [each.degree.degree for each in first]
        bit = first[1].bits.bits[0] & 1
        score = 4 * bit + (degrees[0] >= 2) + (degrees[1] >= 2) + (max(each.count for each in second[:2]) > 0)
        return score, *degrees, bit, *(number for each in second for number in (each.cap, each.count))


@dataclass(frozen=True, eq=False)
class _Measured:
    """All that is measured for a synthetic graph, behind how many of three numbers are as if `joined` were the graph.

    The exact numbers, and the scale of the noise on triangles, are computed once for each graph.
    """

    plan: MeasurementPlan
    joined: Graph

    def draw(self, data: Graph, size: int) -> list[tuple[int, ...]]:
        """`size` independent lists of noisy numbers."""
        plan = self.plan
        parts = ((survival(data), plan.degrees), (clustering_by_class(data), plan.clustering))
        degrees, clustering = (with_noise(np.tile(exact, (size, 1)), noise) for exact, noise in parts)
        value, scale = plan.triangles.before_noise(data)
        triangles = [rounded_pareto(Fraction(value), scale, plan.triangles.shape) for _ in range(size)]
        scores = (
            (degrees[:, 1] >= survival(self.joined)[1]).astype(np.int64)
            + (clustering.sum(axis=1) >= clustering_by_class(self.joined).sum())
            + (np.array(triangles) >= 1)
        )
        rows = np.column_stack([scores, degrees, clustering]).tolist()
        return [(*row, count) for row, count in zip(rows, triangles, strict=True)]


def graph_report_entries() -> tuple[Entry, ...]:
    """Local protocols with an edge and without, all reports seen; and the measurements of a synthetic graph.

    >>> [entry.name for entry in graph_report_entries()][:2]
    ['LocalDegrees of two vertices', 'LocalEdges of two vertices']
    """
    apart, path = Graph.from_pairs([], 2), Graph.from_pairs([(0, 2), (1, 2)])
    edge, triangle = (apart.toggled(0, 1), apart), (path.toggled(0, 1), path)
    degrees, lists = LocalDegrees(2, "1/2"), LocalEdges(2, 1)
    stars, triangles = LocalStars(2 * _STAR, 1), LocalTriangles(3, 2)
    plan = MeasurementPlan.calibrate(pure(2), 3)
    return (
        Entry(
            name="LocalDegrees of two vertices",
            group="graphs",
            shown='LocalDegrees(2, epsilon="1/2")',
            mechanism=_Degrees(degrees),
            pairs=(edge,),
            claim=degrees.edge_loss,
            kind=LocalDegrees,
            samples=40_000,
            note="both ends report the edge, so it costs twice the epsilon of a report",
        ),
        Entry(
            name="LocalEdges of two vertices",
            group="graphs",
            shown="LocalEdges(2, epsilon=1)",
            mechanism=_Lists(lists),
            pairs=(edge,),
            claim=lists.edge_loss,
            kind=LocalEdges,
            samples=40_000,
            note="the later end alone reports the edge, by randomised response",
        ),
        Entry(
            name="LocalStars of a client",
            group="graphs",
            shown=f"LocalStars({2 * _STAR}, epsilon=1)",
            mechanism=_Stars(stars, _STAR),
            pairs=((range(1, _STAR + 2), range(1, _STAR + 1)),),
            claim=stars.loss,
            kind=LocalStars,
            samples=40_000,
            note="one neighbour more moves the cap, and the stars by less than the cap allows for",
        ),
        Entry(
            name="LocalTriangles of three vertices",
            group="graphs",
            shown="LocalTriangles(3, epsilon=2)",
            mechanism=_Triangles(triangles),
            pairs=(triangle,),
            claim=triangles.edge_loss,
            kind=LocalTriangles,
            samples=10_000,
            note="the edge shows in two degrees, a bit, a cap and a count; of three vertices mostly in the bit",
        ),
        Entry(
            name="SynthesizeGraph of three vertices",
            group="graphs",
            shown='SynthesizeGraph("path", spend=pure(2))',
            mechanism=_Measured(plan, triangle[0]),
            pairs=(triangle,),
            claim=plan.loss(),
            kind=SynthesizeGraph,
            samples=40_000,
            note="all that is generated follows from these numbers; clustering is moved by 3 of the 8 that are allowed",
        ),
    )
