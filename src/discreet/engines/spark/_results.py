"""What Spark returns, as groups."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from discreet.engines.sql import read_groups
from discreet.policy import ColumnType, Key
from discreet.query import BoundedAggregate, Group

__all__ = ["groups_of", "values_of"]

_FIRST_DAY = dt.date(1970, 1, 1)
_FIRST_MOMENT = dt.datetime(1970, 1, 1)  # noqa: DTZ001
_ARROW = {
    "bool": pa.bool_(), "int": pa.int64(), "string": pa.string(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
}  # fmt: skip


def groups_of(rows: Sequence[tuple[Any, ...]], request: BoundedAggregate) -> list[Group]:
    """The groups of a query that `bounded_sql` wrote."""
    width = len(request.keys)
    types: list[ColumnType] = [key.type for key in request.keys]
    keys = [tuple(_key(value, kind) for value, kind in zip(row, types, strict=False)) for row in rows]
    if not request.histograms:
        return [
            Group(key, int(row[width]), tuple(map(int, row[width + 1 :]))) for key, row in zip(keys, rows, strict=True)
        ]
    columns: dict[str, pa.Array[Any]] = {
        f"k{i}": pa.array([key[i] for key in keys], _ARROW[kind]) for i, kind in enumerate(types)
    }
    for i, name in enumerate(("h", "cell", "n")):
        columns[name] = pa.array([int(row[width + i]) for row in rows], pa.int64())
    for i in range(len(request.measures)):
        columns[f"t{i}"] = pa.array([str(row[width + 3 + i]) for row in rows], pa.string())
    return read_groups(pa.table(columns), request)


def values_of(rows: Sequence[tuple[Any, ...]], request: BoundedAggregate) -> list[tuple[Any, ...]]:
    """The keys and the value of each row of a query that `values_sql` wrote."""
    types: list[ColumnType] = [key.type for key in request.keys]
    return [(*(_key(value, kind) for value, kind in zip(row, types, strict=False)), row[-1]) for row in rows]


def _key(value: Any, kind: ColumnType) -> Key | None:
    if value is None or kind not in ("date", "timestamp"):
        return value
    return _FIRST_DAY + dt.timedelta(value) if kind == "date" else _FIRST_MOMENT + dt.timedelta(microseconds=value)
