"""Rows that look alike, as an attacker reads tables; and which row of one table is whose of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import read_frame
from discreet.errors import ParameterError

__all__ = ["Classes", "checked_truth", "classes_of", "codes_of", "joined_codes", "read_classes", "values_of"]

_Ints = NDArray[np.int64]


def values_of(table: pa.Table, name: str) -> list[Any]:
    """The values of a column; NaN, which is unequal to itself and would be a class of its own in each row, is null."""
    values: list[Any] = table.column(name).to_pylist()
    return [None if each != each else each for each in values]  # noqa: PLR0124


def codes_of(table: pa.Table, name: str) -> tuple[_Ints, list[Any]]:
    """The place of each row's value in the list of different ones, which are in order of appearance."""
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(each, len(places)) for each in values_of(table, name)], np.int64)
    return codes, list(places)


def joined_codes(first: _Ints, second: _Ints) -> _Ints:
    """A code for each pair of codes that is there, from 0 and without gaps; neither side has negative ones.

    >>> joined_codes(np.array([0, 0, 7]), np.array([1, 1, 0]))
    array([0, 0, 1])
    """
    keys = first * (int(second.max(initial=0)) + 1) + second
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, repr=False, eq=False)
class Classes:
    """The rows of a table that look alike in some columns.

    Attributes
    ----------
    table
        The whole table.
    class_of
        The class of each row.
    first, sizes
        The first row of each class, and how many it has.
    """

    table: pa.Table
    class_of: _Ints
    first: _Ints
    sizes: _Ints

    @property
    def count(self) -> int:
        """How many classes there are."""
        return len(self.first)

    def counts(self, codes: _Ints, size: int) -> _Ints:
        """How many rows of each class, a line each, have each of so many codes."""
        return np.bincount(self.class_of * size + codes, minlength=self.count * size).reshape(self.count, size)


def classes_of(table: pa.Table, names: Sequence[str]) -> Classes:
    """The classes of a table's rows by some of its columns; all rows are one class by none."""
    class_of = np.zeros(table.num_rows, np.int64)
    for name in names:
        class_of = joined_codes(class_of, codes_of(table, name)[0])
    _, first, sizes = np.unique(class_of, return_index=True, return_counts=True)
    return Classes(table, class_of, first, sizes)


def read_classes(release: object, quasi: Sequence[str], columns: Sequence[str] = ()) -> Classes:
    """Read a published table. Raises `ParameterError` for columns that it has not, and for no rows."""
    table = read_frame(release).table
    for name in [*quasi, *columns]:
        if name not in table.column_names:
            raise ParameterError(f"the release has no column {name}; it has {', '.join(table.column_names)}")
    if not quasi:
        raise ParameterError("name the quasi-identifiers: quasi=['age', 'sex']")
    if not table.num_rows:
        raise ParameterError("the release has no rows: there is nothing to guess")
    return classes_of(table, quasi)


def checked_truth(truth: Sequence[int] | _Ints | None, rows: int, others: int, called: tuple[str, str]) -> _Ints:
    """For each row of one table its row in the other, −1 for none; the same row if `truth` is None.

    Raises `ParameterError`, which calls the tables as `called` does, for a truth that does not fit their numbers of
    rows, and for none where these differ.
    """
    if truth is None:
        if rows != others:
            raise ParameterError(
                f"the {called[0]} has {rows:,} rows and the {called[1]} {others:,}: say by truth= which row is whose"
            )
        return np.arange(rows)
    row_of = np.asarray(truth)
    if row_of.shape != (rows,) or row_of.dtype.kind not in "iu" or not ((row_of >= -1) & (row_of < others)).all():
        raise ParameterError(f"truth is a row of the {called[1]} for each row of the {called[0]}, or -1 for none")
    return row_of.astype(np.int64)
