"""Mixing by a public attribute: how many edges join each two of its values. One edge moves one number by 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import QueryError
from discreet.graphs._declared import EdgeTable, column_values, edge_table, vertex_column
from discreet.graphs._directed_graph import DirectedGraph
from discreet.graphs._graph import Graph
from discreet.graphs.edge._measurements import additive_prices, charged
from discreet.graphs.edge._mixing_release import MIXING_MOVED, GraphMixing, Value
from discreet.policy import DeclaredGraph, Policy, Table
from discreet.prices import Additive, additive_to_json, check_spend, with_noise
from discreet.privacy import Loss
from discreet.query import RecordPlan
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["Attribute", "PreparedMixing", "ReleaseMixing", "attribute_of", "mixing_counts"]

_MOST_VALUES = 1000
_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A public value of each public vertex: a column of a public table, and how an engine reads it.

    Attributes
    ----------
    name
        The table and the column, as ``"people.dept"``.
    values
        What it can be, from the policy.
    plan
        What an engine is asked for: the vertex and the value of each row that has both.
    """

    name: str
    values: tuple[Value, ...]
    plan: RecordPlan

    def read(self, context: ReleaseContext, edges: EdgeTable) -> NDArray[np.int64]:
        """The place in `values` of each vertex's value; their number where it has none. Public.

        Of several rows of one vertex that with the earliest of `values` counts, whatever the order of rows.
        """
        table = context.read_records(self.plan.rows, noise.secret(16))
        vertex, value = self.plan.features
        numbers = edges.numbers(table, vertex)
        listed = [self.values.index(each) if each is not None else len(self.values) for each in value.values or ()]
        places = np.array([*listed, len(self.values)], np.int64)[np.asarray(table.column(value.column).to_numpy())]
        chosen = np.full(edges.vertices, len(self.values), np.int64)
        np.minimum.at(chosen, numbers[numbers >= 0], places[numbers >= 0])
        return chosen


def mixing_counts(graph: Graph | DirectedGraph, places: NDArray[np.int64], values: int) -> NDArray[np.int64]:
    """How many edges join each two of so many values: int64, a number for each pair i ≤ j, row by row. SENSITIVE.

    Of a directed graph, how many arcs go from each value to each: a number for each i and j, row by row.

    >>> mixing_counts(Graph.from_pairs([(0, 1), (1, 2)]), np.array([0, 0, 1]), 2).tolist()
    [1, 1, 0]
    >>> mixing_counts(DirectedGraph.from_pairs([(0, 1), (2, 1)]), np.array([0, 0, 1]), 2).tolist()
    [1, 0, 1, 0]
    """
    if isinstance(graph, DirectedGraph):
        ends = places[graph.ends]
        return np.bincount(ends[:, 0] * values + ends[:, 1], minlength=values**2).astype(np.int64)
    pairs = np.sort(places[graph.ends], axis=1)
    counts = np.bincount(pairs[:, 0] * values + pairs[:, 1], minlength=values**2).reshape(values, values)
    return counts[np.triu_indices(values)].astype(np.int64)


@dataclass(frozen=True)
class ReleaseMixing:
    """The edges between each two values of a public attribute; see `PrivateGraph.mixing`."""

    graph: str
    attribute: str
    spend: Loss

    def prepare(self, terms: Terms) -> PreparedMixing:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        table = edge_table(terms.policy, self.graph, directed=True)
        terms.accept(table.plan.rows.bounded)
        attribute = attribute_of(terms.policy, table, self.attribute)
        terms.accept(attribute.plan.rows.bounded)
        prices = additive_prices(self.spend, MIXING_MOVED)
        mechanism = prices.measurement(prices.total)
        return PreparedMixing(table, attribute, mechanism, charged(self.spend), terms.policy, table.declared.counts)


@dataclass(frozen=True)
class PreparedMixing(PreparedQuestion):
    """A mixing matrix that was checked; see `discreet.release.Prepared`."""

    kind = "graph_mixing"
    table: EdgeTable
    attribute: Attribute
    mechanism: Additive
    loss: Loss
    policy: Policy
    counts: Literal["people", "edges", "arcs"] = "edges"

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON."""
        return {
            "graph": self.table.name,
            "attribute": self.attribute.name,
            "values": list(self.attribute.values),
            "noise": additive_to_json(self.mechanism),
            **({"directed": True} if self.table.declared.directed else {}),
        }

    def answer(self, context: ReleaseContext) -> GraphMixing:
        """Read the edges and the attribute, count, and add noise. Its loss is charged."""
        context.step(0, 2)
        graph, places = self.table.read_declared(context), self.attribute.read(context, self.table)
        context.step(1, 2)
        values = (*self.attribute.values, None)
        noisy = with_noise(mixing_counts(graph, places, len(values)), self.mechanism)
        sizes = np.bincount(places, minlength=len(values)).tolist()
        asked, directed = (self.table.name, self.attribute.name), self.table.declared.directed
        bare = GraphMixing(*asked, values, tuple(sizes), self.mechanism, noisy, self.loss, {}, directed)
        statement = {**self.stated, **self.asked, "protects": "edge", "vertices": self.table.vertices}
        return bare.certified(context.certify({**statement, "answer": bare.digest()}))

    def read(self, payload: bytes) -> GraphMixing:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return GraphMixing.from_bytes(payload)


def attribute_of(policy: Policy, edges: EdgeTable, name: object) -> Attribute:
    """The public attribute of a name, ``"dept"`` or ``"people.dept"``.

    A public table has it, whose `key` names a vertex, or which has the column that `nodes` names. Raises `QueryError`
    if there is none, or several, and where its values are not listed in the policy.
    """
    if not isinstance(name, str):
        raise QueryError(f"an attribute is named by a text, got {type(name).__name__}")
    known = list(_attributes(policy, edges.declared))
    wanted = name.casefold()
    matching = [each for each in known if wanted in (each[2].casefold(), f"{each[0]}.{each[2]}".casefold())]
    if len(matching) != 1:
        listed = ", ".join(f"{table}.{column}" for table, _, column in known[:_SHOWN])
        raise QueryError(
            f"{len(matching)} public tables have an attribute {name}: name one of them, as {listed}"
            if matching
            else f"the vertices of {edges.name} have no public attribute {name!r}: "
            + (f"they have {listed}" if known else "declare a table with public = true, whose key names a vertex")
        )
    ((table, vertex, column),) = matching
    declared = policy.tables[table].columns[column].model_copy(update={"bounds": None})
    if declared.keys is None and declared.type != "bool":
        raise QueryError(f"what {table}.{column} can be is not in the policy: list its keys there")
    if declared.type not in ("string", "int", "bool"):
        raise QueryError(
            f"{table}.{column} is a {declared.type}: an attribute has texts, whole numbers or truth values"
        )
    values: tuple[Any, ...] = (False, True) if declared.keys is None else declared.keys
    if len(values) > _MOST_VALUES:
        raise QueryError(f"{table}.{column} has more than {_MOST_VALUES:,} values: group them in the public table")
    home, ends = vertex_column(edges.declared)
    vertices = policy.tables[home].columns[ends]
    columns = {vertex: vertices, column: declared}
    readable = Policy(version=policy.version, tables={table: Table(unit="rows", columns=columns)})
    plan = column_values(readable, table, vertex, column)
    return Attribute(f"{table}.{column}", values, plan)


def _attributes(policy: Policy, declared: DeclaredGraph) -> Iterator[tuple[str, str, str]]:
    """Columns of public tables that say something of a vertex: the table, its column of vertices, and the other."""
    home, ends = vertex_column(declared)
    kind = policy.tables[home].columns[ends].type
    for name, table in policy.tables.items():
        vertex = ends if name == home else table.key
        if not table.public or vertex is None or table.columns[vertex].type != kind:
            continue
        yield from ((name, vertex, column) for column in table.columns if column != vertex)
