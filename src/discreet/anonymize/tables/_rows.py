"""The different rows of a table with their numbers of occurrences: equal rows are grouped alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.tables._columns import Codes, Column

__all__ = ["DistinctRows", "distinct_rows"]

_LARGEST = 1 << 62


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
