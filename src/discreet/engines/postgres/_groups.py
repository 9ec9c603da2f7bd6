"""What a query returns, as groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from discreet.engines.sql import read_groups
from discreet.query import BoundedAggregate, Group

__all__ = ["groups_of"]


def groups_of(rows: Sequence[tuple[Any, ...]], request: BoundedAggregate) -> list[Group]:
    """Groups from the rows of a bounded aggregate."""
    width = len(request.keys)
    if not request.histograms:
        return [Group(row[:width], int(row[width]), tuple(map(int, row[width + 1 :]))) for row in rows]
    names = [f"k{i}" for i in range(width)] + ["h", "cell", "n"] + [f"t{i}" for i in range(len(request.measures))]
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(names)
    types = [pa.null()] * width + [pa.int64()] * 3 + [pa.string()] * len(request.measures)
    arrays = [
        pa.array(column) if i < width and any(value is not None for value in column) else pa.array(column, kind)
        for i, (column, kind) in enumerate(zip(columns, types, strict=True))
    ]
    return read_groups(pa.table(dict(zip(names, arrays, strict=True))), request)
