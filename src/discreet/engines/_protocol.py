"""The interface of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.query import BoundedAggregate, EdgeRows, Group, Marginals, RecordRows

__all__ = ["Declared", "EdgeQueries", "Engine"]

Declared = Mapping[str, str | None]
"""From a column's name to its type in a policy; None where policies have no such type."""


_T = TypeVar("_T")


class EdgeQueries(Protocol):
    """What is asked of the edges of one graph, where they are. What it returns is private: numbers, and never edges."""

    def degrees(self) -> list[tuple[int, int]]:
        """Each degree that a vertex has, from 1, and how many vertices have it."""
        ...

    def triangles(self) -> int:
        """How many triangles there are."""
        ...

    def joined_hubs(self, most: int) -> list[tuple[int, int]]:
        """Which of the first vertices, at most so many, are joined: as places in their order, from 0, the lower first.

        The order is by falling degree, and of one degree by number.
        """
        ...

    def common(self, higher: range, lower: range) -> list[tuple[int, int]]:
        """For each number of common neighbours from 1, the most other neighbours of a pair that has as many.

        Of pairs whose end of higher degree has a degree in `higher`, and the other one in `lower`; of one degree either
        is the higher. The other neighbours are those of both ends, without the ends: a common one counts twice.
        """
        ...


class Engine(Protocol):
    """Runs bounded aggregates over private tables. What it returns is private: only noise may follow."""

    def check(self, table: str) -> None:
        """Raise `DataError` unless the table has a source, with the unit and every column that the policy names."""
        ...

    def accept(self, request: BoundedAggregate) -> None:
        """Raise `QueryError` for what `run` would refuse by the query alone; no data are read."""
        ...

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        """The exact sums of every group that is not empty, in no particular order.

        `salt` is 16 secret bytes that decide, with a unit's own rows, which of them count when a cap bites.
        Raises `DataError` if the engine fails, in words that do not depend on the data.
        """
        ...

    def count_marginals(self, request: Marginals, salt: bytes) -> tuple[NDArray[np.int64], ...]:
        """The exact counts of each marginal, all of the same rows: those that `run` counts with this salt.

        An array for each set of keys, of the shape `request.shape(set)`. What `accept` accepts in `request.bounded` is
        counted. No row leaves the engine. Raises `DataError` as `run`.
        """
        ...

    def read_records(self, request: RecordRows, salt: bytes) -> pa.Table:
        """The rows that count with this salt, those that `run` counts: private, and the one thing here that are rows.

        Columns are those of `RecordRows`: the cells of keys as int32, or texts, numbers as int64 with nulls, and
        `PERSON_COLUMN`, where rows belong to people: the same number says the same person and nothing else, since one
        person more gives others another number, and rows another order. Raises `DataError` as `run`.
        """
        ...

    def query_edges(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> _T:
        """What `search` returns of a graph, all of whose queries see the same edges. No row leaves the engine.

        `search` may ask as often as it likes, until it returns. Raises `DataError` as `run`, also where `search` raises
        what is no `DiscreetError`.
        """
        ...

    def close(self) -> None:
        """Let go of the source."""
        ...
