"""A table as whole numbers: each column's values in order, the place of each row's value, and the different rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["Codes", "Column", "DistinctRows", "column_from_arrow", "distinct_rows"]

_LARGEST = 1 << 62
Codes = NDArray[np.int64]
"""Places in the list of a column's values, a row each."""


@dataclass(frozen=True, repr=False, eq=False)
class Column:
    """One column: its different values in order, and the place of each row's value among them.

    Attributes
    ----------
    name
        As the table calls it.
    values
        The different values, ascending; a null of a category is a value of its own, the last.
    codes
        For each row the place of its value.
    is_number
        Whether distances between values mean something: numbers, dates and times.
    """

    name: str
    values: tuple[Any, ...]
    codes: Codes
    is_number: bool

    def __repr__(self) -> str:
        kind = "number" if self.is_number else "category"
        return f"<column {self.name}: {kind} of {len(self.values):,} values in {len(self.codes):,} rows>"

    @property
    def size(self) -> int:
        """How many different values there are."""
        return len(self.values)

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """Where each value lies: of a number itself, of a category its place in the list."""
        if not self.is_number:
            return np.arange(self.size, dtype=np.float64)
        return np.array([_as_float(each) for each in self.values])

    @cached_property
    def extent(self) -> float:
        """The range of a number, or how many values a category has beside one."""
        return float(self.places[-1] - self.places[0])

    def taken(self, rows: NDArray[Any]) -> Column:
        """The same column of some of the rows."""
        return Column(self.name, self.values, self.codes[rows], self.is_number)

    def without_unused(self) -> Column:
        """The same column without values that no row has."""
        used, codes = np.unique(self.codes, return_inverse=True)
        return Column(self.name, tuple(self.values[each] for each in used), codes.astype(np.int64), self.is_number)


def column_from_arrow(name: str, array: pa.ChunkedArray[Any]) -> Column:
    """Read one column.

    Raises `ParameterError` for a column that is null everywhere, a number that is null or NaN somewhere, and values
    that have no order, as lists.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.cast(kind.value_type)
        kind = kind.value_type
    nulls = array.null_count
    if nulls == len(array):
        raise ParameterError(f"the column {name} has no value at all: leave it out")
    is_number = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_temporal(kind)
    )
    if is_number and nulls:
        raise ParameterError(f"the column {name} has {nulls:,} nulls: fill them, drop the rows, or make it a text")
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(array)).as_py():
        raise ParameterError(f"the column {name} has numbers that are not finite: fill them, or drop the rows")
    if not (is_number or pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ParameterError(f"the column {name} is of type {kind}: numbers, dates, texts and truth values can be read")
    encoded: Any = array.combine_chunks().dictionary_encode()
    listed: list[Any] = encoded.dictionary.to_pylist()
    order = sorted(range(len(listed)), key=listed.__getitem__)
    place = np.empty(len(listed) + 1, np.int64)
    place[order] = np.arange(len(listed))
    place[-1] = len(listed)
    indices = encoded.indices.fill_null(len(listed)).to_numpy(zero_copy_only=False)
    values = [listed[each] for each in order]
    if nulls:
        values.append(None)
    return Column(name, tuple(values), place[indices.astype(np.int64)], is_number)


def _as_float(value: object) -> float:
    match value:
        case datetime():
            return value.timestamp() if value.tzinfo else (value - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001
        case date():
            return float(value.toordinal())
        case bool() | int() | float() | Decimal():
            return float(value)
        case _:
            raise ParameterError(f"a value of type {type(value).__name__} has no distance to others: make it a text")


@dataclass(frozen=True, repr=False, eq=False)
class DistinctRows:
    """Rows without repeats.

    Attributes
    ----------
    codes
        A row for each different row, a column for each column.
    of_row
        For each row of the table, which of them it is.
    count
        How many there are.
    """

    codes: NDArray[np.int64]
    of_row: Codes
    count: int


def distinct_rows(columns: Sequence[Column]) -> DistinctRows:
    """Find the different rows.

    >>> import pyarrow as pa
    >>> from discreet.anonymize.tables import read_columns, read_frame
    >>> table = read_frame(pa.table({"age": [30, 40, 30], "town": ["a", "b", "a"]}))
    >>> distinct_rows(read_columns(table, ["age", "town"], "quasi")).count
    2
    """
    keys = columns[0].codes
    size = columns[0].size
    for each in columns[1:]:
        if size * each.size >= _LARGEST:
            values, keys = np.unique(keys, return_inverse=True)
            size = len(values)
        keys = keys * each.size + each.codes
        size *= each.size
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    codes = np.stack([each.codes[first] for each in columns], axis=1)
    return DistinctRows(codes, of_row.astype(np.int64), len(first))
