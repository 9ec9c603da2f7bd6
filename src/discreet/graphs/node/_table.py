"""How the people of a graph and their edges are read. Who is there is private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import ParameterError
from discreet.graphs._declared import column_values, declared_graph, ends_of
from discreet.graphs._graph import Graph
from discreet.graphs.node._projection import Name
from discreet.policy import DeclaredGraph, Policy
from discreet.query import HELD_TEXT, Feature, RecordPlan
from discreet.release import ReleaseContext

__all__ = ["PeopleTable", "numbered_texts", "people_table"]

_Column = tuple[Feature, "pa.ChunkedArray[Any]"]


_REPLACEMENTS = (b"?", "\N{REPLACEMENT CHARACTER}".encode())


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
    listed
        Whether that table is public: everybody stays a vertex, and a person comes or goes with all edges alone.
    """

    name: str
    declared: DeclaredGraph
    max_degree: int
    edges: RecordPlan
    people: RecordPlan | None
    listed: bool = False

    @property
    def by_name(self) -> bool:
        """Whether people are texts, not whole numbers."""
        return self.edges.features[0].type == "string"

    @property
    def most_people(self) -> int | None:
        """How many different people there can be, by the policy; None where they are texts that it does not list."""
        features = self.edges.features if self.people is None else self.people.features
        if any(each.values is None and not each.is_number for each in features):
            return None
        listed = {value for each in features for value in each.values or () if value is not None}
        ranges = [(each.lower, each.upper) for each in features if each.values is None]
        between = max(high for _, high in ranges) - min(low for low, _ in ranges) + 1 if ranges else 0
        return len(listed) + between

    def plans(self) -> tuple[RecordPlan, ...]:
        """All that is read."""
        return (self.edges,) if self.people is None else (self.edges, self.people)

    def read(self, context: ReleaseContext) -> tuple[Graph, list[Name]]:
        """The graph, and what the data calls its vertices. SENSITIVE.

        Where people are listed, an edge counts if both its ends are; else a vertex is who has an edge. Texts are
        compared by value, byte for byte; one that an engine may have cut or repaired is no vertex, see
        `numbered_texts`.
        """
        columns = [each for plan in self.plans() for each in _columns(context, plan)]
        names: list[str] | None = None
        if self.by_name:
            numbers, names = numbered_texts(list(map(_texts, columns)))
        else:
            numbers = _whole_numbers(columns)
        ends = np.column_stack(numbers[:2])
        there = np.unique(ends if self.people is None else numbers[2])
        if names is not None:
            there = there[there >= 0]
        ends = ends[np.isin(ends, there).all(axis=1)]
        graph = Graph.from_pairs(np.searchsorted(there, ends), len(there))
        return graph, there.tolist() if names is None else [names[i] for i in there.tolist()]


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
    people, listed = None, False
    if declared.nodes is not None:
        home, _, column = declared.nodes.partition(".")
        people, listed = column_values(policy, home, column, texts=True), policy.tables[home].public
    return PeopleTable(chosen, declared, declared.max_degree, ends_of(policy, declared), people, listed)


def _columns(context: ReleaseContext, plan: RecordPlan) -> list[_Column]:
    table = context.read_records(plan.rows, noise.secret(16))
    return [(feature, table.column(feature.column)) for feature in plan.features]


def _whole_numbers(columns: list[_Column]) -> list[NDArray[np.int64]]:
    """Columns of whole numbers, as they are."""
    numbers: list[NDArray[np.int64]] = []
    for feature, column in columns:
        read = np.asarray(column.to_numpy(), np.int64)
        listed = None if feature.values is None else [each if isinstance(each, int) else 0 for each in feature.values]
        numbers.append(read if listed is None else np.array(listed, np.int64)[read])
    return numbers


def numbered_texts(columns: list[pa.ChunkedArray[Any]]) -> tuple[list[NDArray[np.int64]], list[str]]:
    """Columns of texts as numbers that are equal where the texts are, and the text of each number, in their order.

    A text is its bytes, and no digest of them: no two are one. A text of `HELD_TEXT` bytes or more may have been cut by
    an engine, as those cut at so many characters, and is −1. So is one with a question mark or U+FFFD, which is what
    engines write for bytes that are not UTF-8: two texts may have become one.

    >>> numbers, texts = numbered_texts([pa.chunked_array([["ann", "bob"]]), pa.chunked_array([["cy", "ann"]])])
    >>> [each.tolist() for each in numbers], texts
    ([[0, 1], [2, 0]], ['ann', 'bob', 'cy'])
    """
    chunks = [chunk.cast(pa.large_binary()) for column in columns for chunk in column.chunks]
    encoded = pa.concat_arrays([pa.array([], pa.large_binary()), *chunks]).dictionary_encode()
    order: NDArray[np.int64] = pc.sort_indices(encoded.dictionary).to_numpy().astype(np.int64)
    unordered: list[Any] = encoded.dictionary.to_pylist()
    texts: list[bytes] = [unordered[i] for i in order]
    intact = np.array([_is_intact(text) for text in texts], np.bool_)
    number = np.empty(len(order), np.int64)
    number[order] = np.where(intact, np.arange(len(order)), -1)
    read = number[encoded.indices.to_numpy()]
    ends = np.cumsum([len(column) for column in columns])
    return np.split(read, ends[:-1]), [text.decode("utf-8", "surrogateescape") for text in texts]


def _is_intact(text: bytes) -> bool:
    return len(text) < HELD_TEXT and not any(mark in text for mark in _REPLACEMENTS)


def _texts(column: _Column) -> pa.ChunkedArray[Any]:
    feature, read = column
    if feature.values is None:
        return read
    listed = pa.array(feature.values, pa.string())
    return pa.chunked_array([listed.take(chunk) for chunk in read.chunks], pa.string())
