"""Records from the rows that an engine reads: cells of keys, whole numbers, and people numbered from 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines._key_cells import KeyCells
from discreet.engines._shards import ALL, Shard, added
from discreet.policy import ColumnType
from discreet.query import PERSON_COLUMN, RecordRows, category_column, number_column
from discreet.release import check_cancelled

__all__ = ["RecordBatches", "record_items", "records_in_shards"]


def record_items(request: RecordRows, keys: Mapping[ColumnType, str], integer: str) -> list[str]:
    """What to select of the rows that count: people by number, keys as `keys` writes them, numbers as `integer`."""
    bounded = request.bounded
    person = f"CAST(dense_rank() OVER (ORDER BY u) - 1 AS {integer}) AS {PERSON_COLUMN}"
    items = [] if bounded.unit is None else [person]
    for i, key in enumerate(bounded.keys):
        name = category_column(i)
        items.append(f"{keys[key.type].format(name)} AS {name}")
    names = map(number_column, range(len(bounded.measures)))
    return [*items, *(f"CAST({name} AS {integer}) AS {name}" for name in names)] or ["1 AS one"]


class RecordBatches:
    """Collects the batches of one shard, whose people are in no other."""

    def __init__(self, request: RecordRows) -> None:
        self._bounded = request.bounded
        self._readers = [None if key.values is None else KeyCells.of_key(key).reader() for key in request.bounded.keys]
        self._batches: list[pa.RecordBatch] = []

    def add(self, columns: list[pa.Array[Any]], rows: int) -> None:
        """Add rows, by the columns of `record_items`."""
        check_cancelled()
        left = list(columns)
        arrays: dict[str, pa.Array[Any]] = {}
        public = np.ones(rows, np.bool_)
        if self._bounded.unit is not None:
            arrays[PERSON_COLUMN] = left.pop(0).cast(pa.int64())
        for i, (key, read) in enumerate(zip(self._bounded.keys, self._readers, strict=True)):
            column = left.pop(0)
            if read is None:
                public &= column.is_valid().to_numpy(zero_copy_only=False)
                arrays[category_column(i)] = column.cast(pa.string())
                continue
            cells = read(column)
            known = (cells >= 0) & (cells < len(key.values or ()))
            public &= known
            arrays[category_column(i)] = pa.array(np.where(known, cells, 0).astype(np.int32))
        for i in range(len(self._bounded.measures)):
            arrays[number_column(i)] = left.pop(0).cast(pa.int64())
        batch = pa.RecordBatch.from_pydict(arrays)
        self._batches.append(batch if public.all() else batch.filter(pa.array(public)))

    def table(self) -> pa.Table:
        """All rows so far."""
        if not self._batches:
            self.add([pa.nulls(0, pa.int64())] * self._width, 0)
        return pa.Table.from_batches(self._batches)

    @property
    def _width(self) -> int:
        return (self._bounded.unit is not None) + len(self._bounded.keys) + len(self._bounded.measures)


def records_in_shards(request: RecordRows, read: Callable[[Shard], pa.Table | None]) -> pa.Table | None:
    """The records at once or in shards, with people numbered from 0; None if the engine cannot read even small ones."""
    parts: list[pa.Table] = []
    people = 0

    def add(shard: Shard) -> bool:
        nonlocal people
        part = read(shard)
        if part is None:
            return False
        if request.bounded.unit is not None and part.num_rows:
            numbers = pc.add(part.column(PERSON_COLUMN), people)
            part = part.set_column(0, PERSON_COLUMN, numbers)
            people = int(pc.max(numbers).as_py()) + 1
        parts.append(part)
        return True

    if not add(ALL) and not added(ALL, add):
        return None
    return pa.concat_tables(parts).combine_chunks()
