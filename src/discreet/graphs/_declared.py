"""A graph of a policy: its public vertices, and how an engine reads its edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import QueryError
from discreet.graphs._directed_graph import DirectedGraph
from discreet.graphs._graph import Graph
from discreet.graphs.counts import CountedGraph, count_in_engine
from discreet.policy import DeclaredGraph, Key, Policy, Table
from discreet.query import EdgeRows, Feature, RecordPlan, plan_records
from discreet.release import ReleaseContext

__all__ = [
    "AS_UNDIRECTED",
    "Counted",
    "EdgeTable",
    "column_values",
    "declared_graph",
    "edge_table",
    "ends_of",
    "vertex_column",
]

Counted = Literal["memory", "engine"]
"""Where a graph is counted: in memory, into which its edges are read, or in the engine that holds them."""

AS_UNDIRECTED = "declare it without directed = true, and arcs both ways are one edge, which is protected"
"""What to do about a question that a directed graph does not answer."""
_PIECE = 2**22
_FURTHEST = 2**30
"""Whole numbers up to here are read as they are: records are on grids of so many steps."""


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
        return Graph.from_pieces(self._pairs(context.read_records(self.plan.rows, noise.secret(16))), self.vertices)

    def read_declared(self, context: ReleaseContext) -> Graph | DirectedGraph:
        """The graph, directed where the policy says so. SENSITIVE."""
        return self.read_directed(context) if self.declared.directed else self.read(context)

    def read_directed(self, context: ReleaseContext) -> DirectedGraph:
        """The graph with an arc from the first end of each row to the second. SENSITIVE."""
        pieces = self._pairs(context.read_records(self.plan.rows, noise.secret(16)))
        return DirectedGraph.from_pieces(pieces, self.vertices)

    def _pairs(self, table: Any) -> Iterator[NDArray[np.int64]]:
        """The ends of each row, of rows whose ends are vertices, in pieces: what is read is never there twice."""
        for begin in range(0, table.num_rows, _PIECE):
            piece = table.slice(begin, _PIECE)
            ends = np.column_stack([self.numbers(piece, feature) for feature in self.plan.features])
            yield ends[(ends >= 0).all(axis=1)]
            del piece, ends
        del table
        pa.default_memory_pool().release_unused()  # counting needs the memory in which the rows were

    def check_countable(self) -> None:
        """Raise `QueryError` unless an engine can count it: its vertices are all whole numbers within bounds."""
        if self.first is None or any(feature.values is not None for feature in self.plan.features):
            raise QueryError(
                f"the vertices of {self.name} are listed by their keys, and an engine counts graphs of whole numbers "
                'within bounds: number the vertices, or open the graph with counted="memory"'
            )

    def count(self, context: ReleaseContext, *, pairs: bool = False, triangles: bool = False) -> CountedGraph:
        """What an engine counts of the graph, as `count_in_engine`: no edge leaves it. SENSITIVE."""
        first, n = self.first or 0, self.vertices
        request = EdgeRows(self.plan.rows, first, first + n - 1)
        return context.query_edges(
            request, lambda queries: count_in_engine(queries, n, pairs=pairs, triangles=triangles)
        )

    def numbers(self, table: Any, feature: Feature) -> NDArray[np.int64]:
        """Which vertex each row of a column names, as a number from 0 on: −1 where it is none."""
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


def edge_table(policy: Policy, name: object, *, directed: bool = False) -> EdgeTable:
    """The edges of a graph that protects edges, under public terms; a directed one where that can be answered.

    Raises `QueryError` for no such graph, for one that protects people, and for a directed one unless it is `directed`
    that is asked for.
    """
    chosen, declared = declared_graph(policy, name)
    if declared.protects != "edge":
        raise QueryError(
            f"the graph {chosen} protects people, and this is answered with the privacy of edges alone; count edges or "
            "triangles, or ask for degrees"
        )
    if declared.directed and not directed:
        raise QueryError(
            f"the graph {chosen} is directed, and this is answered of undirected graphs alone: {AS_UNDIRECTED}"
        )
    home, column = vertex_column(declared)
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


def vertex_column(declared: DeclaredGraph) -> tuple[str, str]:
    """The table and the column whose public values are the vertices."""
    home, _, column = (declared.nodes or f"{declared.edges}.{declared.ends[0]}").partition(".")
    return home, column


def ends_of(policy: Policy, declared: DeclaredGraph) -> RecordPlan:
    """Every row of the edges with two ends that can be vertices: as they are, whoever they belong to. SENSITIVE."""
    return column_values(policy, declared.edges, *declared.ends, texts=declared.protects == "node")


def column_values(policy: Policy, table: str, *names: str, texts: bool = False) -> RecordPlan:
    """Every row of a table, uncapped, on which these columns have values, and are within their bounds. SENSITIVE.

    With `texts` columns without keys are read as they are. Raises `QueryError` for bounds within which two whole
    numbers would be read as one.
    """
    columns = policy.tables[table].columns
    conditions = [f"{_quoted(name)} IS NOT NULL" for name in names]
    for name in names:
        bounds = columns[name].bounds
        if columns[name].type == "int" and bounds is not None:
            conditions.append(f"{_quoted(name)} BETWEEN {bounds[0]} AND {bounds[1]}")
    select = f"SELECT {', '.join(map(_quoted, names))} FROM {_quoted(table)} WHERE {' AND '.join(conditions)}"  # noqa: S608 (the policy's own names, quoted)
    uncapped = Policy(
        version=policy.version, relation=policy.relation, tables={table: Table(unit="rows", columns=columns)}
    )
    plan = plan_records(select, uncapped, texts=texts)
    for name, feature in zip(names, plan.features, strict=True):
        if feature.is_number and feature.step != 1:
            raise QueryError(
                f"{table}.{name} has bounds beyond {_FURTHEST:,}, where two vertices could be read as one: number the "
                "vertices from 0, or list their keys"
            )
    return plan


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
