"""Data cut into a fixed number of chunks, at random and for each person apart."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.noise import uniform64
from discreet.sensitivity import unmasked

__all__ = ["assignment", "cut", "draws", "frame", "numbered", "persons"]

Words = NDArray[np.uint64]


def frame(data: Any) -> Any:
    """The rows alone: without an index, metadata or lists of categories, which would tell a chunk of other rows.

    `ParameterError` unless `data` is a NumPy array of 1 dimension or more, an Arrow table, batch or array, or a pandas
    data frame or series. Types and column names are kept: they are taken to be public.
    """
    if _is_array(data) and data.ndim:
        return unmasked(data)
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow":
        return _arrow(data)
    if library == "pandas" and hasattr(data, "reset_index"):
        plain = data.reset_index(drop=True)
        plain.attrs = {}
        if plain.ndim == 1:
            return _without_categories(plain)
        return plain.apply(_without_categories, axis=0) if any(map(_is_categorical, plain.dtypes)) else plain
    raise ParameterError(
        f"data must be a NumPy array, an Arrow table or a pandas data frame, got {type(data).__name__}"
    )


def persons(data: Any, unit: str | int | None) -> NDArray[np.int64]:
    """For each row a whole number that is the same for rows of one person; rows without a person share one."""
    if unit is None:
        return np.arange(len(data), dtype=np.int64)
    column = _column(data, unit)
    if column is None:
        raise ParameterError(f"unit must name a column of the data, got {unit!r}")
    return numbered(column)


def numbered(column: Any, *, strict: bool = False) -> NDArray[np.int64]:
    """For each entry a whole number from 0, the same for equal entries; those that are missing share one.

    Entries that cannot be keys, such as lists, share the number of the missing ones; with `strict` they raise
    `ParameterError`, and so does a column of more than one dimension.
    """
    if strict and getattr(column, "ndim", 1) != 1:
        raise ParameterError("units must be in one dimension, one for each row; join several columns into one key")
    if _is_array(column) and column.dtype.kind in "biufSUMm":
        return np.unique(column, return_inverse=True)[1].reshape(-1).astype(np.int64)
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    if strict and not all(map(_can_be_key, values)):
        raise ParameterError(
            "units must be numbers, text or other values that can be keys; join lists, structs and the like into tuples"
        )
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(_identity(each), len(known)) for each in values], dtype=np.int64)


def draws(rows: int, people: int) -> tuple[Words, Words, Words]:
    """A random word for each person, which is their chunk; and two for each row, no pair twice, which are its place."""
    while True:
        first, second = uniform64(rows), uniform64(rows)
        order = np.lexsort((second, first))
        if not ((np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)).any():
            return uniform64(people), first, second


def assignment(person: NDArray[np.int64], chunks: int, drawn: tuple[Words, Words, Words]) -> list[NDArray[np.int64]]:
    """Which rows each chunk has, in which order."""
    chunk = (drawn[0] % np.uint64(chunks)).astype(np.int64)[person]
    order = np.lexsort((drawn[2], drawn[1], chunk))
    return np.split(order, np.searchsorted(chunk[order], np.arange(1, chunks)))


def cut(data: Any, rows: NDArray[np.int64]) -> Any | None:
    """A copy of some rows; None if there are none."""
    if not len(rows):
        return None
    if _is_array(data):
        return data[rows]
    taken = data.take(rows)
    return taken.reset_index(drop=True) if hasattr(taken, "reset_index") else taken


def _arrow(data: Any) -> Any:
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        names = data.column_names
        if len(set(names)) < len(names):
            raise ParameterError("the columns of a table must have different names")
        columns = {name: _decoded(data.column(name)) for name in names}
        return pa.table(columns) if columns else data.replace_schema_metadata(None)
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _decoded(data)
    raise ParameterError(f"data must be an Arrow table or array, got {type(data).__name__}")


def _decoded(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if "dictionary" in str(column.type):
        raise ParameterError("columns must not have dictionaries inside lists or structs; cast them to plain values")
    return column


def _is_array(data: Any) -> bool:
    return isinstance(data, np.ndarray)


def _is_categorical(dtype: Any) -> bool:
    return getattr(dtype, "name", "") == "category"


def _without_categories(series: Any) -> Any:
    return series.astype(series.cat.categories.dtype) if _is_categorical(series.dtype) else series


def _column(data: Any, unit: str | int) -> Any | None:
    if _is_array(data):
        if data.dtype.names:
            return data[unit] if unit in data.dtype.names else None
        inside = data.ndim == 2 and isinstance(unit, int) and not isinstance(unit, bool)
        return data[:, unit] if inside and -data.shape[1] <= int(unit) < data.shape[1] else None
    names: list[Any] = list(getattr(data, "column_names", getattr(data, "columns", ())))
    return data[unit] if names.count(unit) == 1 else None


def _can_be_key(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # noqa: BLE001 (the caller says why, without the value)
        return False
    return True


def _identity(value: Any) -> Hashable:
    """The value as a key; all that are missing, or cannot be one, are the same."""
    try:
        hash(value)
        return value if bool(value == value) else None  # noqa: PLR0124 (a NaN is not itself)
    except Exception:  # noqa: BLE001 (whatever one value does, it must not show)
        return None
