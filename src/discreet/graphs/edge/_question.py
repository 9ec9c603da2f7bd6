"""Questions about a graph with the privacy of edges: checked under public terms, charged once, then measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.errors import ParameterError
from discreet.graphs._declared import Counted, EdgeTable, edge_table
from discreet.graphs._directed_graph import DirectedGraph, Direction
from discreet.graphs.edge._measurements import (
    Measurement,
    additive_prices,
    charged,
    countable_in_engine,
    measurements,
)
from discreet.graphs.edge._release import GraphCount, GraphDegrees
from discreet.policy import Policy
from discreet.prices import Additive, additive_to_json, with_noise
from discreet.privacy import Loss
from discreet.release import PreparedQuestion, ReleaseContext, Terms
from discreet.sensitivity import Norms

__all__ = ["ARC_DEGREES_MOVED", "DEGREES_MOVED", "PreparedCount", "PreparedDegrees", "prepare_count", "prepare_degrees"]

DEGREES_MOVED = Norms(2, 2, 1)
"""How far one edge moves the sorted degrees: two of them by 1."""
ARC_DEGREES_MOVED = Norms(1, 1, 1)
"""How far one arc moves the sorted degrees of one direction: one of them by 1."""


@dataclass(frozen=True)
class PreparedCount(PreparedQuestion):
    """A statistic of a graph that was checked; see `discreet.release.Prepared`.

    Where it is counted is no part of what is asked: the same integers get the same noise.
    """

    kind = "graph_count"

    table: EdgeTable
    statistic: str
    measurements: tuple[Measurement, ...]
    loss: Loss
    policy: Policy
    counted: Counted = "memory"
    counts: Literal["people", "edges", "arcs"] = "edges"

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {
            "graph": self.table.name,
            "statistic": self.statistic,
            "measured": [each.to_json() for each in self.measurements],
            **({"directed": True} if self.table.declared.directed else {}),
        }

    def answer(self, context: ReleaseContext) -> GraphCount:
        """Read the edges or have them counted, and add noise. Its loss is charged."""
        steps = len(self.measurements) + 1
        context.step(0, steps)
        if self.counted == "engine":
            pairs = any(each.pairs for each in self.measurements)
            triangles = any(each.triangles for each in self.measurements)
            graph = self.table.count(context, pairs=pairs, triangles=triangles)
        else:
            graph = self.table.read_declared(context)
        noisy: list[int] = []
        for done, each in enumerate(self.measurements, 1):
            context.step(done, steps)
            noisy.extend(each.draw(graph))
        directed, asked = self.table.declared.directed, (self.statistic, self.measurements, tuple(noisy))
        bare = GraphCount(self.table.name, self.table.vertices, *asked, self.loss, {}, directed)
        statement = {**self.stated, **self.asked, "protects": "edge", "vertices": self.table.vertices}
        return bare.certified(context.certify({**statement, "answer": bare.digest()}))

    def read(self, payload: bytes) -> GraphCount:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return GraphCount.from_bytes(payload)


@dataclass(frozen=True)
class PreparedDegrees(PreparedQuestion):
    """Degrees that were checked; see `discreet.release.Prepared`."""

    kind = "graph_degrees"

    table: EdgeTable
    mechanism: Additive
    loss: Loss
    policy: Policy
    direction: Direction | None = None
    counted: Counted = "memory"
    counts: Literal["people", "edges", "arcs"] = "edges"

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {
            "graph": self.table.name,
            "degrees": "sorted",
            "noise": additive_to_json(self.mechanism),
            **({} if self.direction is None else {"direction": self.direction}),
        }

    def answer(self, context: ReleaseContext) -> GraphDegrees:
        """Read the edges or have them counted, sort the degrees, and add noise. Its loss is charged."""
        context.step(0, 2)
        if self.counted == "engine":
            degrees = self.table.count(context).sorted_degrees()
        else:
            graph = self.table.read_declared(context)
            degrees = graph.degrees(self.direction or "out") if isinstance(graph, DirectedGraph) else graph.degrees()
        context.step(1, 2)
        noisy = with_noise(np.ascontiguousarray(np.sort(degrees)[::-1]), self.mechanism)
        bare = GraphDegrees(self.table.name, self.mechanism, noisy, self.loss, {}, self.direction)
        statement = {**self.stated, **self.asked, "protects": "edge", "vertices": self.table.vertices}
        return bare.certified(context.certify({**statement, "answer": bare.digest()}))

    def read(self, payload: bytes) -> GraphDegrees:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return GraphDegrees.from_bytes(payload)


def prepare_count(terms: Terms, graph: str, statistic: str, spend: Loss, counted: Counted = "memory") -> PreparedCount:
    """Check a count under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
    table = _table(terms, graph, counted)
    measured = measurements(statistic, table.vertices, spend, directed=table.declared.directed)
    if counted == "engine":
        countable_in_engine(measured)
    counts = table.declared.counts
    return PreparedCount(table, statistic, measured, charged(spend), terms.policy, counted, counts)


def _table(terms: Terms, graph: str, counted: Counted) -> EdgeTable:
    table = edge_table(terms.policy, graph, directed=True)
    terms.accept(table.plan.rows.bounded)
    if counted == "engine":
        table.check_countable()
    return table


def prepare_degrees(
    terms: Terms, graph: str, spend: Loss, direction: Direction | None, counted: Counted = "memory"
) -> PreparedDegrees:
    """Check degrees under public terms. Raises as `prepare_count`, and `ParameterError` for no direction, or a needless
    one.
    """
    table = _table(terms, graph, counted)
    if table.declared.directed and direction is None:
        raise ParameterError(f'the graph {table.name} is directed: ask for direction="out" or "in"')
    if direction is not None and not table.declared.directed:
        raise ParameterError(f"the graph {table.name} has no directions: leave direction out")
    prices = additive_prices(spend, DEGREES_MOVED if direction is None else ARC_DEGREES_MOVED)
    mechanism = prices.measurement(prices.total)
    counts = table.declared.counts
    return PreparedDegrees(table, mechanism, charged(spend), terms.policy, direction, counted, counts)
