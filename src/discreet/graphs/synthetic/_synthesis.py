"""From noisy measurements to a synthetic graph: blocks, tuned until the graph has what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingExtra
from discreet.graphs._graph import Graph
from discreet.graphs.counts import stars, triangles
from discreet.graphs.synthetic._blocks import block_graph
from discreet.graphs.synthetic._measurements import NoisyMeasurements
from discreet.graphs.synthetic._statistics import UNIT, clustering_by_class
from discreet.graphs.synthetic._targets import Targets, targets_of

__all__ = ["UNMEASURED", "Comparison", "SyntheticGraph", "synthesize"]

Numbers = NDArray[np.float64]

UNMEASURED = (
    "which vertex is which: vertices are numbered by falling degree",
    "communities: how modular the graph is follows from a public assumption on blocks",
    "which degrees are joined (assortativity)",
    "distances, components and cuts",
)
"""What a synthetic graph has from the generator alone."""

_TRIES = 10
_CAUTION = 1.5
"""The clustering that a generator is asked for changes by no more than this factor at a time, and by less later on."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One statistic: what was measured, and what the synthetic graph has.

    Attributes
    ----------
    statistic
        Its name.
    measured
        The private graph's, as estimated from the noisy measurements.
    std
        The standard deviation of that by the noise, where it is public and is known; else None.
    synthetic
        The synthetic graph's, exactly.
    """

    statistic: str
    measured: float
    std: float | None
    synthetic: float


@dataclass(frozen=True, eq=False)
class SyntheticGraph:
    """A graph that is like a private one in what was measured of it, and the measurements. Public.

    Attributes
    ----------
    graph
        The synthetic graph; its vertices are numbered by falling degree, and are nobody.
    measurements
        The noisy measurements, which are all that it depends on.
    """

    graph: Graph
    measurements: NoisyMeasurements

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What was measured, beside what the graph has."""
        return _comparisons(targets_of(self.measurements), self.graph)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """What the graph has from the generator alone, so that it says nothing of the private one."""
        return UNMEASURED

    def to_arrow(self) -> Any:
        """The edges as a pyarrow table of two columns, `a` and `b`, with the number of vertices in its metadata."""
        import pyarrow as pa

        columns = [pa.array(np.ascontiguousarray(column)) for column in self.graph.ends.T]
        table = pa.Table.from_arrays(columns, names=["a", "b"])
        return table.replace_schema_metadata({"vertices": str(self.graph.vertices)})

    def to_networkx(self) -> Any:
        """The graph as a networkx one. Raises `MissingExtra` where networkx is not installed."""
        try:
            import networkx
        except ImportError:
            raise MissingExtra("to_networkx needs networkx: pip install networkx; or take to_arrow") from None
        graph = networkx.Graph()
        graph.add_nodes_from(range(self.graph.vertices))
        graph.add_edges_from(self.graph.ends.tolist())
        return graph


def synthesize(measured: NoisyMeasurements) -> SyntheticGraph:
    """A graph that has what was measured, as nearly as the generator can. Costs no privacy: it reads the measurements.

    Blocks are generated a few times, with more or less clustering asked for in each class of degrees, until the graph
    itself has the measured clustering and triangles; the nearest of these graphs is returned. About the time of
    twenty counts of triangles.

    >>> from discreet.graphs.synthetic import MeasurementPlan
    >>> from discreet.privacy import pure
    >>> ring = Graph.from_pairs([(i, (i + 1) % 300) for i in range(300)], 300)
    >>> result = synthesize(MeasurementPlan.calibrate(pure(100), 300).measure(ring))
    >>> set(result.graph.degrees().tolist())
    {2}
    """
    targets = targets_of(measured)
    asked = targets.mean_clustering
    best, least, aim = Graph(measured.plan.vertices, np.empty((0, 2), np.int64)), np.inf, targets.triangles
    for tried in range(_TRIES):
        graph = block_graph(targets.degrees, asked)
        sums = clustering_by_class(graph) / UNIT
        count = triangles(graph)
        distance = _distance(targets, sums, count)
        if distance < least:
            best, least = graph, distance
        gain = 2 / (tried + 2)
        aim *= min(max(targets.triangles / max(count, 1), 1 / _CAUTION), _CAUTION) ** gain
        wanted = _reconciled(targets, aim, sums, count)
        ratio = np.where(sums > 0, wanted / np.maximum(sums, 1e-9), 1.0)
        asked = np.clip(asked * np.clip(ratio, 1 / _CAUTION, _CAUTION) ** gain, 0.0, 1.0)
    return SyntheticGraph(best, measured)


def _reconciled(targets: Targets, aim: float, sums: Numbers, count: int) -> Numbers:
    """The sums nearest to those measured with which the graph would have so many triangles.

    A triangle is a closed pair of neighbours at three vertices, so triangles are about the sum of clustering by class
    times its mean number of pairs, over 3; by which factor that is wrong is seen on the graph at hand.
    """
    expected = float(targets.wedges @ sums) / 3
    if not expected or not count:
        return targets.clustering
    weights = targets.wedges * (count / expected) / 3
    wanted, free = targets.clustering.copy(), targets.sizes > 0
    for _ in range(len(wanted)):
        missing = aim - float(weights @ wanted)
        size = float(weights[free] @ weights[free])
        if not size or abs(missing) < 1:
            break
        moved = wanted + np.where(free, weights * missing / size, 0.0)
        wanted = np.clip(moved, 0.0, targets.sizes)
        free = free & (moved > 0 if missing < 0 else moved < targets.sizes)
    return wanted


def _distance(targets: Targets, sums: Numbers, count: int) -> float:
    """How far a graph is from the targets: relative errors of triangles (twice) and of clustering, added up."""
    total = max(float(targets.clustering.sum()), 1.0)
    return (
        2 * abs(count - targets.triangles) / max(targets.triangles, 1.0)
        + abs(float(sums.sum()) - total) / total
        + float(np.abs(sums - targets.clustering).sum()) / total
    )


def _comparisons(targets: Targets, graph: Graph) -> tuple[Comparison, ...]:
    vertices = graph.vertices
    degrees = graph.degrees()
    wedges = stars(graph)
    wanted_wedges = float((targets.degrees * (targets.degrees - 1) / 2).sum())
    sums = clustering_by_class(graph) / UNIT
    noisy = math.sqrt(np.count_nonzero(targets.sizes)) * targets.std
    count = triangles(graph)
    return (
        Comparison("edges", float(targets.degrees.sum()) / 2, None, float(graph.edges)),
        Comparison("largest degree", float(targets.degrees[0]), None, float(degrees.max(initial=0))),
        Comparison("pairs of neighbours", wanted_wedges, None, float(wedges)),
        Comparison("triangles", targets.triangles, None, float(count)),
        Comparison(
            "global clustering", 3 * targets.triangles / max(wanted_wedges, 1.0), None, 3 * count / max(wedges, 1)
        ),
        Comparison(
            "average clustering",
            float(targets.clustering.sum()) / vertices,
            noisy / vertices,
            float(sums.sum()) / vertices,
        ),
    )
