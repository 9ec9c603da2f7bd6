"""The cells of a public key, from texts or whole numbers in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.engines._marginals import as_number
from discreet.query import GroupKey

__all__ = ["KeyCells"]

_DENSE = 2**16
_ENDS = -(2**63), 2**63 - 1
"""Of these there is no number beyond in 64 bits, for what is not public."""


@dataclass(frozen=True, slots=True)
class KeyCells:
    """A key's public values but null, as they are sent, the cell of each, and that of null: −1 if it is not public."""

    values: list[Any]
    cells: list[int]
    null: int

    @classmethod
    def of_key(cls, key: GroupKey, merged: Sequence[int] | None = None) -> KeyCells:
        """The cells of a key with public values: their places, or what these are merged into."""
        values = key.values or ()
        cells = dict(zip(values, range(len(values)) if merged is None else merged, strict=True))
        null = cells.pop(None, -1)
        return cls([each if isinstance(each, str) else as_number(each) for each in cells], list(cells.values()), null)

    def reader(self) -> Callable[[pa.Array[Any]], NDArray[Any]]:
        """From a column to the cells of its rows, −1 where a row is of no public value."""
        if self.values and isinstance(self.values[0], str):
            return self._listed(pa.array(self.values, pa.string()))
        low, high = min(self.values, default=0), max(self.values, default=0)
        if high - low < _DENSE and low not in _ENDS and high not in _ENDS:
            return self._dense(low, high)
        return self._listed(pa.array(self.values, pa.int64()))

    def _listed(self, values: pa.Array[Any]) -> Callable[[pa.Array[Any]], NDArray[Any]]:
        table = np.array([*self.cells, -1], np.int32)

        def read(column: pa.Array[Any]) -> NDArray[Any]:
            at = pc.index_in(column.cast(values.type), value_set=values).fill_null(len(values)).to_numpy()
            return self._with_nulls(table[at], column)

        return read

    def _dense(self, low: int, high: int) -> Callable[[pa.Array[Any]], NDArray[Any]]:
        table = np.full(high - low + 3, -1, np.int32)
        table[np.array(self.values, np.int64) - low + 1] = self.cells

        def read(column: pa.Array[Any]) -> NDArray[Any]:
            numbers = column.fill_null(low).to_numpy()
            return self._with_nulls(table[np.clip(numbers, low - 1, high + 1) - (low - 1)], column)

        return read

    def _with_nulls(self, cells: NDArray[Any], column: pa.Array[Any]) -> NDArray[Any]:
        if column.null_count:
            cells[column.is_null().to_numpy(zero_copy_only=False)] = self.null
        return cells
