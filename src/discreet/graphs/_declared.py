"""A graph of a policy: its public vertices, and how an engine reads its edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import QueryError
from discreet.graphs._graph import Graph
from discreet.policy import DeclaredGraph, Key, Policy, Table
from discreet.query import RecordPlan, plan_records
from discreet.release import ReleaseContext

__all__ = ["EdgeTable", "column_values", "declared_graph", "edge_table", "ends_of"]


def declared_graph(policy: Policy, name: object) -> tuple[str, DeclaredGraph]:
    """The graph of that name, whatever its case. Raises `QueryError` if there is none."""
    folded = {each.casefold(): each for each in policy.graphs}
    if not isinstance(name, str) or name.casefold() not in folded:
        known = ", ".join(policy.graphs) or "none: declare one under [graphs.NAME]"
        raise QueryError(f"the policy has no graph {name!r}; it has {known}")
    chosen = folded[name.casefold()]
    return chosen, policy.graphs[chosen]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTable:
    """How the edges of a graph with public vertices are read. All of it is public.

    Attributes
    ----------
    name, declared
        The graph of the policy.
    vertices
        How many vertices there are.
    first
        The least vertex, where vertices are all whole numbers from there on; else None.
    places
        The number of each public value, where vertices are listed; else empty.
    plan
        What an engine is asked for: the two ends of each row, of rows whose ends are vertices.
    """

    name: str
    declared: DeclaredGraph
    vertices: int
    first: int | None
    places: Mapping[Key, int]
    plan: RecordPlan

    def read(self, context: ReleaseContext) -> Graph:
        """The graph: rows with an end that is no vertex do not count. SENSITIVE."""
        table = context.read_records(self.plan.rows, noise.secret(16))
        ends = [self._numbers(table, place) for place in range(2)]
        there = (ends[0] >= 0) & (ends[1] >= 0)
        return Graph.from_pairs(np.column_stack(ends)[there], self.vertices)

    def _numbers(self, table: Any, place: int) -> NDArray[np.int64]:
        feature = self.plan.features[place]
        read = np.asarray(table.column(feature.column).to_numpy(), np.int64)
        if feature.values is None and self.first is None:
            listed = np.array(sorted(key for key in self.places if isinstance(key, int)), np.int64)
            nearest = np.minimum(np.searchsorted(listed, read), len(listed) - 1)
            return np.where(listed[nearest] == read, nearest, -1)
        if feature.values is None:
            numbers = read - (self.first or 0)
            return np.where((numbers >= 0) & (numbers < self.vertices), numbers, -1)
        if self.first is None:
            mapped = [self.places.get(value, -1) if value is not None else -1 for value in feature.values]
        else:
            shifted = [value - self.first if isinstance(value, int) else -1 for value in feature.values]
            mapped = [each if 0 <= each < self.vertices else -1 for each in shifted]
        return np.array([*mapped, -1], np.int64)[read]


def edge_table(policy: Policy, name: object) -> EdgeTable:
    """The edges of a graph that protects edges, under public terms.

    Raises `QueryError` for no such graph, and for one that protects people.
    """
    chosen, declared = declared_graph(policy, name)
    if declared.protects != "edge":
        raise QueryError(f"the graph {chosen} protects people, and this is an answer with the privacy of edges")
    home, _, column = (declared.nodes or f"{declared.edges}.{declared.ends[0]}").partition(".")
    vertices = policy.tables[home].columns[column]
    if vertices.keys is not None:
        first, places = None, {key: i for i, key in enumerate(sorted(vertices.keys))}
        count = len(places)
    else:
        low, high = (int(bound) for bound in vertices.bounds or (0, -1))
        first, places, count = low, {}, high - low + 1
    if count >= 2**31:
        raise QueryError(f"the graph {chosen} has more vertices than can be counted: narrow the bounds of {column}")
    return EdgeTable(chosen, declared, count, first, places, ends_of(policy, declared))


def ends_of(policy: Policy, declared: DeclaredGraph) -> RecordPlan:
    """Every row of the edges with two ends that can be vertices: as they are, whoever they belong to. SENSITIVE."""
    table = policy.tables[declared.edges]
    return column_values(policy, declared.edges, *((end, table.columns[end].bounds) for end in declared.ends))


def column_values(policy: Policy, table: str, *columns: tuple[str, tuple[Any, Any] | None]) -> RecordPlan:
    """Every row of a table, uncapped, on which these columns have values, and are within their bounds. SENSITIVE."""
    conditions = [f"{_quoted(name)} IS NOT NULL" for name, _ in columns]
    conditions += [f"{_quoted(name)} BETWEEN {bounds[0]} AND {bounds[1]}" for name, bounds in columns if bounds]
    listed = ", ".join(_quoted(name) for name, _ in columns)
    uncapped = Table(unit="rows", columns=policy.tables[table].columns)
    select = f"SELECT {listed} FROM {_quoted(table)} WHERE {' AND '.join(conditions)}"  # noqa: S608 (the policy's own names, quoted)
    return plan_records(select, Policy(version=policy.version, relation=policy.relation, tables={table: uncapped}))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
