"""The interface of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.query import BoundedAggregate, Group, Marginals, RecordRows

__all__ = ["Declared", "Engine"]

Declared = Mapping[str, str | None]
"""From a column's name to its type in a policy; None where policies have no such type."""


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

    def close(self) -> None:
        """Let go of the source."""
        ...
