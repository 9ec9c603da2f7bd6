"""Questions about a graph: answered with the privacy that its policy declares, of edges or of people."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import ParameterError, QueryError
from discreet.graphs._declared import Counted, declared_graph
from discreet.graphs._directed_graph import Direction
from discreet.graphs.edge import PreparedCount, PreparedDegrees, prepare_count, prepare_degrees
from discreet.graphs.node import Cap, PreparedNodeCount, PreparedNodeDegrees, prepare_node_count, prepare_node_degrees
from discreet.prices import check_spend
from discreet.privacy import Loss
from discreet.release import Terms

__all__ = ["CountGraph", "ReleaseDegrees", "check_counted"]


@dataclass(frozen=True)
class CountGraph:
    """A statistic of a graph; see `PrivateGraph.count`, and `open_graph` for where it is counted."""

    graph: str
    statistic: str
    spend: Loss
    cap: Cap | None = None
    counted: Counted = "memory"

    def prepare(self, terms: Terms) -> PreparedCount | PreparedNodeCount:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        check_counted(terms, self.graph, self.counted)
        if _protects_people(terms, self.graph, self.cap):
            return prepare_node_count(terms, self.graph, self.statistic, self.spend, self.cap or "bought")
        return prepare_count(terms, self.graph, self.statistic, self.spend, self.counted)


@dataclass(frozen=True)
class ReleaseDegrees:
    """The degrees of a graph; see `PrivateGraph.degrees`, and `open_graph` for where they are counted."""

    graph: str
    spend: Loss
    cap: Cap | None = None
    direction: Direction | None = None
    counted: Counted = "memory"

    def prepare(self, terms: Terms) -> PreparedDegrees | PreparedNodeDegrees:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        _check_direction(terms, self.graph, self.direction)
        check_counted(terms, self.graph, self.counted)
        if _protects_people(terms, self.graph, self.cap):
            return prepare_node_degrees(terms, self.graph, self.spend, self.cap or "bought")
        return prepare_degrees(terms, self.graph, self.spend, self.direction, self.counted)


def _check_direction(terms: Terms, graph: str, direction: Direction | None) -> None:
    name, declared = declared_graph(terms.policy, graph)
    if direction not in (None, "out", "in"):
        raise ParameterError(f"direction must be 'out' or 'in', got {direction!r}")
    if direction is not None and not declared.directed:
        raise ParameterError(
            f"the graph {name} has no directions: leave direction out, or declare directed = true under [graphs.{name}]"
        )


def check_counted(terms: Terms, graph: str, counted: object) -> None:
    """Raise `ParameterError` for no such place, and `QueryError` for a graph that no engine counts."""
    name, declared = declared_graph(terms.policy, graph)
    if counted not in ("memory", "engine"):
        raise ParameterError(f"counted must be 'memory' or 'engine', got {counted!r}")
    if counted == "engine" and declared.directed:
        raise QueryError(f'the graph {name} is directed, and is counted in memory alone: leave out counted="engine"')
    if counted == "engine" and declared.protects == "node":
        raise QueryError(
            f'the graph {name} protects people, and is counted in memory alone: leave out counted="engine"'
        )


def _protects_people(terms: Terms, graph: str, cap: Cap | None) -> bool:
    name, declared = declared_graph(terms.policy, graph)
    if cap not in (None, "public", "bought"):
        raise ParameterError(f"cap must be 'public' or 'bought', got {cap!r}")
    if cap is not None and declared.protects == "edge":
        raise ParameterError(f"the graph {name} protects edges, which need no cap: leave it out")
    return declared.protects == "node"
