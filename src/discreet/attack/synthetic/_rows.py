"""Synthetic, original and control rows as numbers that compare: categories as places in one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import Frame, read_columns, read_frame
from discreet.errors import ParameterError
from discreet.noise import permutation

__all__ = ["Rows", "Tables", "random_places", "read_tables"]

Rows = NDArray[np.float64]
"""A row each, a column each: a number, or the place of a category."""


@dataclass(frozen=True, repr=False, eq=False)
class Tables:
    """Three tables with the same columns.

    Attributes
    ----------
    names
        The columns.
    starts, spans
        Of a number the least and the range in all three, of a category 0.
    values
        For each column its different values, ascending, and the numbers that stand for them.
    synthetic, original, control
        What was published, the rows behind it, and rows of the same population that are not.
    """

    names: tuple[str, ...]
    starts: NDArray[np.float64]
    spans: NDArray[np.float64]
    values: tuple[tuple[tuple[Any, ...], NDArray[np.float64]], ...]
    synthetic: Rows
    original: Rows
    control: Rows

    def value(self, column: int, number: float) -> Any:
        """The value that a number stands for."""
        values, numbers = self.values[column]
        return values[int(np.searchsorted(numbers, number))]

    def place(self, name: str) -> int:
        """The place of a column. Raises `ParameterError` for one that is not there."""
        if name not in self.names:
            raise ParameterError(f"the tables have no column {name}; they have {', '.join(self.names)}")
        return self.names.index(name)


def read_tables(synthetic: object, original: object, control: object) -> Tables:
    """Read three tables. Raises `ParameterError` for columns that one of them lacks, and for no rows."""
    given = [read_frame(each).table for each in (synthetic, original, control)]
    names = given[0].column_names
    for table, called in zip(given[1:], ("original", "control"), strict=True):
        left = [name for name in names if name not in table.column_names]
        if left:
            raise ParameterError(f"the {called} table has no column {left[0]}, which the synthetic one has")
    try:
        together = pa.concat_tables([each.select(names) for each in given], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ParameterError("the tables' columns are of different types") from None
    columns = read_columns(Frame(together, lambda table: table), names, "the synthetic table")
    rows = np.stack([each.places[each.codes] for each in columns], axis=1)
    first, second = given[0].num_rows, given[0].num_rows + given[1].num_rows
    spans = np.array([float(each.places[-1]) - float(each.places[0]) if each.is_number else 0.0 for each in columns])
    starts = np.array([each.places[0] if each.is_number else 0.0 for each in columns])
    if not np.isfinite(spans).all():
        raise ParameterError(f"the numbers of {names[int(np.isinf(spans).argmax())]} are too far apart: rescale them")
    values = tuple((each.values, each.places) for each in columns)
    return Tables(tuple(names), starts, spans, values, rows[:first], rows[first:second], rows[second:])


def random_places(count: int, most: int) -> NDArray[np.int64]:
    """So many different places at random, of those from 0 on; all of them in random order if there are no more."""
    return permutation(count)[:most]
