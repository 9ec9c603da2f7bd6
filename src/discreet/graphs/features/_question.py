"""Features of neighbourhoods as a question: checked under public terms, charged once, then aggregated."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError, QueryError
from discreet.graphs._declared import EdgeTable, declared_graph, edge_table
from discreet.graphs.features._aggregation import NoisyAggregation, unit_vectors
from discreet.graphs.features._release import MOST_NUMBERS, VERTEX, GraphFeatures, feature_names
from discreet.policy import Policy
from discreet.prices import check_spend
from discreet.privacy import Loss
from discreet.release import PreparedQuestion, ReleaseContext, Terms

__all__ = ["AggregateFeatures", "PreparedFeatures"]


@dataclass(frozen=True, eq=False)
class PreparedFeatures(PreparedQuestion):
    """Features that were checked; see `discreet.release.Prepared`.

    `units` are the public vectors, as `unit_vectors` makes them: the answer depends on nothing else of them.
    """

    kind = "graph_features"
    counts: Literal["people", "edges", "arcs"] = field(default="edges", init=False)

    table: EdgeTable
    aggregation: NoisyAggregation
    columns: tuple[str, ...]
    units: NDArray[np.int64]
    loss: Loss
    policy: Policy

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, in plain JSON: of the public vectors their digest."""
        return {
            "graph": self.table.name,
            "aggregation": self.aggregation.to_json(),
            "columns": list(self.columns),
            "vectors": hashlib.sha256(self.units.astype("<i8").tobytes()).hexdigest(),
        }

    def answer(self, context: ReleaseContext) -> GraphFeatures:
        """Read the edges, and aggregate hop after hop with noise. Its loss is charged."""
        steps = self.aggregation.hops + 1
        context.step(0, steps)
        drawn = self.aggregation.draw(self.table.read(context), self.units)
        noisy: list[NDArray[np.int64]] = []
        for done in range(1, steps):
            context.step(done, steps)
            noisy.append(next(drawn))
        table = self.table
        keys = table.first if table.first is not None else tuple(_plain(key) for key in table.places)
        bare = GraphFeatures(
            table.name, self.aggregation, self.columns, keys, self.units, np.stack(noisy), self.loss, {}
        )
        statement = {**self.stated, **self.asked, "protects": "edge", "vertices": table.vertices}
        return bare.certified(context.certify({**statement, "answer": bare.digest()}))

    def read(self, payload: bytes) -> GraphFeatures:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return GraphFeatures.from_bytes(payload)


@dataclass(frozen=True, eq=False)
class AggregateFeatures:
    """Features of the neighbourhoods of a graph; see `PrivateGraph.features`."""

    graph: str
    vectors: ArrayLike | pa.Table
    spend: Loss
    hops: int = 2

    def prepare(self, terms: Terms) -> PreparedFeatures:
        """Check it under public terms. Raises `QueryError` and `ParameterError` for what cannot be answered."""
        check_spend(self.spend)
        name, declared = declared_graph(terms.policy, self.graph)
        if declared.protects == "node":
            raise QueryError(
                f"the graph {name} protects people with all their edges, and features of a vertex are about one "
                "person: noise that hides a person leaves nothing of their features. Ask for counts and degrees, or "
                'declare protects = "edge" if single edges are what must be hidden'
            )
        aggregation = NoisyAggregation.calibrate(self.spend, self.hops)
        table = edge_table(terms.policy, name)
        terms.accept(table.plan.rows.bounded)
        columns, given = vectors_by_vertex(self.vectors, table)
        units = unit_vectors(given, table.vertices, aggregation.grid)
        numbers = units.size * (aggregation.hops + 1)
        if numbers > MOST_NUMBERS:
            raise QueryError(
                f"these features are {numbers:,} numbers, and a release has {MOST_NUMBERS:,} at most: "
                "take fewer columns or hops"
            )
        columns = columns or tuple(f"x{place}" for place in range(units.shape[1]))
        names = feature_names(columns, aggregation.hops)
        if len(set(names)) < len(names):
            raise ParameterError(f"the columns of the vectors need a name each, other than {VERTEX!r}")
        return PreparedFeatures(table, aggregation, columns, units, self.spend, terms.policy)


def vectors_by_vertex(vectors: Any, table: EdgeTable) -> tuple[tuple[str, ...], Any]:
    """Names of the columns, or none, and an array with a row for each vertex, in the order of the vertices.

    An Arrow table has a column ``vertex`` with each vertex once, in any order. Raises `ParameterError` for another one.
    """
    if not isinstance(vectors, pa.Table):
        return (), vectors
    names = tuple(str(name) for name in vectors.column_names if name != VERTEX)
    if vectors.column_names.count(VERTEX) != 1:
        raise ParameterError(f"a table of vectors has one column {VERTEX!r}, which says whose each row is")
    if any(vectors.column(name).null_count for name in vectors.column_names if vectors.column_names.count(name) == 1):
        raise ParameterError("the vectors must be finite: fill in or leave out nulls")
    rows = [_place(key, table) for key in vectors.column(VERTEX).to_pylist()]
    places = np.array(rows or [-1], np.int64)
    if len(rows) != table.vertices or not np.array_equal(np.sort(places), np.arange(table.vertices)):
        raise ParameterError(
            f"the column {VERTEX!r} must have each of the {table.vertices:,} public vertices of the graph "
            f"{table.name} once"
        )
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"a table of vectors has one or more columns beside {VERTEX!r}, with a name each")
    columns = [vectors.column(name).to_numpy() for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "biuf":
            raise ParameterError(f"the vectors must be numbers, and {name!r} are none; encode categories as 0 and 1")
    return names, np.column_stack(columns)[np.argsort(places)]


def _place(key: object, table: EdgeTable) -> int:
    if table.first is None:
        return table.places.get(key, -1) if isinstance(key, bool | int | str | dt.date) else -1
    number = key - table.first if isinstance(key, int) and not isinstance(key, bool) else -1
    return number if 0 <= number < table.vertices else -1


def _plain(key: object) -> int | str:
    return key if isinstance(key, int | str) else key.isoformat() if isinstance(key, dt.date) else str(key)
