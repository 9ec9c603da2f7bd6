"""Tables in several engines under one policy: each question goes to the engine that has its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines._protocol import EdgeQueries, Engine
from discreet.errors import DataError, QueryError
from discreet.policy import Policy
from discreet.query import BoundedAggregate, EdgeRows, Group, Marginals, RecordRows

__all__ = ["Several"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Several:
    """`engines` says for each table which engine reads it; a table's path to its person stays in one engine."""

    engines: Mapping[str, Engine]
    policy: Policy

    def check(self, table: str) -> None:
        """See `discreet.engines.Engine`."""
        path = self.policy.tables[table].path
        if path is not None and self._at(path.table) is not self._at(table):
            raise DataError(f"{table} finds its people in {path.table}, which is in another engine; keep both in one")
        self._at(table).check(table)

    def accept(self, request: BoundedAggregate) -> None:
        """Raise `QueryError` unless one engine has all of the tables, and accepts the request."""
        tables = request.tables
        if len({id(self._at(table)) for table in tables}) > 1:
            raise QueryError(
                f"{' and '.join(tables)} are in different engines, and no rows are carried from one to another; ask "
                "about each apart, or copy one to where the other is"
            )
        self._at(tables[0]).accept(request)

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        """See `discreet.engines.Engine`."""
        return self._at(request.tables[0]).run(request, salt)

    def count_marginals(self, request: Marginals, salt: bytes) -> tuple[NDArray[np.int64], ...]:
        """See `discreet.engines.Engine`."""
        return self._at(request.bounded.tables[0]).count_marginals(request, salt)

    def read_records(self, request: RecordRows, salt: bytes) -> pa.Table:
        """See `discreet.engines.Engine`."""
        return self._at(request.bounded.tables[0]).read_records(request, salt)

    def query_edges(self, request: EdgeRows, search: Callable[[EdgeQueries], _T]) -> _T:
        """See `discreet.engines.Engine`."""
        return self._at(request.rows.bounded.tables[0]).query_edges(request, search)

    def close(self) -> None:
        """Close every engine, even where closing another fails."""
        with ExitStack() as stack:
            for engine in {id(engine): engine for engine in self.engines.values()}.values():
                stack.callback(engine.close)

    def _at(self, table: str) -> Engine:
        if table not in self.engines:
            raise DataError(f"the policy's table {table} has no source; give connect() one under that name")
        return self.engines[table]
