"""The classes of a published table, as an attacker reads them: rows whose quasi-identifiers are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import read_frame
from discreet.errors import ParameterError

__all__ = ["Published", "published", "values_of"]

_Ints = NDArray[np.int64]


class Published:
    """A published table with the class of each row."""

    def __init__(self, table: pa.Table, quasi: Sequence[str]) -> None:
        self.table = table
        self.class_of = np.zeros(table.num_rows, np.int64)
        for name in quasi:
            codes, _ = self.codes(name)
            keys = self.class_of * (int(codes.max()) + 1) + codes
            self.class_of = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        self.count = int(self.class_of.max()) + 1

    def codes(self, name: str) -> tuple[_Ints, list[Any]]:
        """The place of each row's value in the list of different ones."""
        places: dict[Any, int] = {}
        values = values_of(self.table, name)
        return np.array([places.setdefault(each, len(places)) for each in values], np.int64), list(places)


def values_of(table: pa.Table, name: str) -> list[Any]:
    """The values of a column; NaN, which is unequal to itself and would be a class of its own in each row, is null."""
    values: list[Any] = table.column(name).to_pylist()
    return [None if each != each else each for each in values]  # noqa: PLR0124


def published(release: object, quasi: Sequence[str], columns: Sequence[str]) -> Published:
    """Read a published table. Raises `ParameterError` for columns that it has not."""
    table = read_frame(release).table
    for name in [*quasi, *columns]:
        if name not in table.column_names:
            raise ParameterError(f"the release has no column {name}; it has {', '.join(table.column_names)}")
    if not quasi:
        raise ParameterError("name the quasi-identifiers: quasi=['age', 'sex']")
    return Published(table, quasi)
