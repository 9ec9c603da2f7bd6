"""How the people of a graph and their edges are read. Who is there is private."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import ParameterError
from discreet.graphs._declared import column_values, declared_graph, ends_of
from discreet.graphs._graph import Graph
from discreet.graphs.node._projection import Name
from discreet.policy import DeclaredGraph, Policy
from discreet.query import RecordPlan
from discreet.release import ReleaseContext

__all__ = ["PeopleTable", "people_table"]


@dataclass(frozen=True, slots=True, eq=False)
class PeopleTable:
    """How a graph of people is read. All of it is public.

    Attributes
    ----------
    name, declared
        The graph of the policy.
    max_degree
        The public bound on degrees.
    edges
        What an engine is asked for: the two ends of each row, uncapped.
    people
        Whom there are, also without edges; None where the policy names no table of them.
    names
        What vertices can be called, where that is listed and no whole number; else empty.
    """

    name: str
    declared: DeclaredGraph
    max_degree: int
    edges: RecordPlan
    people: RecordPlan | None
    names: tuple[Name, ...]

    @property
    def most_people(self) -> int:
        """How many different people there can be, by the policy."""
        features = self.edges.features if self.people is None else self.people.features
        listed = {value for each in features for value in each.values or () if value is not None}
        ranges = [(each.lower, each.upper) for each in features if each.values is None]
        between = max(high for _, high in ranges) - min(low for low, _ in ranges) + 1 if ranges else 0
        return len(listed) + between

    def plans(self) -> tuple[RecordPlan, ...]:
        """All that is read."""
        return (self.edges,) if self.people is None else (self.edges, self.people)

    def read(self, context: ReleaseContext) -> tuple[Graph, list[Name]]:
        """The graph, and what the policy calls its vertices. SENSITIVE.

        Where people are listed, an edge counts if both its ends are; else a vertex is who has an edge.
        """
        ends = np.column_stack(_numbers(context, self.edges, self.names))
        there = np.unique(ends if self.people is None else _numbers(context, self.people, self.names)[0])
        ends = ends[np.isin(ends, there).all(axis=1)]
        graph = Graph.from_pairs(np.searchsorted(there, ends), len(there))
        return graph, [self.names[i] if self.names else i for i in there.tolist()]


def people_table(policy: Policy, name: object) -> PeopleTable:
    """A graph that protects people, under public terms.

    Raises `QueryError` for no such graph, and `ParameterError` for one without `max_degree`.
    """
    chosen, declared = declared_graph(policy, name)
    if declared.max_degree is None:
        raise ParameterError(
            f"the graph {chosen} protects people, and one person could have any number of edges: declare a public "
            f"max_degree under [graphs.{chosen}]; edges above it are cut"
        )
    people = None
    if declared.nodes is not None:
        home, _, column = declared.nodes.partition(".")
        people = column_values(policy, home, column)
    edges = ends_of(policy, declared)
    names = _listed([edges] if people is None else [edges, people])
    return PeopleTable(chosen, declared, declared.max_degree, edges, people, names)


def _listed(plans: Iterable[RecordPlan]) -> tuple[Name, ...]:
    """All names that vertices can have, where they are listed and are no whole numbers; else none."""
    features = [feature for plan in plans for feature in plan.features]
    if any(feature.values is None or feature.type == "int" for feature in features):
        return ()
    return tuple(sorted({str(value) for feature in features for value in feature.values or () if value is not None}))


def _numbers(context: ReleaseContext, plan: RecordPlan, names: Sequence[Name]) -> list[NDArray[np.int64]]:
    """Each column of rows that are read, as numbers that are equal where the values are."""
    table, place = context.read_records(plan.rows, noise.secret(16)), {name: i for i, name in enumerate(names)}
    columns: list[NDArray[np.int64]] = []
    for feature in plan.features:
        read: Any = table.column(feature.column).to_numpy()
        numbers = np.asarray(read, np.int64)
        if feature.values is not None:
            known = [
                value if isinstance(value, int) and not names else place.get(str(value), 0) for value in feature.values
            ]
            numbers = np.array(known, np.int64)[numbers]
        columns.append(numbers)
    return columns
