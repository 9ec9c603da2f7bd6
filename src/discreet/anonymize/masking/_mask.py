"""The protocol of a mask, and masks of whole tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from discreet.anonymize.tables import read_frame
from discreet.errors import ParameterError

__all__ = ["Mask", "check_key", "mask_table", "of_different_texts"]

_SHORTEST_KEY = 16


class Mask(ABC):
    """A way to change a column. Whoever knows other columns may still find people: see `attack.linkage`."""

    @abstractmethod
    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array | pa.ChunkedArray[Any]:
        """The changed column; nulls stay null. Raises `ParameterError` for values that it cannot change."""


def mask_table(table: object, masks: Mapping[str, Mask | None]) -> Any:
    """Mask the columns of a table, and give it in the kind of frame that it came in.

    Parameters
    ----------
    table
        An Arrow, pandas or polars table.
    masks
        For each column its mask; None leaves it as it is. Columns that are not named are left out, so that none is
        published by oversight.

    Raises
    ------
    ParameterError
        For a column that the table has not, and values that a mask cannot change.

    >>> from discreet.anonymize.masking import Round, Truncate
    >>> people = pa.table({"zip": ["02138", "02139"], "income": [31_250, 48_900], "name": ["A", "B"]})
    >>> mask_table(people, {"zip": Truncate(3), "income": Round(1000)}).to_pydict()
    {'zip': ['021', '021'], 'income': [31000, 49000]}
    """
    frame = read_frame(table)
    for name in masks:
        if name not in frame.table.column_names:
            raise ParameterError(f"the table has no column {name}; it has {', '.join(frame.table.column_names)}")
    columns: list[Any] = []
    for name, mask in masks.items():
        column = frame.table.column(name)
        try:
            columns.append(column if mask is None else mask.apply(column))
        except ParameterError as error:
            raise ParameterError(f"the column {name} cannot be masked: {error}") from None
    return frame.restore(pa.table(columns, list(masks)))


def check_key(key: object) -> bytes:
    """Raise `ParameterError` unless it is a secret of 16 bytes or more."""
    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        raise ParameterError(
            f"the key is {_SHORTEST_KEY} secret bytes or more, as secrets.token_bytes(32) makes them: with a shorter "
            "one a dictionary of names is tried in no time"
        )
    return key


def of_different_texts(column: pa.ChunkedArray[Any], change: Callable[[str], Any], kind: pa.DataType) -> pa.Array:
    """Change each different value once, as text."""
    encoded: Any = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.cast(pa.string()).to_pylist()
    return pa.array([change(each) for each in texts], kind).take(encoded.indices)
