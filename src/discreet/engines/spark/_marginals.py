"""Marginals on Spark: each task counts the rows that it has with NumPy, and the driver is sent counts alone.

The rows that count are sent from the JVM to Python on the same machine. A task's counts leave it in pieces, and the
pieces of all tasks are added up by number. Executors need discreet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines._key_cells import KeyCells
from discreet.engines._marginals import Counts, MarginalCounts
from discreet.policy import ColumnType
from discreet.query import Marginals

__all__ = ["NUMBERS", "SCHEMA", "Task", "add_pieces", "key_sql", "read_pieces"]

SCHEMA = "piece int, counts binary"
_PIECE = 2**13
"""Counts that travel together: 64 KiB."""
_TOGETHER = 256
"""Pieces in one batch."""
NUMBERS: Mapping[ColumnType, str] = {
    "bool": "CAST({} AS INT)",
    "int": "{}",
    "date": "unix_date({})",
    "timestamp": "unix_micros(CAST({} AS TIMESTAMP_LTZ))",
    "string": "{}",
}
"""How a key of each type is written as a text or a whole number."""


def key_sql(name: str, kind: ColumnType) -> str:
    """A key as it is sent to Python: a text, or a whole number."""
    return f"{NUMBERS[kind].format(name)} AS {name}"


@dataclass(frozen=True, slots=True)
class Task:
    """What a task does with its rows. It is sent to the executors, and holds what is public alone."""

    keys: tuple[KeyCells, ...]
    sets: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]

    @classmethod
    def from_request(cls, request: Marginals) -> Task:
        pairs = zip(request.bounded.keys, request.merged, strict=True)
        keys = tuple(KeyCells.of_key(key, merged) for key, merged in pairs)
        return cls(keys, request.sets, request.sizes)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        readers = [key.reader() for key in self.keys]
        counts = MarginalCounts(self.sets, self.sizes)
        for batch in batches:
            cells = [read(column) for read, column in zip(readers, batch.columns, strict=False)]
            rows, public = batch.num_rows, [some >= 0 for some in cells]
            if not all(some.all() for some in public):
                within = np.logical_and.reduce(public)
                cells, rows = [some[within] for some in cells], int(within.sum())
            counts.add(cells, rows)
        yield from _batches(_pieces(counts.counts()))


def add_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task does with pieces: one of each number is left."""
    total: dict[int, NDArray[np.int64]] = {}
    for batch in batches:
        for number, counts in zip(batch.column(0).to_numpy().tolist(), batch.column(1), strict=True):
            some = np.frombuffer(counts.as_buffer(), "<i8")
            total[number] = total[number] + some if number in total else some.astype(np.int64)
    yield from _batches(total.items())


def read_pieces(request: Marginals, pieces: Sequence[tuple[Any, ...]]) -> Counts:
    """The marginals, from what is left of all tasks."""
    shapes = [request.shape(each) for each in request.sets]
    ends = list(itertools.accumulate(map(math.prod, shapes), initial=0))
    flat = np.zeros(ends[-1], np.int64)
    for number, counts in pieces:
        some = np.frombuffer(counts, "<i8")
        flat[number * _PIECE : number * _PIECE + some.size] += some
    return tuple(flat[a:b].reshape(shape) for (a, b), shape in zip(itertools.pairwise(ends), shapes, strict=True))


def _pieces(counts: Counts) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The counts of all marginals one after another, cut into pieces; those of zeros are left out."""
    flat = np.concatenate([each.ravel() for each in counts]) if counts else np.zeros(0, np.int64)
    for number, begin in enumerate(range(0, flat.size, _PIECE)):
        some = flat[begin : begin + _PIECE]
        if some.any():
            yield number, some


def _batches(pieces: Iterable[tuple[int, NDArray[np.int64]]]) -> Iterator[pa.RecordBatch]:
    left = iter(pieces)
    while some := list(itertools.islice(left, _TOGETHER)):
        numbers = pa.array([number for number, _ in some], pa.int32())
        counts = pa.array([each.astype("<i8").tobytes() for _, each in some], pa.binary())
        yield pa.RecordBatch.from_pydict({"piece": numbers, "counts": counts})
