"""Questions about a graph: answered with the privacy that its policy declares, of edges or of people."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.graphs._declared import declared_graph
from discreet.graphs._directed_graph import Direction
from discreet.graphs.edge import PreparedCount, PreparedDegrees, prepare_count, prepare_degrees
from discreet.graphs.node import Cap, PreparedNodeCount, PreparedNodeDegrees, prepare_node_count, prepare_node_degrees
from discreet.prices import check_spend
from discreet.privacy import Loss
from discreet.release import Terms

__all__ = ["CountGraph", "ReleaseDegrees"]


@dataclass(frozen=True)
class CountGraph:
    """A statistic of a graph; see `PrivateGraph.count`."""

    graph: str
    statistic: str
    spend: Loss
    cap: Cap | None = None

    def prepare(self, terms: Terms) -> PreparedCount | PreparedNodeCount:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        if _protects_people(terms, self.graph, self.cap):
            return prepare_node_count(terms, self.graph, self.statistic, self.spend, self.cap or "bought")
        return prepare_count(terms, self.graph, self.statistic, self.spend)


@dataclass(frozen=True)
class ReleaseDegrees:
    """The degrees of a graph; see `PrivateGraph.degrees`."""

    graph: str
    spend: Loss
    cap: Cap | None = None
    direction: Direction | None = None

    def prepare(self, terms: Terms) -> PreparedDegrees | PreparedNodeDegrees:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        _check_direction(terms, self.graph, self.direction)
        if _protects_people(terms, self.graph, self.cap):
            return prepare_node_degrees(terms, self.graph, self.spend, self.cap or "bought")
        return prepare_degrees(terms, self.graph, self.spend, self.direction)


def _check_direction(terms: Terms, graph: str, direction: Direction | None) -> None:
    name, declared = declared_graph(terms.policy, graph)
    if direction not in (None, "out", "in"):
        raise ParameterError(f"direction must be 'out' or 'in', got {direction!r}")
    if direction is not None and not declared.directed:
        raise ParameterError(
            f"the graph {name} has no directions: leave direction out, or declare directed = true under [graphs.{name}]"
        )


def _protects_people(terms: Terms, graph: str, cap: Cap | None) -> bool:
    name, declared = declared_graph(terms.policy, graph)
    if cap not in (None, "public", "bought"):
        raise ParameterError(f"cap must be 'public' or 'bought', got {cap!r}")
    if cap is not None and declared.protects == "edge":
        raise ParameterError(f"the graph {name} protects edges, which need no cap: leave it out")
    return declared.protects == "node"
